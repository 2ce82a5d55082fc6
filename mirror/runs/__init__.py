"""What can be run, plans of runs, and runs that are started and watched, with who started them.

From outside: building, comparing, jobs, listing, over_commits, person, run_plan.
"""

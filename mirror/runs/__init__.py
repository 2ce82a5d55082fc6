"""What can be run, plans of runs, and runs that are started and watched. From outside: every module."""

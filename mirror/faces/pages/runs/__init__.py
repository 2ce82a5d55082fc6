"""The page Runs: the list of all trials, the story of one, some side by side, and a sweep over commits.

From outside: runs_page.
"""

"""What a run found: its results with speedups, intervals, verdicts and warnings, as text, as a file, as a page.

From outside: page_parts, reported, run_results, trial_rows.
"""

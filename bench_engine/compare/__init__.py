"""Results held against one another: two sweeps, commits, machines, methods or times, configuration by configuration.

From outside: axes_shown, baselines, compare, comparison_table, pairs, sides, text_table, why.
"""

"""Results held against one another: two sweeps, commits, machines, methods or times, configuration by configuration.

From outside: compare, comparison_table, sides.
"""

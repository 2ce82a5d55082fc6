"""Which table to use for a budget in MB on some data: a small search through sweeps, chosen on validation parts.

From outside: suggest, suggest_text, suggestion.
"""

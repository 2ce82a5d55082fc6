"""Variants of wordings, so that a network meets more values and conditions than people wrote.

From outside: results_variants.
"""

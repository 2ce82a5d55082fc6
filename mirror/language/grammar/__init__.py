"""Questions about the results, read by cues and slots: words -> QuerySpec.

From outside: binding, coverage, families, grammar, lexicon, over_time, shapes, slots.
"""

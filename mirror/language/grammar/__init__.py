"""Questions about the results, read by cues and slots: words -> QuerySpec.

From outside: binding, grammar, lexicon, over_time, shapes, slots.
"""

"""Questions about the results, read by cues and slots: words -> QuerySpec.

From outside: grammar, lexicon, over_time, shapes, slots.
"""

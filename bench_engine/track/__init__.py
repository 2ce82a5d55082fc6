"""The results of a sweep over commits: where they have changed, with what probability.

From outside: track_text, tracked.
"""

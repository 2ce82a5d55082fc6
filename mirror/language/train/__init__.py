"""Trains what is learnt of reading: `python -m mirror.language.train`. It needs torch, and nothing of the app uses it.

From outside: nothing.
"""

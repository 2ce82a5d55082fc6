"""Trains what is learnt of reading: `python -m mirror.language.train`. Nothing of the app imports it; it needs torch."""

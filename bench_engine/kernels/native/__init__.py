"""Compiles csrc/ and loads what was compiled."""

"""Compiles csrc/, loads what was compiled, and enters it."""

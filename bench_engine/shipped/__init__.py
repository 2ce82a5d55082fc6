"""The example results that are shipped with the code: the sweeps they come from, and how they are measured anew.

From outside: anew.
"""

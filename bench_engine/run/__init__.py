"""Runs what is planned: groups of trials, their workers, and the records that come of them.

From outside: runner; rooms below say their own.
"""

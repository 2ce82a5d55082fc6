"""Processes that hold data and run one statement at a time.

From outside: sandbox, other_data_process, turns, worded_sandbox.
"""

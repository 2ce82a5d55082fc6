"""Processes that hold data and run one statement at a time."""

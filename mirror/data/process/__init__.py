"""Processes that hold data and run one statement at a time. From outside: sandbox, source_process."""

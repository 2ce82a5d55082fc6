"""What machine this is, what it gives and counts, what state it is in, and one run at a time on it.

From outside: bandwidth, counters, hardware, lock, machine, memory, probe, system_files.
"""

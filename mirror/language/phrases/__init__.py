"""Ways of saying that questions share: numbers, times, names of machines, what a word means.

From outside: definitions, machine_names, spelled_numbers, time_cues, written_numbers.
"""

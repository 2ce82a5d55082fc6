"""Ways of saying that questions share: numbers, times, sizes, units, small talk.

From outside: definitions, machine_names, quality_cues, rephrase, spelled_numbers, time_cues,
written_numbers.
"""

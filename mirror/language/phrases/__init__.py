"""Ways of saying that questions share: numbers, times, sizes, units, small talk.

From outside: definitions, machine_names, quality_cues, rephrase, time_cues, written_numbers.
"""

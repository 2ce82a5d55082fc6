"""Ways of saying that questions share: numbers, times, sizes, units, small talk.

From outside: definitions, machine_names, quality_cues, rephrase, small_talk, spelled_numbers, time_cues,
two_meanings, written_numbers.
"""

"""The readings of a question, each with the chance that it is what was asked.

From outside: candidate, candidates, follow_up_readings, ranker, results_decision, results_evidence,
results_readings, settled_benchmark, taken_for.
"""

"""The second reader: a small network that turns questions into forms, independent of the reader with the words.

From outside: action_language, form_actions, items, likeness, network, results_actions, results_grammar,
results_items, results_phrases, results_reader, second_reader.
"""

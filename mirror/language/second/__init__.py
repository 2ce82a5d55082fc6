"""The second reader: a small network that turns questions into forms, independent of the reader with the words.

From outside: form_actions, items, likeness, network, second_reader.
"""

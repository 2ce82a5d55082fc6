"""The form of a question about other data, and its SQL.

From outside: build, counted_once, dialects, first_questions, first_rows, form, form_in_words, form_sentence, form_text,
key_roles, learnt_form, paths.
"""

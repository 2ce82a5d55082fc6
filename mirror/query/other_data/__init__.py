"""The form of a question about other data, and its SQL.

From outside: build, dialects, form, form_in_words, paths.
"""

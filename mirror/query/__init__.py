"""The form between words and SQL: what it is, completed, compiled, and in words.

From outside: agreement, change, check, complete, contrast, errors, filter_words, in_words, roles, saved, spec,
spec_json, sql, token_count; rooms below say their own.
"""

"""The form between words and SQL: what it is, completed, compiled, and in words.

From outside: every module; rooms below say their own.
"""

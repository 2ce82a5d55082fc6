"""The calendar in words: which days, weeks, months and years the tokens of a question say.

From outside: days, periods.
"""

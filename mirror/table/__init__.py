"""A result as data: rows, columns, and values as people read them.

From outside: alike, calendar_names, csv_export, numbers, table, values, wording.
"""

"""A result as data: rows, columns, and values as people read them.

From outside: csv_export, numbers, table, values, wording.
"""

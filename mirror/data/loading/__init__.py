"""Files become tables, with columns of what their texts say: numbers, dates, flags.

From outside: csv_form, csv_table, encoding, semantic_types, workbook.
"""

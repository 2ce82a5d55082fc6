"""What can be asked: views, columns, keys, values, and the catalogue of the results.

From outside: catalog, database, keys, names, profile, ready_sweeps, result_columns, views.
"""

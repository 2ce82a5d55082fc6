"""What can be asked: views, columns, keys, values, and the catalogue of the results.

From outside: catalog, database, keys, names, own_metrics, own_words, profile, ready_sweeps, result_columns, views.
"""

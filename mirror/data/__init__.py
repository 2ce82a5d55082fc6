"""Where rows come from: guarded SQL in processes of their own, over the results and other data.

From outside: data_source, rows_behind; rooms below say their own.
"""

"""Questions about other people's data: words -> the form in mirror.query.tables.

From outside: examples, mentions, picking, resolve, revenue, spans, table_followup, vocabulary, walk.
"""

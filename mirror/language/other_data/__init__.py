"""Questions about other data: words -> the form in mirror.query.other_data.

From outside: examples, mentions, picking, resolve, revenue, spans, vocabulary, walk.
"""

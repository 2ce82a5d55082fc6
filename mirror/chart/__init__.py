"""Which chart shows a result, and of which columns.

From outside: chart_spec, chart_words, choose, configurations, drawable; rooms below say their own.
"""

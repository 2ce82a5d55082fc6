"""Which chart shows a result, and of which columns.

From outside: chart_spec, choose, configurations, drawable; rooms below say their own.
"""

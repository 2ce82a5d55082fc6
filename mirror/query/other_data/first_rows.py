"""The statement that shows a table as it is: its first rows, in whatever order they come."""

from sqlglot import exp

from mirror.query.other_data.dialects import needs_quotes


def first_rows(table: str, dialect: str, most: int) -> str:
    """SQL for at most so many rows of a table."""
    name = exp.to_identifier(table, quoted=needs_quotes(table, dialect))
    return exp.select("*").from_(exp.Table(this=name)).limit(most).sql(dialect=dialect)

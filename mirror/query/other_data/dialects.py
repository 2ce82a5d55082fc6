"""What each SQL says in its own way: spans of time, medians, numbers without NaN."""

import sqlglot
from sqlglot import exp

from mirror.query.errors import Impossible
from mirror.query.other_data.form import Bucket

# Each as a date, the first day of the span, but for years, which are numbers.
_BUCKETS: dict[str, dict[Bucket, str]] = {
    "postgres": {
        "year": "CAST(EXTRACT(YEAR FROM d) AS INT)",
        "quarter": "CAST(DATE_TRUNC('QUARTER', d) AS DATE)",
        "month": "CAST(DATE_TRUNC('MONTH', d) AS DATE)",
        "week": "CAST(DATE_TRUNC('WEEK', d) AS DATE)",
        "day": "CAST(d AS DATE)",
        "weekday": "CAST(EXTRACT(ISODOW FROM d) AS INT)",
        "hour": "CAST(EXTRACT(HOUR FROM d) AS INT)",
        "month_of_year": "CAST(EXTRACT(MONTH FROM d) AS INT)",
    },
    "mysql": {
        "year": "YEAR(d)",
        "quarter": "DATE_ADD(MAKEDATE(YEAR(d), 1), INTERVAL (QUARTER(d) - 1) QUARTER)",
        "month": "CAST(DATE_FORMAT(d, '%Y-%m-01') AS DATE)",
        "week": "DATE_SUB(CAST(d AS DATE), INTERVAL (WEEKDAY(d)) DAY)",
        "day": "CAST(d AS DATE)",
        "weekday": "WEEKDAY(d) + 1",
        "hour": "HOUR(d)",
        "month_of_year": "MONTH(d)",
    },
    "sqlite": {
        "year": "CAST(STRFTIME('%Y', d) AS INTEGER)",
        "quarter": "DATE(d, 'start of month', '-' || ((STRFTIME('%m', d) - 1) % 3) || ' months')",
        "month": "DATE(d, 'start of month')",
        "week": "DATE(d, '-6 days', 'weekday 1')",
        "day": "DATE(d)",
        "weekday": "(STRFTIME('%w', d) + 6) % 7 + 1",
        "hour": "CAST(STRFTIME('%H', d) AS INTEGER)",
        "month_of_year": "CAST(STRFTIME('%m', d) AS INTEGER)",
    },
}
_BUCKETS["duckdb"] = _BUCKETS["postgres"]

_MEDIANS = {
    "postgres": "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
    "duckdb": "MEDIAN(x)",
}
# DuckDB takes `= 'NaN'` for false in a Parquet file, whose statistics leave NaN out.
_NAN = {"postgres": "NULLIF(x, 'NaN')", "duckdb": "CASE WHEN ISNAN(x) THEN NULL ELSE x END"}
_DAYS = {
    "postgres": "EXTRACT(EPOCH FROM CAST(b AS TIMESTAMP) - CAST(a AS TIMESTAMP)) / 86400.0",
    "duckdb": "EPOCH(CAST(b AS TIMESTAMP) - CAST(a AS TIMESTAMP)) / 86400.0",
    "mysql": "TIMESTAMPDIFF(SECOND, a, b) / 86400.0",
    "sqlite": "JULIANDAY(b) - JULIANDAY(a)",
}
_NO_MEDIAN = {"sqlite": "SQLite", "mysql": "MySQL"}


def bucket(span: Bucket, date: exp.Expr, dialect: str) -> exp.Expr:
    """The span of time that a date is in."""
    return _filled(_BUCKETS[dialect][span], {"d": date}, dialect)


def days(start: exp.Expr, end: exp.Expr, dialect: str) -> exp.Expr:
    """How many days lie between two dates or times."""
    return _filled(_DAYS[dialect], {"a": start, "b": end}, dialect)


def median(number: exp.Expr, dialect: str) -> exp.Expr:
    """Raises Refusal where the database has none."""
    if dialect not in _MEDIANS:
        raise Impossible(
            f"{_NO_MEDIAN[dialect]} has no median: ask for the average, or for the lowest and the highest."
        )
    return _filled(_MEDIANS[dialect], {"x": number}, dialect)


def without_nan(number: exp.Expr, dialect: str) -> exp.Expr:
    """The number, or NULL where it is none: one NaN would make a whole sum none."""
    return _filled(_NAN[dialect], {"x": number}, dialect) if dialect in _NAN else number


def needs_quotes(name: str, dialect: str) -> bool:
    """Whether a name would be read as something else, or in other letters, without quotation marks."""
    if not name.isascii() or not name.replace("_", "a").isalnum() or name != name.lower() or name[:1].isdigit():
        return True
    if name in _PLAIN:
        return False
    return name.upper() in sqlglot.Dialect.get_or_raise(dialect).tokenizer_class.KEYWORDS or name in _RESERVED


# Words to parsers that no database reserves.
_PLAIN = frozenset(
    ("name", "date", "type", "status", "text", "year", "month", "day", "role", "state", "location", "level", "title",
     "description", "label", "format", "version", "position", "language", "code", "comment")
)  # fmt: skip
_RESERVED = frozenset(
    ("user", "order", "group", "groups", "analyze", "check", "references", "collate", "session_user", "rank", "system",
     "condition", "keys", "lead", "lag", "range", "read", "release", "schema", "signal", "sql", "trigger", "usage",
     "of", "row_number", "function", "option", "match", "to", "both", "leading", "trailing", "placing", "grant")
)  # fmt: skip


def _filled(template: str, values: dict[str, exp.Expr], dialect: str) -> exp.Expr:
    tree = sqlglot.parse_one(template, read=dialect)

    def put(node: exp.Expr) -> exp.Expr:
        return values[node.name].copy() if isinstance(node, exp.Column) and node.name in values else node

    return tree.transform(put)

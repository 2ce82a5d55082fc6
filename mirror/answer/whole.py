"""All rows of a result that the row cap cut: a second statement over the same SELECT groups them by configuration.

What a sentence says of a result, and its Pareto front, are so of all its rows, however few of them are drawn.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from mirror.data.data_source import QueryCancelled, QueryError, QueryStopped
from mirror.data.guard.guard_errors import GuardError
from mirror.query.roles import Roles, roles_of
from mirror.query.spec import QuerySpec, Question
from mirror.table.table import Column, Table
from mirror.table.values import Value, is_number

MOST_CONFIGURATIONS = 10_000
TIME_LIMIT_S = 5.0

Run = Callable[[str, int, float], Table]  # a statement, the most rows, and seconds


def with_whole(table: Table, sql: str, question: Question | None, run: Run, dialect: str = "") -> Table:
    """The result of `sql`, with `whole` where it was cut.

    Rows that are groups are read as they are. Of single trials there is a row for those that agree in all that tells
    configurations apart: the means of their metrics, then how these spread and how many trials they are. A column that
    no row of `whole` has a value of is one that it says nothing of. `whole` stays None where there are too many
    configurations, or where the statement fails or takes too long; who speaks of the result then says so.

    `dialect` is that of other data, as sqlglot names it; empty for Mirror's results.
    """
    if not table.truncated:
        return table
    try:
        return replace(table, whole=_whole(table, sql.strip().rstrip(";"), question, run, dialect))
    except QueryCancelled:
        raise
    except (GuardError, QueryError, QueryStopped):
        return table


def sampled(table: Table, sql: str, question: Question | None, run: Run) -> Table:
    """The result of `sql` over Mirror's results, with an even sample in the place of its first rows.

    Where the row cap cut single trials in no order of their own, each method on each data set gives as many rows as
    the others, as far as it has them; which ones, a hash of their numbers says, so that it is the same every time. The
    first rows stay where the statement fails.
    """
    keys = [c for c in (table.domain.rival, table.domain.dataset) if c in table.names]
    unordered = (
        isinstance(question, QuerySpec) and question.shape == "points" and not (question.limit or question.order)
    )
    if not (table.truncated and unordered and keys) or _is_row_by_row(table, question):
        return table
    names = ", ".join(f'"{name}"' for name in table.names)
    split = ", ".join(f'"{key}"' for key in keys if key)
    numbers = ", ".join(f'"{c.name}"' for c in table.columns)
    placed = f"SELECT *, row_number() OVER (PARTITION BY {split} ORDER BY hash({numbers})) AS place_in_sample"
    most = len(table.rows)
    first = f"ORDER BY place_in_sample, {split} LIMIT {most}"
    inner = f"{placed}\nFROM (\n{sql.strip().rstrip(';')}\n) AS every_row\n{first}"
    statement = f"SELECT {names}\nFROM (\n{inner}\n) AS sample\nORDER BY {split}, place_in_sample"
    try:
        found = run(statement, most, TIME_LIMIT_S)
    except QueryCancelled:
        raise
    except (GuardError, QueryError, QueryStopped):
        return table
    return replace(table, rows=found.rows, evenly=tuple(k for k in keys if k))


def _whole(table: Table, sql: str, question: Question | None, run: Run, dialect: str) -> Table | None:
    roles = roles_of(table, question)
    if not roles.raw or _is_row_by_row(table, question):
        if len(table.rows) >= MOST_CONFIGURATIONS:  # no more would be read
            return None
        found = run(sql, MOST_CONFIGURATIONS, TIME_LIMIT_S)
        return replace(table, rows=found.rows, truncated=found.truncated)
    listed = question is not None and question.shape == "rows"
    metrics = [] if listed else [c.name for c in table.columns if _is_metric(table, c, question, roles)]
    names = [] if listed else _keys(table, metrics, roles)
    for keys in dict.fromkeys(((*names, *roles.times), tuple(names))) if metrics else (names,):
        found = run(_statement(sql, keys, metrics, dialect), MOST_CONFIGURATIONS, TIME_LIMIT_S)
        if not found.truncated:
            return _by_configuration(table, found, keys, metrics)
    return None


def _is_row_by_row(table: Table, question: Question | None) -> bool:
    """Whether what is said of the trials rests on each of them: their order, or their verdicts."""
    if not isinstance(question, QuerySpec) or question.shape != "points":
        return False
    verdicts = "verdict" in table.names and (question.claim or question.verdicts)
    return bool(question.limit or verdicts or table.columns[0].role == "time")


def _is_metric(table: Table, column: Column, question: Question | None, roles: Roles) -> bool:
    """Also one that just the rows that were read have no value of."""
    known = column.role == "metric" or (question is not None and column.name in question.drawn)
    return column.name in roles.metrics or (known and table.values(column.name).empty)


def _keys(table: Table, metrics: Sequence[str], roles: Roles) -> list[str]:
    """The columns that tell configurations apart; of rows without a metric only the one column there is."""
    if not metrics:
        return list(table.names) if len(table.names) == 1 else []

    def tells(column: Column) -> bool:
        if column.name in roles.dimensions:
            return column.role != "repetition" or column.name in roles.asked
        return not column.role and table.values(column.name).empty

    return [c.name for c in table.columns if tells(c) or c.name == table.domain.baseline_mark]


def _statement(sql: str, keys: Sequence[str], metrics: Sequence[str], dialect: str) -> str:
    mark = "`" if dialect == "mysql" else '"'

    def quoted(name: str) -> str:
        return mark + name.replace(mark, mark * 2) + mark

    deviation = "NULL" if dialect == "sqlite" else "stddev_samp({0})"  # SQLite has none
    columns = [quoted(k) for k in keys]
    numbers = [s.format(quoted(m)) for m in metrics for s in ("avg({0})", deviation, "min({0})", "max({0})")]
    # Other databases have no one word for what is neither NaN nor infinite: their means are then NaN too, and not used.
    is_number = "{} IS NOT NULL" if dialect else "isfinite(CAST({} AS DOUBLE))"
    measured = [is_number.format(quoted(m)) for m in metrics]
    lines = [f"SELECT {', '.join([*columns, 'count(*)', *numbers])}", f"FROM (\n{sql}\n) AS every_row"]
    lines += [f"GROUP BY {', '.join([*columns, *measured])}"] if keys or metrics else []
    lines += [f"ORDER BY {', '.join(columns)}"] if keys else []
    return "\n".join(lines)


def _by_configuration(table: Table, found: Table, keys: Sequence[str], metrics: Sequence[str]) -> Table:
    """The rows of `_statement` in the columns of the result, and behind them how the metrics spread."""
    columns = [*table.columns, Column("rows of a row", "integer", role="tally")]
    for m in metrics:
        columns += [Column(f"{m} {role}", role=role, of=m) for role in ("deviation", "smallest", "largest")]
    rows = []
    for values in found.rows:
        known: dict[str, Value | None] = dict(zip(keys, values, strict=False))
        count, *numbers = values[len(keys) :]
        spreads: list[Value | None] = []
        for i, m in enumerate(metrics):
            mean, deviation, smallest, largest = numbers[4 * i : 4 * i + 4]
            if isinstance(smallest, str) or isinstance(largest, str):
                raise QueryError("Not all values of a metric are numbers.")  # SQLite's columns have no one type
            # A sum of many equal numbers is rarely their multiple; equal means must be equal.
            known[m] = smallest if smallest == largest else mean
            spreads += [deviation, smallest, largest] if is_number(mean) else [None] * 3
        rows.append((*(known.get(n) for n in table.names), count, *spreads))
    return replace(table, columns=tuple(columns), rows=tuple(rows), truncated=False)

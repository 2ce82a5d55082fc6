"""What gold SQL says of a database: read by DuckDB alone, without Mirror's own path."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import duckdb

from db.columns import AXES, GROUP_AXES, METRICS
from db.schema import CURVE_AXES
from db.store import Store
from mirror.table.table import Table, plain_table
from mirror.table.values import Value

# Axes that say which trials a row stands for; a seed is a replicate, and numbers of two machines are never one.
_APART = (*(a for a in AXES if a != "seed"), "machine")
_WORK = (*GROUP_AXES, "machine")
_LINE = (*CURVE_AXES, "machine")


def _means(apart: tuple[str, ...]) -> str:
    means = ", ".join(f"avg({m}) AS {m}" for m in METRICS)
    return f"SELECT {', '.join(apart)}, is_baseline, {means}, count(*) AS n FROM runs GROUP BY ALL"


# What every gold may read beside the views.
NAMED = {
    # What a question means that is silent on what docs/results.md gives a default.
    "runs": "SELECT * FROM results WHERE coalesce(split, 'test') = 'test' AND coalesce(bag_sizes, 'uniform') = "
    "'uniform' AND coalesce(structure, 'plain') = 'plain' AND coalesce(model, 'op') = 'op'",
    # One row per configuration and machine: every metric's mean over seeds, and their number n.
    "cfg": _means(_APART),
    # The points of trainings that are tested on the test part, and their means over seeds.
    "points": "SELECT * FROM curves WHERE coalesce(split, 'test') = 'test'",
    "lines": f"SELECT {', '.join(_LINE)}, step, metric, avg(value) AS value FROM points GROUP BY ALL",
    # Trials that failed: every status but skipped.
    "failed": "SELECT * FROM failures WHERE status <> 'skipped'",
}

# Short for columns that only tell rows apart: an answer needs those of them without which its rows are told apart no
# more. `rest` are all of them, `point` those without which a point says nothing, `line` those of a curve; `work` stands
# in PARTITION BY.
SHORT = {
    "rest": ", ".join(f"{c} AS _{c}" for c in _APART if c != "method"),
    "point": ", ".join(f"{c} AS _{c}" for c in ("dataset", "embedding_dim", "batch_size", "direction", "machine")),
    "line": ", ".join(f"{c} AS _{c}" for c in _LINE if c != "method"),
    "work": ", ".join(_WORK),
}


def gold_statement(sql: str, fixed: Mapping[str, Value] | None = None, of: Literal["runs", "results"] = "runs") -> str:
    """A gold as one statement: what is short in it written out, the named queries before it.

    `fixed` are axes at the one value that `runs`, and what is made of it, are kept to; or all `results` are.
    """
    for name, text in SHORT.items():
        sql = sql.replace("{" + name + "}", text)
    kept = "".join(f" AND {column} = {_quoted(value)}" for column, value in (fixed or {}).items())
    named = ", ".join(f"{name} AS ({text}{kept if name == of else ''})" for name, text in NAMED.items())
    if kept and of == "results":  # stands before the view of that name in whatever reads it
        named = f"results AS (SELECT * FROM main.results WHERE true{kept}), {named}"
    begins = sql.lstrip()
    if begins[:5].lower() == "with ":
        return f"WITH {named}, {begins[5:]}"
    return f"WITH {named} {sql}"


class Golds:
    """Answers to gold SQL over one database, which is read once and never locked."""

    def __init__(self, path: Path) -> None:
        self._connection = duckdb.connect()
        for name, table in Store(str(path)).snapshot().items():
            self._connection.register(f"{name}_arrow", table)
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_arrow")
            self._connection.unregister(f"{name}_arrow")

    def table(
        self, sql: str, fixed: Mapping[str, Value] | None = None, of: Literal["runs", "results"] = "runs"
    ) -> Table:
        """The rows of a gold; times as ISO text. Raises duckdb.Error where the gold is no SQL over the views."""
        result = self._connection.execute(gold_statement(sql, fixed, of))
        names = tuple(c[0] for c in result.description or ())
        return plain_table(names, [tuple(map(plain_cell, row)) for row in result.fetchall()])

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


def _quoted(value: Value) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def plain_cell(value: object) -> str | int | float | bool | None:
    """A cell of DuckDB's as tables here hold it: times as ISO text, decimals as floats."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return float(str(value))  # a Decimal

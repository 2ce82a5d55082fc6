"""The list of all trials and the story of one: SQL for the page Runs, through the same sandbox as every question."""

from dataclasses import dataclass

from mirror.data.process.sandbox import Sandbox
from mirror.query.spec import Filter
from mirror.query.sql import condition, literal
from mirror.table.table import Column, Table
from mirror.table.values import Value

FILTERS = ("status", "benchmark", "method", "dataset", "sweep", "machine")
_ALWAYS = ("status", "method")
_FIRST = (
    *_ALWAYS, "verdict", "error", "machine", "benchmark", "dataset", "compression", "embedding_dim", "batch_size",
    "direction", "cache", "output", "seed", "auc", "memory_mb", "latency_us", "speedup",
)  # fmt: skip
_NEVER = ("trial_id", "machine_id", "group_id", "code_version", "is_baseline", "stop_reason")
_ROW_CAP = 5_000

# Every attempt that came to an end: the ok ones, superseded ones too, and the newest that is not ok.
_ALL = """(SELECT 'ok' AS status, NULL AS error, * FROM history
  UNION ALL BY NAME
  SELECT * FROM failures)"""


@dataclass(frozen=True)
class TrialDetails:
    """Everything about one trial.

    Attributes:
        values: (column, value) of every column that is not NULL.
        samples: (sample, latency_us), the raw timings, or an empty table.
        curves: (metric, step, value) of a training trial, or an empty table.
    """

    values: tuple[tuple[Column, Value], ...]
    samples: Table
    curves: Table


def choices(box: Sandbox) -> dict[str, list[str]]:
    """What can be filtered by: filter column -> its values among all trials."""
    found = {}
    for column in FILTERS:
        sql = f"SELECT DISTINCT {column} FROM {_ALL} AS t WHERE {column} IS NOT NULL ORDER BY 1"
        found[column] = [str(row[0]) for row in box.run(sql).rows]
    return found


def trials(box: Sandbox, chosen: dict[str, list[str]]) -> Table:
    """Trials that pass the filters, newest first, with the columns that differ between them (and trial_id, last)."""
    filters = [condition(Filter(c, "in", tuple(v))) for c, v in chosen.items() if v]
    where = f"\nWHERE {' AND '.join(filters)}" if filters else ""
    table = box.run(f"SELECT * FROM {_ALL} AS t{where}\nORDER BY started_at DESC, trial_id", row_cap=_ROW_CAP)
    keep = [n for n in table.names if n in _ALWAYS or (n not in _NEVER and len(set(table.values(n))) > 1)]
    first = [n for n in _FIRST if n in keep]
    order = [*first, *(n for n in keep if n not in first), "trial_id"]
    return table.picked(order)


def details(box: Sandbox, trial_id: str) -> TrialDetails:
    """One trial with its raw samples and curves."""
    wanted = literal(trial_id)
    whole = box.run(f"SELECT * FROM {_ALL} AS t WHERE trial_id = {wanted}")
    values = zip(whole.columns, whole.rows[0], strict=True) if whole.rows else ()
    samples = box.run(
        f"SELECT sample, time_us AS latency_us FROM samples WHERE trial_id = {wanted} ORDER BY sample", row_cap=_ROW_CAP
    )
    curves = box.run(
        f"SELECT metric, step, value FROM curves WHERE trial_id = {wanted} ORDER BY metric, step", row_cap=_ROW_CAP
    )
    return TrialDetails(tuple((c, v) for c, v in values if v is not None), samples, curves)


def newest(box: Sandbox, sweep: str, since: str, limit: int = 10) -> Table:
    """The newest trials of a sweep since a UTC time (ISO text; empty for any), with the columns that are filled."""
    shown = (
        "method, dataset, compression, embedding_dim, batch_size, direction, cache, output, seed, auc, memory_mb, "
        "latency_us, noise, speedup, verdict"
    )
    later = f"AND started_at >= CAST({literal(since)} AS TIMESTAMP) " if since else ""
    table = box.run(
        f"SELECT status, {shown}, error FROM {_ALL} AS t WHERE sweep = {literal(sweep)} {later}"
        f"ORDER BY started_at DESC LIMIT {limit}"
    )
    return filled(table)


def filled(table: Table) -> Table:
    """The columns that hold a value in some row."""
    return table.picked([n for n in table.names if any(v is not None for v in table.values(n))])

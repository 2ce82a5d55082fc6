"""The list of all trials and the story of one: SQL for the page Runs, through the same sandbox as every question."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from mirror.data.process.sandbox import Sandbox
from mirror.query.spec import Filter
from mirror.query.sql import condition, literal
from mirror.table.table import Column, Table
from mirror.table.values import Value

FILTERS = ("status", "benchmark", "method", "dataset", "sweep", "machine")
_ALWAYS = ("status", "method")
_FIRST = (
    *_ALWAYS, "error", "auc", "memory_mb", "latency_us", "speedup", "verdict", "benchmark", "dataset", "compression",
    "embedding_dim", "batch_size", "direction", "cache", "output", "seed", "machine",
)  # fmt: skip
NEVER_SHOWN = ("trial_id", "machine_id", "group_id", "code_version", "is_baseline", "stop_reason")
_ROW_CAP = 20_000  # at once; no trial has as many samples
PAGE = 100  # trials on a page

# Every attempt that came to an end: the ok ones, superseded ones too, and the newest that is not ok.
ALL_TRIALS = """(SELECT 'ok' AS status, NULL AS error, * FROM history
  UNION ALL BY NAME
  SELECT * FROM failures)"""


@dataclass(frozen=True)
class Listing:
    """A page of trials, how many there are on all pages, and how many of those have no result."""

    table: Table
    total: int
    without: int


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
        sql = f"SELECT DISTINCT {column} FROM {ALL_TRIALS} AS t WHERE {column} IS NOT NULL ORDER BY 1"
        found[column] = [str(row[0]) for row in box.run(sql, row_cap=_ROW_CAP).rows]
    return found


def listed(box: Sandbox, chosen: dict[str, list[str]], page: int = 1, wanted: Collection[str] = ()) -> Listing:
    """A page of the trials that pass the filters, newest first, with the columns that differ among all of those.

    DuckDB filters, counts and pages; `page` counts from 1. Results stand before settings, and trial_id is last. What is
    `wanted` is among the columns where it is one, whether it differs or not.
    """
    total, without, columns = _differing(box, chosen, wanted)
    if not total:
        return Listing(box.run(f"SELECT trial_id FROM {ALL_TRIALS} AS t LIMIT 0"), 0, 0)
    sql = f"SELECT {', '.join(columns)} FROM {ALL_TRIALS} AS t{where(chosen)}\nORDER BY started_at DESC, trial_id"
    table = box.run(f"{sql}\nLIMIT {PAGE} OFFSET {PAGE * (page - 1)}", row_cap=PAGE)
    return Listing(table, total, without)


def trials(box: Sandbox, chosen: dict[str, list[str]]) -> Table:
    """All trials that pass the filters, as `listed` has them, however many there are."""
    total, _, columns = _differing(box, chosen)
    sql = f"SELECT {', '.join(columns)} FROM {ALL_TRIALS} AS t{where(chosen)}\nORDER BY started_at DESC, trial_id"
    parts = [
        box.run(f"{sql}\nLIMIT {_ROW_CAP} OFFSET {start}", row_cap=_ROW_CAP)
        for start in range(0, max(total, 1), _ROW_CAP)
    ]
    return replace(parts[0], rows=tuple(row for part in parts for row in part.rows))


def _differing(box: Sandbox, chosen: dict[str, list[str]], wanted: Collection[str] = ()) -> tuple[int, int, list[str]]:
    """(trials that pass, those of them without a result, the columns to show) of some filters."""
    names = [n for n in box.run(f"SELECT * FROM {ALL_TRIALS} AS t LIMIT 0").names if n not in NEVER_SHOWN]
    kinds = ", ".join(f"count(DISTINCT {n}) + CAST(count(*) > count({n}) AS INTEGER) AS {n}" for n in names)
    counted = f"SELECT count(*) AS trials, count(*) FILTER (WHERE status <> 'ok') AS without_result, {kinds}"
    total, without, *several = box.run(f"{counted} FROM {ALL_TRIALS} AS t{where(chosen)}").rows[0]
    always = (
        (*_ALWAYS, *wanted, "error") if without else (*_ALWAYS, *wanted)
    )  # the reason of a failure stands in its line
    keep = [n for n, kind in zip(names, several, strict=True) if n in always or int(kind or 0) > 1]
    return int(total or 0), int(without or 0), [*in_order(keep), "trial_id"]


def in_order(names: list[str]) -> list[str]:
    """Columns as people look for them: results before settings."""
    first = [n for n in _FIRST if n in names]
    return [*first, *(n for n in names if n not in first)]


def where(chosen: dict[str, list[str]]) -> str:
    """The WHERE of some filters, empty for none."""
    filters = [condition(Filter(c, "in", tuple(v))) for c, v in chosen.items() if v]
    return f"\nWHERE {' AND '.join(filters)}" if filters else ""


def details(box: Sandbox, trial_id: str) -> TrialDetails:
    """One trial with its raw samples and curves."""
    wanted = literal(trial_id)
    whole = box.run(f"SELECT * FROM {ALL_TRIALS} AS t WHERE trial_id = {wanted}")
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
        f"SELECT status, {shown}, error FROM {ALL_TRIALS} AS t WHERE sweep = {literal(sweep)} {later}"
        f"ORDER BY started_at DESC LIMIT {limit}"
    )
    return filled(table)


def filled(table: Table) -> Table:
    """The columns that hold a value in some row."""
    return table.picked([n for n in table.names if any(v is not None for v in table.values(n))])

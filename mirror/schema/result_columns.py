"""The columns of a result over Mirror's own results, by their names, and what its charts and sentences know besides."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from db.columns import BY_NAME, CHOICE_AXES, GROUP_AXES
from mirror.schema import catalog
from mirror.table.table import Column, Domain, Role, Row, Table
from mirror.table.values import type_of

# Columns that tell repetitions of one configuration apart, or only describe the run.
_REPETITION = ("seed", "sweep", "code_version", "group_id", "is_baseline", "stop_reason", "error")
# Places along a run in the views `curves` and `samples`, which the catalogue of trials does not hold.
_POSITIONS = ("step", "sample")
# How far a metric spreads -> (role, metric). Of a deviation, `stddev_...`, the name says it.
_SPREADS: dict[str, tuple[Role, str]] = {
    "latency_ci_low_us": ("low", "latency_us"), "latency_ci_high_us": ("high", "latency_us"),
    "speedup_ci_low": ("low", "speedup"), "speedup_ci_high": ("high", "speedup"),
    "right_ci_low": ("low", "right_share"), "right_ci_high": ("high", "right_share"),
    **dict.fromkeys(
        ("latency_p10_us", "latency_p90_us", "latency_p95_us", "latency_p99_us"), ("percentile", "latency_us")
    ),
}  # fmt: skip
_DEVIATION = "stddev_"


@cache
def results() -> Domain:
    """What charts and sentences know of Mirror's results. Raises CatalogError."""
    return Domain(
        row="trial",
        kind="configuration",
        repeated_by=("seed", "trial_id"),
        rival="method",
        baseline=catalog.words()["baseline"],
        baseline_mark="is_baseline",
        machine="machine",
        dataset="dataset",
        parallel="threads",
        size="compression",
        step="step",
        curve="metric",
        tasks=("metric", "benchmark", "dataset"),
        apart=("metric", "benchmark", "op", "dataset", "device", "direction", "machine"),
        work=GROUP_AXES,
        usual=catalog.words()["defaults"],
        named_by={"method": "", "machine": "on ", "benchmark": "in "},
        listed_by=(
            "method", "benchmark", "dataset", "machine", "compression", "embedding_dim", "batch_size", "seed", "name",
        ),
        beside={"machine_id": "machine", "verdict": "speedup"},
        implied={
            "num_rows": ("dataset",), "num_tables": ("dataset",), "op": ("benchmark",),
            **dict.fromkeys(CHOICE_AXES, ("method",)),
        },
        neutral={"compression": 1, "block_size": 1},
    )  # fmt: skip


def result_table(
    names: Sequence[str], rows: Sequence[Row], truncated: bool = False, milliseconds: float = 0.0
) -> Table:
    """A result of SQL over Mirror's results."""
    return Table(result_columns(names, rows), tuple(rows), truncated, milliseconds, results())


def result_columns(names: Sequence[str], rows: Sequence[Row] = ()) -> tuple[Column, ...]:
    """What the columns of SQL over Mirror's results are, whoever wrote it."""
    count = next((n for n in names if n in catalog.COUNT_NAMES), None)
    found = []
    for i, name in enumerate(names):
        entry = catalog.entry(name)
        role, of = _role(entry, names)
        unknown = not (entry.source or entry.role == "metric")
        kind = type_of([row[i] for row in rows]) if unknown and rows else entry.type
        found.append(replace(entry, type=kind, role="count" if name == count else role, of=of))
    return tuple(found)


def _role(entry: catalog.Entry, names: Sequence[str]) -> tuple[Role, str]:
    """(role, metric whose spread it tells) of a column in a result with these names."""
    name = entry.name
    if name.startswith(_DEVIATION) and name.removeprefix(_DEVIATION) in names:
        return "deviation", name.removeprefix(_DEVIATION)
    if name in _SPREADS and _SPREADS[name][1] in names:
        return _SPREADS[name]
    if name in _REPETITION:
        return "repetition", ""
    if name in _POSITIONS or (entry.role == "info" and name in BY_NAME):
        return ("time" if entry.type == "timestamp" else "name"), ""
    return entry.role if entry.role != "info" else "", ""

"""Profile: what the results hold at this moment. Built-in reader, language model and the form on the page read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mirror.schema.own_metrics import Said
from mirror.schema.own_words import OwnWord
from mirror.table.values import Value

MAX_VALUES = 50


@dataclass(frozen=True)
class Profile:
    """Counts and distinct values of one snapshot.

    Attributes:
        row_counts: view -> number of rows.
        distinct: column of `results` -> its sorted distinct values without NULL; a column with more than 50 is absent.
        distinct_by_benchmark: benchmark -> column -> the same among the rows of that benchmark.
        filled_metrics: benchmark -> metric columns with any value.
        lost: benchmark -> column with a usual value -> axis -> its values that no row with that usual value has.
        partly_filled: benchmark -> axes that some of its rows have a value of and some have not.
        baselines: benchmark -> methods that the others are compared with there.
        started: time of the oldest and of the newest trial of `results`, ISO text in UTC, or None.
        machines: number of machines in `results`.
        curves: names of what training has recorded step by step.
        own_metrics: metrics of plug-ins that have columns of their own.
        words: what people call parts of the results, beyond the catalogue; no part of what a snapshot holds.
    """

    row_counts: Mapping[str, int] = field(default_factory=dict)
    distinct: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    distinct_by_benchmark: Mapping[str, Mapping[str, tuple[Value, ...]]] = field(default_factory=dict)
    filled_metrics: Mapping[str, frozenset[str]] = field(default_factory=dict)
    partly_filled: Mapping[str, frozenset[str]] = field(default_factory=dict)
    baselines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lost: Mapping[str, Mapping[str, Mapping[str, tuple[Value, ...]]]] = field(default_factory=dict)
    started: tuple[str, str] | None = None
    machines: int = 0
    curves: tuple[str, ...] = ()
    own_metrics: tuple[Said, ...] = ()
    words: tuple[OwnWord, ...] = ()

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Benchmarks that have results, sorted."""
        return tuple(self.filled_metrics)

    @property
    def updated(self) -> str | None:
        """Time of the newest trial, ISO text in UTC; None without results."""
        return self.started[1] if self.started else None

    def rows(self, view: str) -> int:
        """Number of rows of a view; 0 for one that is not there."""
        return self.row_counts.get(view, 0)

    def values(self, column: str, benchmark: str | None = None) -> tuple[Value, ...]:
        """Sorted distinct values of an axis, `sweep`, `machine` or `verdict`; empty for none or for more than 50."""
        among = self.distinct if benchmark is None else self.distinct_by_benchmark.get(benchmark, {})
        return among.get(column, ())

    def metrics(self, benchmark: str) -> frozenset[str]:
        """Metric columns that a benchmark has values of."""
        return self.filled_metrics.get(benchmark, frozenset())

    def compared_with(self, baseline: str) -> tuple[str, ...]:
        """Benchmarks whose verdicts are against this method and no other."""
        return tuple(b for b, methods in self.baselines.items() if methods == (baseline,))

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold."""
        return {**vars(self), **{name: {b: sorted(v) for b, v in getattr(self, name).items()} for name in _SETS}}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Profile":
        """The inverse of `to_dict`, also of what JSON has made of it."""
        sets = {name: {b: frozenset(v) for b, v in given[name].items()} for name in _SETS}
        return cls(**{name: _with_tuples(value) for name, value in given.items()} | sets)


_SETS = ("filled_metrics", "partly_filled")


def _with_tuples(value: Any) -> Any:
    """The same with tuples in the place of lists, of which JSON knows no other."""
    if isinstance(value, dict):
        return {key: _with_tuples(part) for key, part in value.items()}
    return tuple(value) if isinstance(value, list) else value

"""The columns of a result that holds a metric twice: before and since a moment, or beside a reference."""

from dataclasses import dataclass

from mirror.schema import catalog

# Metrics that rest on timed samples, whose scatter the column `noise` tells.
TIMED = (
    "latency_us", "latency_p10_us", "latency_p90_us", "latency_p95_us", "latency_p99_us", "latency_ci_low_us",
    "latency_ci_high_us", "samples_per_s", "bandwidth_gb_s", "bandwidth_share", "speedup", "speedup_ci_low",
    "speedup_ci_high",
)  # fmt: skip


@dataclass(frozen=True)
class ChangeColumns:
    """Names of the columns: the medians of both sides, what came of them, their noise, and the numbers of trials."""

    before: str
    since: str
    change: str
    noise: str
    n_before: str = "n_before"
    n_since: str = "n_since"


def change_columns(metric: str) -> ChangeColumns:
    """The columns for a metric.

    What has a unit changes by a ratio (since / before), anything else by a difference (since - before). The noise of
    what is timed is the largest IQR / median among the trials, a fraction; of anything else the larger of both sides'
    standard deviations over trials.
    """
    noise = "max_noise" if metric in TIMED else f"stddev_{metric}"
    kind = "ratio" if is_ratio(metric) else "difference"
    return ChangeColumns(f"before_{metric}", f"since_{metric}", f"{kind}_{metric}", noise)


def is_ratio(metric: str) -> bool:
    """Whether a change of the metric, or of its median or other aggregate, is told as a ratio."""
    return bool(catalog.entry(metric).unit)


@dataclass(frozen=True)
class RelativeColumns:
    """Names of the columns: the reference's value, and what came of both."""

    reference: str
    outcome: str


def relative_columns(metric: str, inverse: bool) -> RelativeColumns:
    """The columns for a metric beside that of a reference.

    What has a unit is told as a ratio (value / reference), or how many times less it is (reference / value); anything
    else as a difference (value - reference).
    """
    kind = "difference" if not is_ratio(metric) else "reduction" if inverse else "ratio"
    return RelativeColumns(f"reference_{metric}", f"{kind}_{metric}")

"""Trial and TrialResult: what is run, and what came out."""

import hashlib
import json
from collections.abc import Generator, Mapping
from dataclasses import astuple, dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal

from db.columns import GROUP_AXES, IMPLIED

Scalar = str | int | float | bool
Status = Literal["ok", "failed", "timeout", "oom", "cancelled", "skipped"]


@dataclass(frozen=True)
class Stop:
    """When to stop sampling.

    Attributes:
        min_samples: at least so many timed samples.
        max_seconds: wall-time cap of the timing part.
        noise_target: stop when IQR / median is below this fraction.
    """

    min_samples: int = 40
    max_seconds: float = 3.0
    noise_target: float = 0.02


@dataclass(frozen=True)
class Trial:
    """One method at one configuration with one seed.

    Attributes:
        benchmark: registered name of the benchmark.
        method: registered name of the method.
        config: every axis of the benchmark that the method has, with its value, the seed among them.
        is_baseline: whether the others of its group are compared with it.
        stop: when to stop sampling.
        time_limit_s: a trial that takes longer, set-up and its own turns together, is ended and recorded as `timeout`.
        memory_limit_gb: a trial that needs more is recorded as `oom`; None for what the machine has free.
        skip_reason: filled when the trial cannot be run at all; it is then recorded as `skipped`.
        metrics: of plug-ins, that it is to have beside those of its benchmark.
        named: the axes that its label names (see bench_engine.sweep.search); None for all.
    """

    benchmark: str
    method: str
    config: Mapping[str, Scalar]
    is_baseline: bool = False
    stop: Stop = field(default_factory=Stop)
    time_limit_s: float = 600.0
    memory_limit_gb: float | None = None
    skip_reason: str = ""
    metrics: tuple[str, ...] = ()
    named: tuple[str, ...] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "config", MappingProxyType(dict(self.config)))

    def identity(self, source_hash: str, machine_id: str, measurement: int) -> str:
        """Hash of method, kernel source, configuration, machine and measurement method (12 hex digits).

        The sweep and `is_baseline` are left out: the same measurement in two sweeps is one trial.
        """
        parts = {
            "benchmark": self.benchmark,
            "method": self.method,
            "config": self._told(),
            "stop": astuple(self.stop),
            "source": source_hash,
            "machine": machine_id,
            "measurement": measurement,
        }
        return _hash(parts)

    def configuration(self) -> str:
        """Hash of benchmark, method and every planned axis (12 hex digits): trials that have it in common on a machine
        are attempts at the same thing, and the newest one counts."""
        return _hash({"benchmark": self.benchmark, "method": self.method, "config": self._told()})

    def comparison(self) -> str:
        """Hash of benchmark and the planned axes that say what work is done (12 hex digits): trials that have it in
        common may be compared for speed, whatever their method, size and seed."""
        workload = {axis: value for axis, value in self._told().items() if axis in GROUP_AXES}
        return _hash({"benchmark": self.benchmark, "config": workload})

    def _told(self) -> dict[str, Scalar]:
        """The axes that tell trials apart: what was implied before there was an axis for it still is."""
        return {axis: value for axis, value in self.config.items() if IMPLIED.get(axis) != (self.benchmark, value)}

    def label(self) -> str:
        """Short text that tells the trials of a sweep apart: method and the axes that it names."""
        axes = self.config if self.named is None else self.named
        return " ".join((self.benchmark, self.method, *(f"{axis}={self.config[axis]}" for axis in axes)))

    def to_json(self) -> str:
        """What the worker reads: all but the reason to skip it and what its label names."""
        return json.dumps(
            {
                "benchmark": self.benchmark,
                "method": self.method,
                "config": dict(self.config),
                "stop": astuple(self.stop),
                "is_baseline": self.is_baseline,
                "time_limit_s": self.time_limit_s,
                "memory_limit_gb": self.memory_limit_gb,
                **({"metrics": self.metrics} if self.metrics else {}),  # the text is a seed too: none changes it
            }
        )

    @staticmethod
    def from_json(text: str) -> "Trial":
        """The trial of `to_json`."""
        entry = json.loads(text)
        entry["stop"] = Stop(*entry["stop"])
        entry["metrics"] = tuple(entry.get("metrics", ()))
        return Trial(**entry)


def _hash(parts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Paired:
    """How a trial stands to the baseline that took turns with it.

    Attributes:
        baseline_latency_us: time of the baseline in the state of the machine of the trial: the trial's median times the
            ratio of their turns.
        speedup_ci_low, speedup_ci_high: 95 % interval of baseline time / time of the trial; None where there are too
            few turns for one.
        verdict: faster, slower, same or unclear (see bench_engine.measure.ratios).
    """

    baseline_latency_us: float
    speedup_ci_low: float | None
    speedup_ci_high: float | None
    verdict: str


@dataclass(frozen=True)
class TrialResult:
    """What a worker reports, or what the executor says about a worker that could not.

    Attributes:
        status: ok, failed, timeout, oom or skipped.
        metrics: values of metric columns, and of axes that only the run itself knows (num_rows of a data set).
        samples_us: raw timings in µs.
        curves: (metric, step, value) points.
        stop_reason: why sampling stopped.
        error: one sentence that says why a trial is not ok.
        environment: versions, flags and load at the time of the trial.
        turn_sizes: number of samples that each turn took, in order.
        seconds: what the trial itself took, set-up and its turns; the turns of others are not in it.
        group_id: what the trials have in common that took turns; empty where it ran alone. Filled by the executor.
        paired: how it stands to the baseline; filled by the executor.
        start_turns: number of turns in each start of its process, in order; empty where there was one start. Filled by
            the executor.
    """

    status: Status
    metrics: Mapping[str, Any] = field(default_factory=dict)
    samples_us: tuple[float, ...] = ()
    curves: tuple[tuple[str, int, float], ...] = ()
    stop_reason: str | None = None
    error: str | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    turn_sizes: tuple[int, ...] = ()
    seconds: float = 0.0
    group_id: str = ""
    paired: Paired | None = None
    start_turns: tuple[int, ...] = ()

    def to_json(self) -> str:
        """What the worker says, in one line; raises ValueError when a value is NaN or infinite."""
        of_executor = ("seconds", "group_id", "paired", "start_turns")
        said = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in of_executor}
        plain = {**said, "metrics": dict(self.metrics), "environment": dict(self.environment)}
        return json.dumps(plain, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> "TrialResult":
        """Raises ValueError or KeyError when the text is not a result."""
        entry = json.loads(text)
        if not isinstance(entry, dict):
            raise ValueError("not a result")
        return TrialResult(
            status=entry["status"],
            metrics=entry["metrics"],
            samples_us=tuple(float(x) for x in entry["samples_us"]),
            curves=tuple((str(m), int(s), float(v)) for m, s, v in entry["curves"]),
            stop_reason=entry["stop_reason"],
            error=entry["error"],
            environment=entry["environment"],
            turn_sizes=tuple(int(n) for n in entry["turn_sizes"]),
        )


# What a worker says of its turns: it needs more, it may be given more, or it takes none any more.
State = Literal["more", "enough", "ended"]
# What a benchmark's `run(trial)` is: it sets up, yields its state, and does a turn each time it is sent True; sent
# False, or when nothing is left to do, it returns the result. One that cannot begin returns without a yield.
Run = Generator[State, bool, TrialResult]

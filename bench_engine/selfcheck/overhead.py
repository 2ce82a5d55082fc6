"""What the engine itself costs: per trial beyond the measurement, per sample within it."""

import io
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench_engine.measure.measure import SAMPLE_NS, Sampler
from bench_engine.run import runner
from bench_engine.selfcheck import SelfCheckError
from bench_engine.sweep import sweep
from bench_engine.trial import Stop
from db.store import Store

_SWEEP = """
benchmark: lookup
methods: [dense, quotient_remainder]
baseline: dense
parameters:
  num_rows: {value: 1000}
  compression: {value: 0.5}
stop: {min_samples: 40, max_seconds: 0.5, noise_target: 0.05}
"""
_SAMPLES = 2000


@dataclass(frozen=True)
class Overhead:
    """What the engine costs.

    Attributes:
        trial_s: s per trial beyond the calls that are timed: starting and setting up a worker, the correctness check,
            warm-up, waiting for the turns of others, the journal and the results.
        sample_ns: ns within a sample that are not the call's: reading the clock, and the loop around the call.
        sample_share: the same as a share of a sample of SAMPLE_NS.
        between_ns: ns between two samples, where nothing is timed.
        between_share: the same as a share of a sample of SAMPLE_NS.
    """

    trial_s: float
    sample_ns: float
    sample_share: float
    between_ns: float
    between_share: float


def measure() -> Overhead:
    """Run a small sweep in a folder of its own, and samples of nothing; takes some seconds.

    Raises what bench_engine.run.runner.run raises, MachineBusyError where a sweep is running; SelfCheckError where
    its trials fail.
    """
    sample_ns = _sample_ns()
    between_ns = _between_ns()
    return Overhead(_trial_s(), sample_ns, sample_ns / SAMPLE_NS, between_ns, between_ns / SAMPLE_NS)


def _trial_s() -> float:
    with tempfile.TemporaryDirectory() as folder, _journal_in(folder), redirect_stderr(io.StringIO()):
        options = runner.Options(url=str(Path(folder) / "overhead.duckdb"))
        begin = time.perf_counter()
        state = runner.run(sweep.parse(_SWEEP, "overhead"), options, say=lambda _sentence: None)
        if state.status == "cancelled":  # the signal was the runner's
            raise KeyboardInterrupt
        taken = time.perf_counter() - begin
        trials = Store(options.url).rows(
            "SELECT t.trial_id, t.environment, sum(s.time_us) AS samples_us "
            "FROM trials AS t JOIN samples AS s ON t.trial_id = s.trial_id GROUP BY t.trial_id, t.environment"
        )
        if not trials:
            raise SelfCheckError(f"no trial of the engine's own has a result: {state.message}")
        timed: float = sum(t["samples_us"] * json.loads(t["environment"])["calls_per_sample"] for t in trials) / 1e6
        return (taken - timed) / len(trials)


def _sample_ns() -> float:
    """Median time of a sample of one call that does nothing."""
    return float(np.median(_samples(lambda _index: None)[0]) * 1e3)


def _between_ns() -> float:
    def call(_index: int) -> None:
        until = time.perf_counter_ns() + SAMPLE_NS
        while time.perf_counter_ns() < until:
            pass

    samples_us, taken_s = _samples(call)
    return (taken_s * 1e9 - sum(samples_us) * 1e3) / len(samples_us)


def _samples(call: Callable[[int], None]) -> tuple[Sequence[float], float]:
    """Samples of one call each, in µs, and the s that taking them took in all."""
    sampler = Sampler(call, Stop(min_samples=_SAMPLES, max_seconds=0.01), flush=lambda: None)
    begin = time.perf_counter()
    while sampler.state == "more":
        sampler.turn()
    return sampler.timing.samples_us, time.perf_counter() - begin


@contextmanager
def _journal_in(folder: str) -> Iterator[None]:
    """Keep the trials out of the journal that the settings name."""
    before = os.environ.get("MIRROR_JOURNAL")
    os.environ["MIRROR_JOURNAL"] = folder
    try:
        yield
    finally:
        del os.environ["MIRROR_JOURNAL"]
        if before is not None:
            os.environ["MIRROR_JOURNAL"] = before

"""Shows that ten thousand recorded trials are no burden: ingest, queries on `results` and plan, each with peak memory.

    python -m tests.shows.scale                          # 10,000 trials with 100 samples each, a few minutes
    python -m tests.shows.scale --trials 1000 --samples 20

Makes a journal from code: lookups in many axes and click models with curves, a baseline in every group, three
machines, seeds, repeated attempts and failures, groups that took turns and older trials that did not. The real
commands then run on it as processes of their own. The exit status is 0 when every target is met:

    ingest < 60 s      a query on `results` < 100 ms (median)      plan of a grid of as many points < 2 s
"""

import argparse
import functools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bench_engine.machine import machine as this_machine
from bench_engine.plan import planning
from bench_engine.registry import benchmark
from bench_engine.sweep import sweep
from bench_engine.trial import Trial
from db import journal
from db.installation import ROOT
from db.record import Record
from db.store import Store
from mirror.data.process.sandbox import Sandbox

INGEST_S, QUERY_MS, PLAN_S = 60.0, 100.0, 2.0
START = datetime(2026, 1, 1)

GRID = """
name: {name}
benchmark: lookup
methods: [dense, small_dim, hashed, hashed_reference, quotient_remainder]
baseline: dense
parameters:
  num_rows: {{values: [10000, 100000, 1000000]}}
  embedding_dim: {{values: [8, 16, 32, 64, 128]}}
  batch_size: {{values: [1, 64, 512, 2048, 8192]}}
  compression: {{values: [1, 0.5, 0.1, 0.02]}}
  direction: {{values: [forward, forward_backward]}}
  zipf_s: {{values: [0, 1.05]}}
seeds: 4
run_cap: {lookups}
---
benchmark: training
methods: [dense, small_dim, hashed, quotient_remainder]
baseline: dense
parameters:
  embedding_dim: {{values: [8, 16, 32]}}
  compression: {{values: [1, 0.5, 0.1, 0.05]}}
seeds: 100
run_cap: {trainings}
"""

BY_METHOD = (
    "SELECT method, machine, count(*) AS n, avg(speedup) AS speedup, avg(latency_us) AS latency_us FROM results "
    "GROUP BY method, machine ORDER BY method, machine"
)
QUERIES = {
    "one method and dim": "SELECT * FROM results WHERE method = 'hashed' AND embedding_dim = 16",
    "a trade-off": "SELECT method, compression, memory_mb, auc FROM results WHERE benchmark = 'training'",
    "speedup by method and machine": BY_METHOD,
    "fastest per batch size": "SELECT batch_size, direction, method, min(latency_us) AS us FROM results "
    "WHERE benchmark = 'lookup' GROUP BY batch_size, direction, method ORDER BY us",
    "ten best": "SELECT trial_id, method, speedup FROM results WHERE speedup IS NOT NULL "
    "ORDER BY speedup DESC, trial_id LIMIT 10",
    "count": "SELECT count(*) AS n FROM results",
    "history over time": "SELECT started_at, method, latency_us, speedup FROM history WHERE embedding_dim = 16 "
    "ORDER BY started_at",
    "failures": "SELECT * FROM failures",
}


# -- records -----------------------------------------------------------------------------------------------------------


def grid(name: str, trials: int) -> sweep.Sweep:
    """A sweep of as many trials or a few more: nine in ten lookups, then click models."""
    trainings = max(1, trials // 10)
    whole = 50  # trials of more than one configuration of each part, which run_cap may leave out as a whole
    return sweep.parse(GRID.format(name=name, lookups=trials - trainings + whole, trainings=trainings), name)


def machines() -> list[dict[str, Any]]:
    """This machine and two that are made up."""
    mine = this_machine.machine()
    others = [{**mine, "machine_id": f"{n:012x}", "name": f"made up {n}", "cores": 8 * n} for n in (1, 2)]
    return [mine, *others]


class Writer:
    """Makes records of planned trials as a run would have left them; times and scores are drawn at random."""

    def __init__(self, samples: int) -> None:
        self.samples = samples
        self.random = random.Random(1)
        self.clock = START
        self.attempts: Counter[str] = Counter()

    def records(
        self, planned: Iterable[Trial], machine: dict[str, Any], name: str, turns: bool = True, failed: float = 0.02
    ) -> Iterator[Record]:
        """One record per trial, in order.

        Args:
            turns: whether the trials took turns, and so know the time of their baseline.
            failed: share of the trials that failed.
        """
        row = {"sweep_id": name, "name": name, "spec": f"# {name}", "started_at": START}
        group, baseline_us = "", 0.0
        for trial in planned:
            latency_us = self.random.lognormvariate(6, 1)
            if trial.is_baseline:
                group, baseline_us = trial.comparison(), latency_us
            columns = self.identified(trial, machine, name)
            if self.random.random() < failed:
                yield Record({**columns, "status": "failed", "error": "The worker ended with 1."}, (), (), machine, row)
                continue
            columns |= self.measured(trial, latency_us)
            if turns and group == trial.comparison():
                columns |= self.compared(group, baseline_us / latency_us, baseline_us)
            spread = (1.0, *(self.random.lognormvariate(0, 0.02) for _ in range(self.samples - 1)))
            samples = tuple(round(latency_us * factor, 3) for factor in spread)
            sizes = tuple(len(samples[i : i + 5]) for i in range(0, len(samples), 5)) if turns else ()
            curves = tuple(("loss", step, 0.7 / (step + 1)) for step in range(20)) if "auc" in columns else ()
            yield Record(columns, samples, curves, machine, row, sizes)

    def identified(self, trial: Trial, machine: dict[str, Any], name: str) -> dict[str, Any]:
        identity = planning.identity_of(trial, machine["machine_id"])
        self.attempts[identity] += 1
        self.clock += timedelta(seconds=7)
        return {
            **trial.config,
            "trial_id": f"{identity}-{self.attempts[identity]}",
            "identity": identity,
            "configuration": trial.configuration(),
            "comparison": trial.comparison(),
            "benchmark": trial.benchmark,
            "op": benchmark(trial.benchmark).op,
            "method": trial.method,
            "is_baseline": trial.is_baseline,
            "sweep": name,
            "status": "ok",
            "machine_id": machine["machine_id"],
            "started_at": self.clock,
            "duration_s": round(self.random.uniform(4, 9), 3),
            "code_version": "0123abc",
            "environment": json.dumps(this_machine.state()),
        }

    def measured(self, trial: Trial, latency_us: float) -> dict[str, Any]:
        """The metrics of a trial that is ok."""
        spread = {"p10": 0.97, "p90": 1.03, "p99": 1.05, "ci_low": 0.995, "ci_high": 1.005}
        scores = {"auc": self.random.uniform(0.7, 0.8), "logloss": self.random.uniform(0.4, 0.5)}
        return {
            "latency_us": latency_us,
            **{f"latency_{name}_us": latency_us * factor for name, factor in spread.items()},
            "memory_mb": float(trial.config["compression"]) * 6.4,
            "peak_rss_mb": 350.0,
            "samples_per_s": 1e6 / latency_us,
            "max_abs_error": 1e-6,
            "sample_count": self.samples,
            "noise": 0.03,
            "stop_reason": "noise_target",
            "device": "cpu",
            "dtype": "float32",
            **(scores if trial.benchmark == "training" else {}),
        }

    @staticmethod
    def compared(group: str, speedup: float, baseline_us: float) -> dict[str, Any]:
        return {
            "group_id": group,
            "baseline_latency_us": baseline_us,
            "speedup_ci_low": speedup * 0.99,
            "speedup_ci_high": speedup * 1.01,
            "verdict": "faster" if speedup > 1.01 else "slower" if speedup < 0.99 else "same",
        }


def write_varied(folder: Path, trials: int, samples: int) -> None:
    """A journal of three machines; one trial in ten was run before, in another sweep and without turns."""
    writer = Writer(samples)
    found = machines()
    for number, machine in enumerate(found):
        share = trials * (number + 1) // len(found) - trials * number // len(found)
        older = max(2, share // 10)
        for name, count, turns in (("older", older, False), ("newer", share - older, True)):
            planned = sweep.expand(grid(name, count))[:count]
            for record in writer.records(planned, machine, name, turns):
                journal.write(folder, record)


def write_done(folder: Path, planned: sweep.Sweep) -> None:
    """A journal in which all of a sweep is done on this machine."""
    for record in Writer(samples=1).records(sweep.expand(planned), machines()[0], planned.name, failed=0.0):
        journal.write(folder, record)


# -- measuring ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ended:
    """A process that ended well: wall time in seconds, peak resident memory / 1e6 bytes, and what it printed."""

    seconds: float
    peak_mb: float
    output: str


def command(*arguments: str) -> Ended:
    """Run a Python module as a process of its own."""
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", *arguments], cwd=ROOT, stdout=output, text=True)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}.")
        output.seek(0)
        return Ended(seconds, usage.ru_maxrss * 1024 / 1e6, output.read())


def time_queries(db: str, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each query in each round, the opening of the database and the fetching of all rows included."""
    store = Store(db)
    asked: dict[str, Callable[[], object]] = {name: functools.partial(store.rows, sql) for name, sql in QUERIES.items()}
    asked["all of results, as Arrow (the app's way)"] = functools.partial(read_all, store)
    return {name: milliseconds(ask, rounds) for name, ask in asked.items()}


def read_all(store: Store) -> None:
    with store.reader("results") as batches:
        batches.read_all()


def milliseconds(ask: Callable[[], object], rounds: int) -> list[float]:
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        ask()
        found.append((time.perf_counter() - start) * 1e3)
    return found


class Report:
    """Prints a line for each figure and remembers whether every target was met."""

    def __init__(self) -> None:
        self.met = True

    def line(self, what: str, values: Sequence[float], unit: str, target: float, peak_mb: float | None = None) -> None:
        """A figure whose median has a target."""
        met = statistics.median(values) < target
        self.met &= met
        memory = f"  peak {peak_mb:.0f} MB" if peak_mb else ""
        print(
            f"{'PASS' if met else 'FAIL'}  {_figure(what, values, unit)}  (target {target:g} {unit}){memory}",
            flush=True,
        )

    def plain(self, what: str, milliseconds: Sequence[float]) -> None:
        """A figure without a target."""
        print(f"      {_figure(what, milliseconds, 'ms')}", flush=True)


def _figure(what: str, values: Sequence[float], unit: str) -> str:
    return f"{what:<46} median {statistics.median(values):7.2f} {unit}  max {max(values):7.2f} {unit}"


def show(folder: Path, trials: int, samples: int, rounds: int) -> bool:
    """Make the journals, run the commands and print the figures. Returns whether every target was met."""
    report = Report()
    mine = machines()[0]
    print(f"{mine['cpu']}, {mine['cores']} cores; load before: {os.getloadavg()[0]:.1f}", flush=True)
    varied, done, empty = (str(folder / f"{name}.duckdb") for name in ("varied", "done", "empty"))
    start = time.perf_counter()
    write_varied(folder / "varied.journal", trials, samples)
    planned = grid("newer", trials)
    write_done(folder / "done.journal", planned)
    (folder / "grid.yaml").write_text(planned.text)
    seconds = time.perf_counter() - start
    print(f"Wrote {trials:,} trials with {samples} samples, and as many that are done: {seconds:.0f} s", flush=True)

    for what in ("ingest into a new database", "ingest again: all known"):
        ended = command("bench_engine", "ingest", "--db", varied)
        print(ended.output.strip())
        report.line(what, [ended.seconds], "s", INGEST_S, ended.peak_mb)
    command("bench_engine", "ingest", "--db", done)

    ended = command("tests.shows.scale", "--queries", varied, "--rounds", str(rounds))
    for name, values in json.loads(ended.output).items():
        report.line(f"query: {name}", values, "ms", QUERY_MS, ended.peak_mb)
    dicts = functools.partial(Store(varied).rows, "SELECT * FROM results")
    report.plain("all of results, as Python dicts", milliseconds(dicts, rounds))
    with Sandbox(varied) as app:
        report.plain("the app: all views loaded, and a query", milliseconds(lambda: app.run(BY_METHOD), 1))
        report.plain("the app: a query after that", milliseconds(lambda: app.run(BY_METHOD), rounds))

    for name, db in (("nothing done", empty), ("all done", done), ("some done", varied)):
        runs = [command("bench_engine", "plan", str(folder / "grid.yaml"), "--db", db) for _ in range(rounds)]
        print(runs[0].output.splitlines()[-1])
        report.line(f"plan: {name}", [r.seconds for r in runs], "s", PLAN_S, max(r.peak_mb for r in runs))
    return report.met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10_000, help="recorded trials, and points of the grid")
    parser.add_argument("--samples", type=int, default=100, help="samples of each trial")
    parser.add_argument("--rounds", type=int, default=7, help="repetitions of each query and plan")
    parser.add_argument("--keep", metavar="FOLDER", help="write here and leave it (default: a folder that is removed)")
    parser.add_argument("--queries", metavar="DB", help=argparse.SUPPRESS)  # the process that only asks
    options = parser.parse_args()
    if options.queries:
        print(json.dumps(time_queries(options.queries, options.rounds)))
        return 0
    os.environ.pop("MIRROR_JOURNAL", None)  # each database has its journal beside it
    with tempfile.TemporaryDirectory() as temporary:
        met = show(Path(options.keep or temporary), options.trials, options.samples, options.rounds)
    print("Every target is met." if met else "A target is missed.")
    if not met and (load := os.getloadavg()[0]) > 1:
        print(f"The load is {load:.1f}: close other work and try again, or go before it with `chrt -f 10`.")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())

"""Shows what the locked process behind every question costs on a store of a million trials.

    python -m tests.shows.sandbox_memory                            # 1,000,000 trials with 20 samples, some minutes
    python -m tests.shows.sandbox_memory --trials 100000 --samples 100
    python -m tests.shows.sandbox_memory --keep million.duckdb      # leave the store, and use it again the next time

The store is made of the records of tests.shows.scale: ten thousand of them are recorded by the store itself, the rest
are copies with seeds, times and identities of their own. Prints the time to load, the resident memory of the process
(now, and its peak), its memory cap, and the time of the first question and of those after it. The exit status is 0
when every target is met:

    load < 60 s      peak of the process < 2,000 MB      a first question < 2 s
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from bench_engine.machine import machine as this_machine
from bench_engine.sweep import sweep
from db.store import Store
from mirror.data.process.sandbox import Limits, Sandbox
from tests.shows import scale

LOAD_S, PEAK_MB, QUESTION_S = 60.0, 2000.0, 2.0
RECORDED = 10_000

# Of ten copies the last has measured the same as the one before it, which it supersedes.
_MULTIPLY = (
    """CREATE TEMP TABLE named AS SELECT t.trial_id AS old_id, c.copy, c.copy - (c.copy % 10 = 9)::BIGINT AS place,
        md5(t.identity || '/' || c.copy)[:12] AS new_identity,
        new_identity || substr(t.trial_id, length(t.identity) + 1) AS new_id
        FROM trials AS t CROSS JOIN range(1, $copies) AS c(copy)""",
    """INSERT INTO trials SELECT t.* REPLACE (
        n.new_id AS trial_id, n.new_identity AS identity,
        md5(t.configuration || '/' || n.place)[:12] AS configuration, md5(t.group_id || '/' || n.copy)[:12] AS group_id,
        t.seed + 1000 * n.place AS seed, t.started_at + to_hours(n.copy) AS started_at,
        t.latency_us * (0.9 + 0.2 * random()) AS latency_us, t.auc + 0.001 * random() AS auc)
        FROM trials AS t JOIN named AS n ON t.trial_id = n.old_id""",
    """INSERT INTO samples SELECT s.* REPLACE (n.new_id AS trial_id, s.time_us * (0.9 + 0.2 * random()) AS time_us)
        FROM samples AS s JOIN named AS n ON s.trial_id = n.old_id""",
    """INSERT INTO curve_points SELECT c.* REPLACE (n.new_id AS trial_id, c.value + 0.001 * random() AS value)
        FROM curve_points AS c JOIN named AS n ON c.trial_id = n.old_id""",
    "CHECKPOINT",
)

QUESTIONS = {
    "count": "SELECT count(*) AS n FROM results",
    "speedup by method and machine": scale.BY_METHOD,
    "ten best": scale.QUERIES["ten best"],
    "history over time": "SELECT started_at, method, latency_us FROM history WHERE embedding_dim = 16 "
    "ORDER BY started_at",
    "one curve": "SELECT step, avg(value) AS loss FROM curves WHERE method = 'hashed' GROUP BY step ORDER BY step",
    "samples of one trial": "SELECT sample, time_us FROM samples WHERE trial_id = (SELECT min(trial_id) FROM results)",
}


def write_store(path: Path, trials: int, samples: int) -> None:
    """A DuckDB file of `trials` trials with `samples` timings each."""
    recorded = min(trials, RECORDED)
    writer = scale.Writer(samples)
    machines = scale.machines()
    store = Store(str(path))
    store.ensure()
    for number, machine in enumerate(machines):
        share = recorded * (number + 1) // len(machines) - recorded * number // len(machines)
        planned = sweep.expand(scale.grid("many", share))[:share]
        store.add(list(writer.records(planned, machine, "many", turns=number > 0)))
    store.checkpoint()
    if copies := trials // recorded - 1:
        with duckdb.connect(str(path)) as connection:
            connection.execute("SELECT setseed(0.5)")
            for statement in _MULTIPLY:
                connection.execute(statement, {"copies": copies + 1} if "$copies" in statement else None)


# -- measuring ---------------------------------------------------------------------------------------------------------


def memory_mb(pid: int) -> dict[str, float]:
    """VmRSS (resident now), VmHWM (its peak) and VmSize (addresses) of a process / 1e6 bytes (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    return {name: int(fields[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "VmHWM", "VmSize")}


def cap_mb(pid: int) -> float:
    """The operating system's cap on the addresses of a process / 1e6 bytes."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return int(next(line.split()[3] for line in lines if line.startswith("Max address space"))) / 1e6


def timed(box: Sandbox, sql: str) -> tuple[float, int]:
    """(seconds, process) of a query; the process, since it is another one once the query needs more views."""
    start = time.perf_counter()
    box.run(sql, time_limit_s=60)
    assert box._child
    return time.perf_counter() - start, box._child._process.pid


def show(path: Path) -> bool:
    """Load the store, ask it, and print the figures. Returns whether every target was met."""
    mine = this_machine.machine()
    print(f"{mine['cpu']}, {mine['cores']} cores; load before: {os.getloadavg()[0]:.1f}")
    print(f"The store is a file of {path.stat().st_size / 1e6:,.0f} MB.", flush=True)
    with Sandbox(str(path), Limits(load_s=600)) as box:
        start = time.perf_counter()
        profile = box.schema()
        load_s = time.perf_counter() - start
        first_s, pid = timed(box, QUESTIONS["speedup by method and machine"])
        memory = memory_mb(pid)
        rows = ", ".join(f"{view} {n:,}" for view, n in profile.row_counts.items())
        print(f"Rows: {rows}.")
        targets = (
            ("load", load_s, "s", LOAD_S),
            ("peak of the process, load included", memory["VmHWM"], "MB", PEAK_MB),
            ("first question", first_s, "s", QUESTION_S),
        )
        met = True
        for what, value, unit, target in targets:
            met &= value < target
            verdict = "PASS" if value < target else "FAIL"
            print(f"{verdict}  {what:<36} {value:10,.2f} {unit}  (target < {target:,g} {unit})", flush=True)
        print(f"      resident after the first question    {memory['VmRSS']:10,.0f} MB")
        print(f"      cap on its addresses                 {cap_mb(pid):10,.0f} MB  (in use: {memory['VmSize']:,.0f})")
        for what, sql in QUESTIONS.items():
            seconds, now = timed(box, sql)
            again = f", in a new process of {memory_mb(now)['VmHWM']:,.0f} MB at its peak" if now != pid else ""
            pid = now
            print(f"      {what:<36} {seconds * 1e3:10,.0f} ms{again}", flush=True)
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1_000_000, help="recorded trials")
    parser.add_argument("--samples", type=int, default=20, help="samples of each trial")
    parser.add_argument("--keep", metavar="FILE", help="the store: used where it exists, else made and left there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(options.keep or f"{folder}/many.duckdb").resolve()
        if not path.exists():
            start = time.perf_counter()
            write_store(path, options.trials, options.samples)
            print(f"Wrote {options.trials:,} trials in {time.perf_counter() - start:.0f} s.", flush=True)
        met = show(path)
    print("Every target is met." if met else "A target is missed.")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())

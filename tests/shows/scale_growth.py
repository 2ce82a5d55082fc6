"""Shows how the engine's commands grow with the results: 10,000, 100,000 and 300,000 trials.

    python -m tests.shows.scale_growth                   # some minutes
    python -m tests.shows.scale_growth --trials 10000 100000 --keep /tmp/grown

Of each size it makes a journal and its results from code (seeded; one sweep of 10,000 trials on this machine, all done,
and others), and runs the real commands as processes of their own: `plan` of that sweep, `ingest` where all is known,
`compare` with a filter, `run` of another sweep until its first trial begins. The exit status is 0 when each takes less
than 5 s of the processor (the wall's are no more on a quiet machine) and 500 MB, and when no cost grows faster than the
trials.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import psutil

from bench_engine.machine import machine as this_machine
from bench_engine.sweep import sweep
from db import journal
from db.installation import ROOT
from db.store import Store
from tests.shows import scale

SECONDS, MB, GROWTH = 5.0, 500.0, 1.2  # the last of what is to grow at most as the trials do
SAMPLES, OF_SWEEP = 20, 10_000
OTHER = """
name: other
benchmark: lookup
methods: [dense]
parameters:
  num_rows: {values: [777]}
  embedding_dim: {values: [8]}
"""


def make(folder: Path, trials: int) -> None:
    """A journal and results of so many trials; nothing where they are there already.

    The first OF_SWEEP are those of a sweep, as a run would have left them; the others are theirs again at other numbers
    of rows, which no sweep here plans. Nothing that is measured reads the journal's entries: theirs are empty.
    """
    if (folder / "made").exists():
        return
    this_machine.state = cache(this_machine.state)  # type: ignore[assignment]
    planned = scale.grid("grown", OF_SWEEP)
    (folder / "grid.yaml").write_text(planned.text)
    (folder / "other.yaml").write_text(OTHER)
    place, store = folder / "x.journal", Store(str(folder / "x.duckdb"))
    place.mkdir(exist_ok=True)
    writer = scale.Writer(SAMPLES)
    for record in writer.records(sweep.expand(planned), scale.machines()[0], "grown", failed=0.0):
        (place / f"{record.trial_id}.{record.status}.json").write_text(record.to_json() + "\n")
    journal.ingest(store, [place])
    with duckdb.connect(str(store.path)) as file:
        for number in range(1, -(-trials // OF_SWEEP)):
            _again(file, number)
        for (trial_id,) in file.execute("SELECT trial_id FROM trials WHERE seed >= 1000").fetchall():
            (place / f"{trial_id}.ok.json").touch()
    (folder / "made").touch()


def _again(file: duckdb.DuckDBPyConnection, number: int) -> None:
    """The trials of the sweep again, as those of others."""
    new = {name: f"substr(md5({name} || '{number}'), 1, 12)" for name in ("identity", "configuration", "comparison")}
    new["trial_id"] = f"{new['identity']} || '-1'"
    new["seed"], new["num_rows"] = f"seed + {1000 * number}", f"num_rows + {number}"
    new["started_at"] = f"started_at + INTERVAL {number} DAY"
    replaced = ", ".join(f"{text} AS {name}" for name, text in new.items())
    file.execute("CREATE OR REPLACE TEMP TABLE base AS SELECT * FROM trials WHERE seed < 1000")
    file.execute(f"INSERT INTO trials SELECT * REPLACE ({replaced}) FROM base")
    own = f"substr(md5(b.identity || '{number}'), 1, 12) || '-1'"
    file.execute(
        f"INSERT INTO samples SELECT {own}, s.sample, s.time_us, s.turn FROM samples AS s "
        "JOIN base AS b ON s.trial_id = b.trial_id"
    )


@dataclass(frozen=True)
class Cost:
    """What a command took: seconds of the wall and of the processor, and its peak memory in MB."""

    wall: float
    cpu: float
    peak_mb: float


def cost(arguments: Sequence[str], state: Path | None = None) -> Cost:
    """Run a command of the engine to its end, or until the state of a run says that a trial is running."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "bench_engine", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    of_process = psutil.Process(process.pid)
    cpu, peak = 0.0, 0.0
    while process.poll() is None:
        with contextlib.suppress(psutil.Error, OSError, StopIteration):
            times = of_process.cpu_times()
            cpu = times.user + times.system
            status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            peak = next(float(line.split()[1]) * 1024 / 1e6 for line in status if line.startswith("VmHWM:"))
        if state and state.exists() and json.loads(state.read_text())["current"]:
            break
        time.sleep(0.02)
    wall = time.perf_counter() - start
    if state:
        process.terminate()
    _, said = process.communicate()
    if process.returncode and not state:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}: {said.decode()[-500:]}")
    return Cost(wall, cpu, peak)


def measure(folder: Path) -> dict[str, Cost]:
    """Command -> what it took."""
    db = ["--db", str(folder / "x.duckdb")]
    compared = ["compare", "method:dense", "method:hashed", "--where", "num_rows=10000", "--where", "batch_size=64"]
    run_id = f"grown-{time.time_ns()}"
    run = ["run", str(folder / "other.yaml"), "--force", "--run-id", run_id, *db]
    return {
        "plan": cost(["plan", str(folder / "grid.yaml"), *db]),
        "ingest of known files": cost(["ingest", *db]),
        "compare with a filter": cost([*compared, "--where", "embedding_dim=16", *db]),
        "run until the first trial": cost(run, folder / "x.journal" / "runs" / f"{run_id}.json"),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--trials", type=int, nargs="+", default=[10_000, 100_000, 300_000], help="sizes, the least first"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write here and leave it (default: removed)")
    options = parser.parse_args()
    os.environ.pop("MIRROR_JOURNAL", None)
    folder = options.keep or Path(tempfile.mkdtemp())
    good = True
    before: dict[str, tuple[Cost, int]] = {}
    try:
        for trials in options.trials:
            own = folder / str(trials)
            own.mkdir(parents=True, exist_ok=True)
            print(f"{trials:,} trials", flush=True)
            make(own, trials)
            for name, now in measure(own).items():
                grown = ""
                if name in before:
                    less, at = before[name]
                    good &= now.cpu <= GROWTH * less.cpu * trials / at
                    grown = f", {now.cpu / less.cpu:.1f} times the processor's for {trials / at:.0f} times the trials"
                met = now.cpu < SECONDS and now.peak_mb < MB
                good &= met
                told = f"{now.wall:6.2f} s, {now.cpu:6.2f} of the processor, {now.peak_mb:4.0f} MB"
                print(f"{'PASS' if met else 'FAIL'}  {name:<28}{told}{grown}", flush=True)
                before[name] = now, trials
    finally:
        if not options.keep:
            shutil.rmtree(folder)
    print("Every target is met." if good else "A target is missed.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

"""kill -9 at random moments: of the runner, and of workers, of a sweep that is started again until it is done.

    python -m tests.shows.kills [--times 50] [--seed 1]

Shows that no trial is lost and none is there twice, and that journal and results agree. Nodes of a Ray cluster are
killed by tests.shows.ray_kills.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

from db.settings import ROOT
from db.store import Store

TRIALS = 2 * 120  # of two methods that take turns
SWEEP = f"""
benchmark: fake
methods: [fake, fake_dense]
baseline: fake_dense
parameters:
  pooling_mode: {{values: [log]}}
seeds: {TRIALS // 2}
"""


class Show:
    """A sweep in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sweep = folder / "fakes.yaml"
        self.sweep.write_text(SWEEP)
        self.url = str(folder / "x.duckdb")
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(ROOT / "tests" / "fake_engine"), str(ROOT))),
            "MIRROR_DB": self.url,
            "MIRROR_LOCK": str(folder / "lock"),
            "MIRROR_JOURNAL": str(folder / "x.journal"),
        }

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "bench_engine", "run", str(self.sweep), "--retry-failed", *more]
        log = (self.folder / "log").open("ab")
        return subprocess.Popen(command, env=self.environment, cwd=ROOT, stdout=log, stderr=log)

    def entries(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "x.journal").glob("*.json"))

    def check(self, killed_workers: int) -> list[str]:
        """What is wrong, in sentences."""
        entries = self.entries()
        ok = Counter(name.partition("-")[0] for name in entries if name.endswith(".ok.json"))
        failed = [name for name in entries if not name.endswith(".ok.json")]
        stored = Store(self.url).rows("SELECT trial_id, status FROM trials")
        results = Store(self.url).rows("SELECT trial_id FROM results")
        wrong = []
        if len(ok) != TRIALS:
            wrong.append(f"{TRIALS - len(ok)} trials are lost.")
        if doubles := [identity for identity, count in ok.items() if count > 1]:
            wrong.append(f"{len(doubles)} trials are there twice.")
        if sorted(f"{row['trial_id']}.{row['status']}.json" for row in stored) != entries:
            wrong.append("Journal and database differ.")
        if len(results) != TRIALS:
            wrong.append(f"The view results has {len(results)} trials.")
        if len(failed) > killed_workers:
            wrong.append(f"{len(failed)} trials failed, but only {killed_workers} workers were killed.")
        return wrong


def workers_of(runner: int) -> list[psutil.Process]:
    found = []
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(runner).children():
            with contextlib.suppress(psutil.Error):
                if "bench_engine.worker" in process.cmdline():
                    found.append(process)
    return found


def wait_for_workers(runner: subprocess.Popen[bytes]) -> None:
    while runner.poll() is None and not workers_of(runner.pid):
        time.sleep(0.01)


def kill_at_random(show: Show, times: int, chance: random.Random) -> Counter[str]:
    """Kill so many times, now the runner and now a worker. Returns how often each."""
    kills: Counter[str] = Counter()
    runner = show.start()
    while sum(kills.values()) < times:
        if chance.random() < 0.8:  # else it may still be starting
            wait_for_workers(runner)
        time.sleep(chance.uniform(0.0, 0.8))
        if runner.poll() is not None:  # all is done: run everything again, so that there is something to kill
            runner = show.start("--force") if runner.returncode == 0 else show.start()
            continue
        workers = workers_of(runner.pid)
        if chance.random() < 0.5 and workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                chance.choice(workers).kill()
                kills["worker"] += 1
        else:
            runner.send_signal(signal.SIGKILL)
            runner.wait()
            kills["runner while a group ran" if workers else "runner between groups"] += 1
            runner = show.start()
        print(f"\r{sum(kills.values())} of {times} kills, {len(show.entries())} entries", end="", flush=True)
    print()
    runner.wait()
    return kills


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=50, help="number of kills (default: 50)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default: 1)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show = Show(Path(folder))
        kills = kill_at_random(show, options.times, random.Random(options.seed))
        while (last := show.start()).wait() != 0 or any(
            row["n"] for row in Store(show.url).rows("SELECT count(*) AS n FROM failures")
        ):
            if last.returncode not in (0, 1):
                print((show.folder / "log").read_text()[-2000:])
                return 1
        print(", ".join(f"{count} times the {what}" for what, count in kills.items()))
        wrong = show.check(kills["worker"])
        print("\n".join(wrong) or f"All {TRIALS} trials are there once; journal and results agree.")
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

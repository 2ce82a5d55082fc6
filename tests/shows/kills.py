"""kill -9 at random moments: of the runner and of workers of a sweep that is started again until it is done; with --ray
of nodes of a cluster too.

    python -m tests.shows.kills [--times 30] [--seed 1]         # two minutes
    python -m tests.shows.kills --ray [--times 20] [--seed 1]   # ten minutes

Shows that no trial is lost and none is there twice on one machine, and that journal and results agree. A runner that is
started while a node is away does not count what only that node has measured, so a trial may have a result of each node.
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

from db.installation import ROOT
from db.store import Store
from tests.bench_engine.run.executors.ray_machines import Machines, missing

TRIALS = 2 * 120  # of two methods that take turns
PYTHONPATH = os.pathsep.join((str(ROOT / "tests" / "fake_engine"), str(ROOT)))
SWEEP = f"""
benchmark: fake
methods: [fake, fake_dense]
baseline: fake_dense
parameters:
  pooling_mode: {{values: [log]}}
seeds: {TRIALS // 2}
"""


class Show:
    """A sweep in a folder of its own, on this machine or on a cluster of two."""

    def __init__(self, folder: Path, machines: Machines | None = None) -> None:
        self.folder = folder
        self.machines = machines
        self.sweep = folder / "fakes.yaml"
        self.sweep.write_text(SWEEP)
        self.url = str(folder / "x.duckdb")
        self.environment = {
            **os.environ,
            "PYTHONPATH": PYTHONPATH,
            "MIRROR_DB": self.url,
            "MIRROR_LOCK": str(folder / "lock"),
            "MIRROR_JOURNAL": str(folder / "x.journal"),
        }

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "bench_engine", "run", str(self.sweep), "--retry-failed", *more]
        if self.machines:
            command += ["--executor", "ray", "--ray-address", self.machines.address]
        log = (self.folder / "log").open("ab")
        return subprocess.Popen(command, env=self.environment, cwd=ROOT, stdout=log, stderr=log)

    def entries(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "x.journal").glob("*.json"))

    def check(self, killed_workers: int) -> list[str]:
        """What is wrong, in sentences."""
        entries = self.entries()
        ok = Counter(name.partition("-")[0] for name in entries if name.endswith(".ok.json"))
        sql = "SELECT DISTINCT configuration FROM trials WHERE status = 'ok'"
        configurations = len(Store(self.url).rows(sql))
        failed = [name for name in entries if not name.endswith(".ok.json")]
        stored = Store(self.url).rows("SELECT trial_id, status FROM trials")
        results = Store(self.url).rows("SELECT trial_id FROM results")
        wrong = []
        if configurations != TRIALS:
            wrong.append(f"There are {configurations} trials with a result, not {TRIALS}.")
        if len(ok) != TRIALS and not self.machines:  # a runner that starts while a node is away has its trials measured
            wrong.append(f"{len(ok) - TRIALS} trials are there for a second machine.")
        if doubles := [identity for identity, count in ok.items() if count > 1]:
            wrong.append(f"{len(doubles)} trials are there twice.")
        if sorted(f"{row['trial_id']}.{row['status']}.json" for row in stored) != entries:
            wrong.append("Journal and database differ.")
        if len(results) != len(ok):
            wrong.append(f"The view results has {len(results)} trials.")
        if len(failed) > killed_workers:
            wrong.append(f"{len(failed)} trials failed, but only {killed_workers} workers were killed.")
        return wrong

    def workers(self, runner: subprocess.Popen[bytes]) -> list[psutil.Process]:
        if self.machines:
            return self.machines.workers()
        found = []
        with contextlib.suppress(psutil.Error):
            for process in psutil.Process(runner.pid).children():
                with contextlib.suppress(psutil.Error):
                    if "bench_engine.run.worker" in process.cmdline():
                        found.append(process)
        return found

    def wait_for_workers(self, runner: subprocess.Popen[bytes]) -> None:
        while runner.poll() is None and not self.workers(runner):
            time.sleep(0.01)


def kill_at_random(show: Show, times: int, chance: random.Random) -> Counter[str]:
    """Kill so many times, now the runner, now a worker, now a node. Returns how often each."""
    kills: Counter[str] = Counter()
    runner = show.start()
    while sum(kills.values()) < times:
        if chance.random() < 0.8:  # else it may still be starting
            show.wait_for_workers(runner)
        time.sleep(chance.uniform(0.0, 0.8))
        if runner.poll() is not None:
            if runner.returncode == 0:  # all is done: there is nothing to kill any more
                break
            runner = show.start()
            continue
        workers = show.workers(runner)
        what = chance.choice(["runner", "worker", "node"] if show.machines else ["runner", "worker"])
        if what == "worker" and workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                chance.choice(workers).kill()
                kills["worker"] += 1
        elif what == "node" and show.machines:
            show.machines.kill("other")
            kills["node"] += 1
            show.machines.start("other")
        else:
            runner.send_signal(signal.SIGKILL)
            runner.wait()
            kills["runner while a group ran" if workers else "runner between groups"] += 1
            runner = show.start()
        print(f"{sum(kills.values())} of {times} kills, {len(show.entries())} entries", flush=True)
    runner.wait()
    return kills


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=30, help="number of kills (default: 30)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default: 1)")
    parser.add_argument("--ray", action="store_true", help="on a cluster of two nodes, and kill one (default: not)")
    options = parser.parse_args()
    if options.ray and (why := missing()):
        print(f"A cluster of several machines on one {why}.")
        return 1
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        machines = stack.enter_context(Machines({"PYTHONPATH": PYTHONPATH})) if options.ray else None
        if machines:
            machines.start("head", head=True)
            machines.start("other")
        show = Show(Path(folder), machines)
        kills = kill_at_random(show, options.times, random.Random(options.seed))
        while show.start().wait() != 0:
            print("once more", flush=True)
        print(", ".join(f"{count} times the {what}" for what, count in kills.items()))
        wrong = show.check(kills["worker"])
        print("\n".join(wrong) or f"All {TRIALS} trials are there, none twice on a machine; journal and results agree.")
        return 1 if wrong or sum(kills.values()) < options.times else 0


if __name__ == "__main__":
    sys.exit(main())

"""Shows a sweep on two machines, one of which loses its power in the middle: nothing is lost, nothing is run twice.

    python -m tests.shows.ray_two_nodes          # about a minute

The machines are namespaces of this one, with host names and processes of their own, in a real Ray cluster; the sweep is
run by the real command line. The exit status is 0 when every trial has one result, in the journal as in the database.
Both share the cores of this machine: read what happens, not the times.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from db import journal, runs
from db.settings import db_url, journal_dir
from db.store import Store
from tests.bench_engine.run.executors.ray_machines import Machines, missing


def main() -> int:
    if why := missing():
        print(f"A cluster of several machines on one {why}.")
        return 1
    with tempfile.TemporaryDirectory() as folder, Machines() as machines:
        url = db_url(f"{folder}/x.duckdb")
        machines.start("head", head=True)
        machines.start("other")
        shown = ["run", "quick", "--executor", "ray", "--ray-address", machines.address]
        print("$ python -m bench_engine", *shown, flush=True)
        run = subprocess.Popen(
            [sys.executable, "-m", "bench_engine", *shown, "--run-id", "show"],
            stderr=subprocess.STDOUT,
            env={**os.environ, "MIRROR_DB": url},
        )
        lost = _lose_one(machines, journal_dir(url), run)
        status = run.wait()
        print(f"exit status {status}\n")
        return _check(url, lost) or status


def _lose_one(machines: Machines, folder: Path, run: subprocess.Popen[bytes]) -> int:
    """Kill a node that has results and is at work again. Returns how many trials were done; -1 if none was killed."""
    while run.poll() is None:
        state = runs.read(folder, "show")
        has_some = any(json.loads(path.read_text())["machine"]["name"] == "other" for path in folder.glob("*.json"))
        if has_some and state and state.current.startswith("2 groups"):
            machines.kill("other")
            print(f"--- every process of the machine `other` killed after {state.done} trials ---", flush=True)
            return state.done
        time.sleep(0.05)
    return -1


def _check(url: str, lost: int) -> int:
    store = Store(url)
    trials = store.rows("SELECT t.trial_id, t.status, m.name FROM trials t JOIN machines m USING (machine_id)")
    for name, count in Counter(t["name"] for t in trials).items():
        print(f"{count} trials on {name}")
    kept = sum(len(tries) for tries in journal.attempts([journal_dir(url)]).values())
    state = runs.read(journal_dir(url), "show")
    checks = {
        "a machine was lost in the middle": lost > 0,
        "both machines have measured": len({t["name"] for t in trials}) == 2,
        "every trial of the sweep has a result": bool(state) and state.done == state.total == len(trials),
        "none has two": all(t["trial_id"].endswith("-1") and t["status"] == "ok" for t in trials),
        "journal and database agree": kept == len(trials),
    }
    for what, true in checks.items():
        print(f"{'yes' if true else 'NO '}  {what}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

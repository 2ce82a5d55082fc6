"""kill -9 at any moment, the same command again: every trial exactly once, in the journal and in the results."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable

import psutil

from db import runs

TRIALS = 8


def workers_of(runner: int) -> list[psutil.Process]:
    """Live workers that a runner has started, also when it is gone."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            command = process.cmdline()
            ours = "bench_engine.run.worker" in command and command[-1] == str(runner)
            if ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def wait_for(condition: Callable[[], object], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_killed_five_times_every_trial_is_there_once(engine) -> None:
    """Now at any moment from the start, now in a trial or shortly after."""
    path = engine.file("ok", seeds=TRIALS)
    chance = random.Random(20261120)
    hits = 0
    for number in range(5):
        process = engine.start("run", path)
        if number % 2:
            time.sleep(chance.uniform(0.3, 1.5))
        else:
            wait_for(lambda pid=process.pid, poll=process.poll: workers_of(pid) or poll() is not None)
            time.sleep(chance.uniform(0.0, 0.05))
        hits += bool(workers_of(process.pid))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)
        if len(engine.entries()) == TRIALS:
            break
    assert hits, "no kill hit a running trial: this tests nothing"
    done = engine.command("run", path)
    assert done.returncode == 0, done.stderr
    assert f"{TRIALS} trials have results" in done.stdout
    names = engine.entries()
    assert len(names) == TRIALS
    assert all(name.endswith("-1.ok.json") for name in names)
    stored = engine.stored()
    assert sorted(row["seed"] for row in stored) == list(range(TRIALS))
    assert sorted(f"{row['trial_id']}.ok.json" for row in stored) == names
    statuses = [state.status for state in runs.read_all(engine.journal)]
    assert statuses[0] == "done"
    assert set(statuses[1:]) <= {"died", "done"}


def test_a_run_that_was_killed_is_seen_as_dead_and_its_worker_is_gone(engine) -> None:
    process = engine.start("run", engine.file("sleep"))
    wait_for(lambda: workers_of(process.pid))
    assert [s.status for s in runs.read_all(engine.journal)] == ["running"]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    wait_for(lambda: not workers_of(process.pid))  # by itself it would sleep for longer than this waits
    (state,) = runs.read_all(engine.journal)
    assert state.status == "died"
    assert "goes on from here" in state.message
    assert engine.entries() == []

"""kill -9 at any moment, the same command again: every trial exactly once, in the journal and in the results."""

import os
import random
import signal
import time

from db import runs

TRIALS = 8


def test_killed_five_times_every_trial_is_there_once(engine) -> None:
    path = engine.file("ok", seeds=TRIALS)
    chance = random.Random(20261120)
    kills = 0
    while kills < 5:
        process = engine.start("run", path)
        deadline = time.monotonic() + 0.6 + chance.uniform(0.0, 0.9)
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)
        kills += 1
        if len(engine.entries()) == TRIALS:
            break
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
    deadline = time.monotonic() + 30
    while not any(s.current for s in runs.read_all(engine.journal)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert [s.status for s in runs.read_all(engine.journal)] == ["running"]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    (state,) = runs.read_all(engine.journal)
    assert state.status == "died"
    assert "goes on from here" in state.message
    assert engine.entries() == []

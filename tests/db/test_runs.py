"""The state of runs: written whole, newest first, and a process that is gone is seen as gone."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from db import runs
from db.runs import RunState, RunStateError, process_start, read, read_all, write

ME = RunState("a", "s", pid=os.getpid(), pid_start=process_start(os.getpid()) or 0.0, status="running")


def test_round_trip(folder: Path) -> None:
    state = dataclasses.replace(
        ME, overrides=("a=1", "b=2"), total=9, done=3, failed=1, skipped=2, seconds_left=4.5, message="x", log="a.log"
    )
    assert write(folder, state)
    assert read(folder, "a") == state
    assert [p.name for p in runs.runs_dir(folder).iterdir()] == ["a.json"]


def test_newest_first(folder: Path) -> None:
    for name, started in (("b", "2026-01-02"), ("c", "2026-01-03"), ("a", "2026-01-01")):
        write(folder, dataclasses.replace(ME, run_id=name, started_at=started))
    assert [s.run_id for s in read_all(folder)] == ["c", "b", "a"]


def test_no_runs(tmp_path: Path) -> None:
    assert read_all(tmp_path / "none") == []
    assert read(tmp_path / "none", "a") is None


@pytest.mark.parametrize(
    "changes",
    [
        {"pid": 2**22 + 1, "pid_start": 5.0},
        {"pid_start": 5.0},
        {"pid_start": 0.0},
        {"pid": 0},
        {"pid": -1},
        {"status": "waiting", "pid_start": 5.0},
    ],
)
def test_a_process_that_is_gone_or_another_now_has_died(folder: Path, changes: dict) -> None:
    write(folder, dataclasses.replace(ME, current="x", **changes))
    state = read(folder, "a")
    assert state
    assert (state.status, state.current) == ("died", "")
    assert "goes on from here" in state.message


def test_a_run_that_is_over_stays_what_it_was(folder: Path) -> None:
    for status in ("done", "cancelled", "failed"):
        write(folder, dataclasses.replace(ME, status=status, pid=0))
        state = read(folder, "a")
        assert state
        assert state.status == status


def test_a_dead_child_that_nobody_has_waited_for_is_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process_start(process.pid) is None
    process.wait()


def test_process_start_tells_processes_apart() -> None:
    assert process_start(os.getpid()) == process_start(os.getpid())
    assert process_start(os.getpid()) != process_start(1)


def test_new_leaves_what_is_there(folder: Path) -> None:
    assert write(folder, dataclasses.replace(ME, message="first"), new=True)
    assert not write(folder, dataclasses.replace(ME, message="second"), new=True)
    state = read(folder, "a")
    assert state
    assert state.message == "first"
    assert [p.name for p in runs.runs_dir(folder).iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{", '{"run_id": "a"}', '{"run_id": "a", "sweep": "s", "status": "flying"}',
        json.dumps({"run_id": "a", "sweep": "s", "status": "done", "total": "many"}),
        json.dumps({"run_id": "a", "sweep": 7, "status": "done"}),
        "[" * 100_000,
    ],
)  # fmt: skip
def test_a_state_that_cannot_be_read_is_shown_as_such(folder: Path, text: str) -> None:
    write(folder, dataclasses.replace(ME, run_id="good"))
    (runs.runs_dir(folder) / "a.json").write_text(text)
    states = {s.run_id: s for s in read_all(folder)}
    assert states["good"].status == "running"
    assert states["a"].status == "failed"
    assert states["a"].message == "Its state file a.json cannot be read."


def test_a_state_of_another_version_is_read_as_far_as_known(folder: Path) -> None:
    runs.runs_dir(folder).mkdir()
    (runs.runs_dir(folder) / "a.json").write_text('{"run_id": "a", "sweep": "s", "status": "done", "moon": 1}')
    assert read(folder, "a") == RunState("a", "s", status="done")


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", ".hidden", "a b", "x" * 101, "a\n", "ä"])
def test_ids_that_are_no_names(folder: Path, run_id: str) -> None:
    with pytest.raises(RunStateError, match="cannot be used"):
        write(folder, dataclasses.replace(ME, run_id=run_id))
    with pytest.raises(RunStateError):
        read(folder, run_id)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "x.journal").write_text("")
    with pytest.raises(RunStateError, match=r"x\.journal/runs/ cannot be written: Not a directory"):
        write(tmp_path / "x.journal", ME)


def test_run_ids_are_names_that_differ() -> None:
    names = {runs.new_run_id(sweep) for sweep in ("a sweep/../x", "é", "", "-" * 200) for _ in range(5)}
    assert len(names) == 20
    assert all(runs.path_of(Path("x"), name) for name in names)

"""The machine's lock: one holder, named to the next, and free when the holder ends, however it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench_engine import lock
from bench_engine.lock import MachineBusyError, machine_lock
from db.settings import ROOT


@pytest.fixture(autouse=True)
def own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "lock"
    monkeypatch.setenv("MIRROR_LOCK", str(path))
    return path


def test_held_then_free() -> None:
    held_by_us = f"Sweep first .process {os.getpid()}, since .* is running"
    with machine_lock("first"), pytest.raises(MachineBusyError, match=held_by_us):
        machine_lock("second").__enter__()
    with machine_lock("second"):
        pass


def test_rubbish_in_the_file_is_no_obstacle(own_lock: Path) -> None:
    own_lock.write_text("[]")
    with machine_lock("first"):
        pass
    own_lock.write_bytes(b"\xff" * 10)
    held = own_lock.open("rb")
    lock.fcntl.flock(held, lock.fcntl.LOCK_EX)
    with held, pytest.raises(MachineBusyError, match="Another run is going on"):
        machine_lock("second").__enter__()


def test_a_lock_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MIRROR_LOCK", str(tmp_path))
    with pytest.raises(MachineBusyError, match="MIRROR_LOCK"):
        machine_lock("first").__enter__()


def test_a_killed_holder_frees_it() -> None:
    code = (
        "import time; from bench_engine.lock import machine_lock\n"
        "with machine_lock('killed'): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(MachineBusyError, match=f"Sweep killed .process {holder.pid}"):
        machine_lock("next").__enter__()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    with machine_lock("next"):
        pass


def test_cancelled_while_waiting() -> None:
    told: list[str] = []
    with machine_lock("first"), machine_lock("second", True, told.append, lambda: bool(told)):
        assert len(told) == 1

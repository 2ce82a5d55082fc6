"""The machine's lock: one holder, named to the next, and free when the holder ends, however it ends."""

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench_engine.machine import lock
from bench_engine.machine.lock import MachineBusyError, machine_lock
from db.installation import ROOT


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
    with held, pytest.raises(MachineBusyError, match="Another run is under way"):
        machine_lock("second").__enter__()


def test_a_lock_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MIRROR_LOCK", str(tmp_path))
    with pytest.raises(MachineBusyError, match="MIRROR_LOCK"):
        machine_lock("first").__enter__()


def test_a_killed_holder_frees_it() -> None:
    code = (
        "import time; from bench_engine.machine.lock import machine_lock\n"
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


def test_a_holder_of_another_kind() -> None:
    with machine_lock("3f2a", kind="Group"), pytest.raises(MachineBusyError, match=r"^Group 3f2a \(process"):
        machine_lock("second").__enter__()


def test_two_who_start_at_once(own_lock: Path) -> None:
    code = (
        "import sys, time; from bench_engine.machine.lock import machine_lock, MachineBusyError\n"
        "sys.stdin.readline()\n"
        "try:\n"
        "    with machine_lock(sys.argv[1]): print('held', flush=True); sys.stdin.readline()\n"
        "except MachineBusyError as error: print(error, flush=True)"
    )
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        for name in ("left", "right")
    ]
    said = []
    for run in runs:
        assert run.stdin
        run.stdin.write("go\n")
        run.stdin.flush()
    for run in runs:
        assert run.stdout
        said.append(run.stdout.readline())
    for run in runs:
        run.communicate("\n")
    assert sorted(line == "held\n" for line in said) == [False, True]
    assert any("is running on this machine: wait" in line or "Another run is under way" in line for line in said)


def test_the_name_of_one_who_is_gone_is_not_told(own_lock: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with own_lock.open("w+b") as held:  # by someone who may not write into it
        held.write(json.dumps({"what": "Sweep old", "pid": ended.pid, "since": "long ago"}).encode())
        held.flush()
        lock.fcntl.flock(held, lock.fcntl.LOCK_EX)
        with pytest.raises(MachineBusyError, match=r"^Another run is under way"):
            machine_lock("second").__enter__()


def test_the_name_goes_with_the_lock(own_lock: Path) -> None:
    with machine_lock("first"):
        assert b"first" in own_lock.read_bytes()
    assert own_lock.read_bytes() == b""
    with contextlib.suppress(ZeroDivisionError), machine_lock("second"):
        _ = 1 / 0
    assert own_lock.read_bytes() == b""


def test_control_characters_of_another_user_do_not_reach_the_terminal(own_lock: Path) -> None:
    with machine_lock("a\x1b[2Jb"), pytest.raises(MachineBusyError, match=r"^Sweep a\[2Jb"):
        machine_lock("second").__enter__()


def test_every_user_may_open_the_file(own_lock: Path) -> None:
    before = os.umask(0o077)
    try:
        with machine_lock("first"):
            assert own_lock.stat().st_mode & 0o777 == 0o666
    finally:
        os.umask(before)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_file_that_may_only_be_read_is_locked_all_the_same(
    own_lock: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    own_lock.write_text("")
    real = os.open

    def read_only(path: Path, flags: int, *mode: int) -> int:
        if flags & os.O_RDWR:
            raise OSError(number, os.strerror(number))
        return real(path, flags, *mode)

    monkeypatch.setattr(lock.os, "open", read_only)
    with machine_lock("first"), pytest.raises(MachineBusyError, match="Another run is under way"):
        machine_lock("second").__enter__()
    assert own_lock.read_text() == ""


def test_a_link_is_not_followed(own_lock: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    own_lock.symlink_to(precious)
    with pytest.raises(MachineBusyError, match="MIRROR_LOCK"):
        machine_lock("first").__enter__()
    assert precious.read_text() == "mine"


def test_where_the_lock_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIRROR_LOCK")
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # as every job of a batch system has its own
    monkeypatch.setattr(lock.tempfile, "tempdir", None)
    monkeypatch.setattr(lock, "_SHARED", tmp_path / "shared")
    assert lock.lock_path() == tmp_path / "mirror-bench.lock"
    (tmp_path / "shared").mkdir()
    assert lock.lock_path() == tmp_path / "shared" / "mirror-bench.lock"


def test_no_folder_for_temporary_files_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.delenv("MIRROR_LOCK")
    monkeypatch.setattr(lock, "_SHARED", tmp_path / "none")
    monkeypatch.setattr(lock.tempfile, "gettempdir", none)
    with pytest.raises(MachineBusyError, match="name a lock file with MIRROR_LOCK"):
        machine_lock("first").__enter__()


def test_cancelled_while_waiting() -> None:
    told: list[str] = []
    with machine_lock("first"), machine_lock("second", True, told.append, lambda: bool(told)):
        assert len(told) == 1


def test_a_file_system_without_locks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    with pytest.raises(MachineBusyError, match=r"cannot be locked: No locks available\. .*MIRROR_LOCK"):
        machine_lock("first").__enter__()

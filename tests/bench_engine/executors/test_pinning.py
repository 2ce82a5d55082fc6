"""Pinning: the quietest cores, for every thread of a process."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bench_engine.executors import pinning


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2, 3})
    monkeypatch.setattr(psutil, "cpu_percent", lambda *_args, **_more: [90.0, 5.0, 50.0, 0.0])


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(("count", "cores"), [(1, {3}), (2, {1, 3}), (3, {1, 2, 3}), (4, None), (9, None)])
def test_the_quietest_cores(count: int, cores: set[int] | None) -> None:
    assert pinning.quietest_cores(count) == cores


def test_a_core_that_this_process_may_not_use_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 2})
    monkeypatch.setattr(psutil, "cpu_percent", lambda *_args, **_more: [90.0, 0.0, 50.0])
    assert pinning.quietest_cores(1) == {2}


def test_all_threads_of_a_process_are_kept_there() -> None:
    code = (
        "import threading, time\n"
        "for _ in range(3): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert process.stdout
        process.stdout.readline()
        core = max(os.sched_getaffinity(0))
        pinning.pin([process.pid], {core})
        threads = [int(name) for name in os.listdir(Path("/proc") / str(process.pid) / "task")]
        assert len(threads) == 4
        assert all(os.sched_getaffinity(thread) == {core} for thread in threads)
    finally:
        process.kill()
        process.communicate()
    pinning.pin([process.pid], {core})  # it has ended: nothing to do

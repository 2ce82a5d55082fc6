"""Pinning: the quietest cores, for every thread of a process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench_engine.run.executors import pinning


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Cores by number, with ticks of work while they are looked at, and siblings where there are some."""

    def make(busy: dict[int, int], siblings: dict[int, str] | None = None) -> None:
        looks = iter([dict.fromkeys(busy, 1000), {core: 1000 + ticks for core, ticks in busy.items()}])
        monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(busy))
        monkeypatch.setattr(pinning, "_busy_ticks", lambda: next(looks))
        monkeypatch.setattr(pinning, "_CPU", tmp_path)
        for core, text in (siblings or {}).items():
            folder = tmp_path / f"cpu{core}" / "topology"
            folder.mkdir(parents=True)
            (folder / "thread_siblings_list").write_text(text + "\n")

    return make


@pytest.mark.parametrize(("count", "cores"), [(1, {3}), (2, {1, 3}), (3, {1, 2, 3}), (4, None), (9, None)])
def test_the_quietest_cores(machine, count: int, cores: set[int] | None) -> None:
    machine({0: 90, 1: 5, 2: 50, 3: 0})
    assert pinning.quietest_cores(count) == cores


def test_cores_have_the_numbers_of_the_system_where_some_are_off(machine) -> None:
    machine({0: 90, 2: 80, 4: 0, 6: 70})
    assert pinning.quietest_cores(1) == {4}


def test_threads_are_put_on_different_physical_cores(machine) -> None:
    machine({0: 0, 1: 0, 2: 9, 3: 9}, {0: "0-1", 1: "0-1", 2: "2,3", 3: "2,3"})
    assert pinning.quietest_cores(2) == {0, 2}


def test_a_busy_sibling_counts(machine) -> None:
    machine({0: 0, 1: 90, 2: 5, 3: 5}, {0: "0,1", 1: "0,1", 2: "2,3", 3: "2,3"})
    assert pinning.quietest_cores(1) == {2}


def test_the_load_of_this_machine_can_be_read() -> None:
    ticks = pinning._busy_ticks()
    assert set(ticks) >= os.sched_getaffinity(0)
    assert all(count > 0 for count in ticks.values())


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

"""Short looks at the running machine."""

import subprocess
import sys
import time
from collections import namedtuple

import psutil
import pytest

from bench_engine.machine import probe

Times = namedtuple("Times", "user nice system idle iowait irq softirq steal")


def test_the_clock_has_a_resolution_and_a_cost() -> None:
    found = probe.clock()
    assert 0 < found.step_ns <= max(found.cost_ns, found.step_ns)
    assert found.cost_ns < 1_000_000


def test_a_clock_of_coarse_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(10**6))
    monkeypatch.setattr(probe.time, "perf_counter_ns", lambda: next(ticks) // 4 * 1000)
    assert probe.clock() == probe.Clock(step_ns=1000, cost_ns=0)


def test_steal_is_a_share_of_the_time_that_was_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = iter(
        [
            Times(60.0, 10.0, 20.0, 900.0, 50.0, 2.0, 3.0, 5.0),  # since boot: 5 of 100 s
            Times(60.0, 10.0, 20.0, 900.0, 50.0, 2.0, 3.0, 5.0),
            Times(62.0, 10.0, 21.0, 999.0, 99.0, 2.0, 3.0, 6.0),  # 1 of 4 s
            Times(62.0, 10.0, 21.0, 999.0, 99.0, 2.0, 3.0, 6.0),
            Times(62.0, 10.0, 21.0, 999.0, 99.0, 2.0, 3.0, 6.0),  # nothing ran
        ]
    )
    monkeypatch.setattr(probe.psutil, "cpu_times", lambda: next(reads))
    assert probe.steal_since_boot() == pytest.approx(0.05)
    assert probe.steal_now(0.0) == pytest.approx(0.25)
    assert probe.steal_now(0.0) is None


def test_no_steal_where_the_system_does_not_count_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe.psutil, "cpu_times", lambda: namedtuple("Mac", "user nice system idle")(1, 1, 1, 1))
    assert probe.steal_since_boot() is None
    assert probe.steal_now(0.0) is None


def test_the_busiest_of_others_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "print('up', flush=True)\nwhile True: pass"
    worker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    idle = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        assert worker.stdout
        assert worker.stdout.readline() == "up\n"
        both = [psutil.Process(worker.pid), psutil.Process(idle.pid), psutil.Process()]
        monkeypatch.setattr(probe.psutil, "process_iter", lambda: iter(both))
        found = probe.busiest()
    finally:
        for process in (worker, idle):
            process.kill()
            process.wait()
        assert worker.stdout
        worker.stdout.close()
    assert found
    assert found.pid == worker.pid
    assert found.name.startswith("python")
    assert found.cores > 0


def test_processes_that_end_while_looked_at_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    processes = [psutil.Process(ends.pid)]
    monkeypatch.setattr(probe.psutil, "process_iter", lambda: iter(processes))

    def end(_seconds: float) -> None:
        ends.kill()
        ends.wait()

    monkeypatch.setattr(time, "sleep", end)
    assert probe.busiest() is None
    assert ends.stdin
    ends.stdin.close()
    assert probe.busiest() is None


def test_the_real_processes_can_be_looked_at() -> None:
    found = probe.busiest(0.01)
    assert found is None or found.cores >= 0

"""The kernels that compile beside the app: going, done, or failed with a reason."""

import os
import sys
import time

import pytest

from mirror.runs import building
from mirror.runs.building import Building


def begin(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    told = building.start([sys.executable, "-c", code], os.environ)
    monkeypatch.setenv(building._VARIABLE, told[building._VARIABLE])


def ended() -> Building:
    until = time.monotonic() + 60
    while (now := building.state()).going and time.monotonic() < until:
        time.sleep(0.01)
    return now


def test_nothing_is_going_where_nothing_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(building._VARIABLE, raising=False)
    assert building.state() == Building()
    monkeypatch.setenv(building._VARIABLE, "nonsense")
    assert building.state() == Building()


def test_a_compiler_is_going_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    begin(monkeypatch, "pass")
    assert ended() == Building()
    begin(monkeypatch, "import time; time.sleep(60)")
    now = building.state()
    assert now.going
    assert now.seconds >= 0
    os.kill(int(os.environ[building._VARIABLE].partition(":")[0]), 9)
    assert not ended().going


def test_why_it_failed_is_its_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    begin(monkeypatch, "import sys; print('much'); sys.exit('There is no C++ compiler: install g++.')")
    assert ended() == Building(failed="There is no C++ compiler: install g++.")
    assert building.state().failed  # told more than once

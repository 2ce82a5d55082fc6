"""What memory gives is measured ahead of trials: once, and without harm where it fails."""

import sys

import pytest

from bench_engine.machine import bandwidth, machine
from bench_engine.machine.bandwidth import Bandwidth
from bench_engine.run.executors import bandwidth_ahead
from bench_engine.run.executors.bandwidth_ahead import BandwidthAhead

KEEPS = """
from bench_engine.machine.bandwidth import Bandwidth, keep
import os
keep(Bandwidth(int(os.environ["OMP_NUM_THREADS"]), 1.0, 1.0, 1.0, 1.0, 1.0, "", 0.0))
"""


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Commands that were started; what runs in the place of each is `started.instead`."""
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(tmp_path))
    popen = bandwidth_ahead.subprocess.Popen

    class Started(list):
        instead = KEEPS

    commands = Started()

    def start(command, **more):
        commands.append(command)
        return popen([sys.executable, "-c", commands.instead], **more)

    monkeypatch.setattr(bandwidth_ahead.subprocess, "Popen", start)
    return commands


def test_it_is_measured_once_and_kept(started):
    assert BandwidthAhead().known(1).threads == 1
    assert BandwidthAhead().known(1) == bandwidth.kept(1)
    assert [command[-2:] for command in started] == [["bench_engine.measure.streams", "1"]]


def test_what_was_found_on_a_busy_machine_is_measured_again_on_a_quiet_one(started, monkeypatch):
    bandwidth.keep(Bandwidth(1, 0.5, 0.5, 0.5, 0.5, 0.5, "", 9.0))
    monkeypatch.setattr(bandwidth.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(machine, "load_now", lambda: 2.5)
    assert BandwidthAhead().known(1).copy_gb_s == 0.5
    monkeypatch.setattr(machine, "load_now", lambda: 1.0)
    assert BandwidthAhead().known(1).copy_gb_s == 1.0
    assert len(started) == 1


def test_what_fails_is_not_tried_again(started):
    started.instead = "raise SystemExit(1)"
    ahead = BandwidthAhead()
    assert ahead.known(1) is None
    assert ahead.known(1) is None
    assert len(started) == 1


def test_what_takes_too_long_is_ended(started, monkeypatch):
    monkeypatch.setattr(bandwidth_ahead, "_LIMIT_S", 0.2)
    started.instead, told = "import time; time.sleep(60)", []
    assert BandwidthAhead().known(1, lambda: told.append(1)) is None
    assert told


def test_nothing_is_started_any_more_once_it_was_killed(started):
    ahead = BandwidthAhead()
    ahead.kill()
    assert ahead.known(1) is None
    assert started == []

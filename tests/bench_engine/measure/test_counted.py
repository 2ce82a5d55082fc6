"""Counts of calls that are not timed, against counters that the test turns."""

import os

import pytest

from bench_engine.machine import counters
from bench_engine.measure import counted
from bench_engine.measure.counted import LONGEST_NS, calls_for
from bench_engine.measure.measure import Sampler
from bench_engine.trial import Stop


class Played:
    """Counters that a call moves by 100, a flush by 7000 and a reading by 3."""

    def __init__(self):
        self.total = self.closed = 0

    def read(self):
        self.total += 3
        return {"instructions": float(self.total)}

    def close(self):
        self.closed += 1


@pytest.fixture
def played(monkeypatch):
    found = Played()
    monkeypatch.setattr(counted, "Counters", lambda: found)
    monkeypatch.setattr(counters, "energy_uj", dict)
    return found


def test_counts_are_per_call(played):
    calls = []

    def call(index):
        calls.append(index)
        played.total += 100

    assert counted.counted(call, 5, 30, None) == {"counts": {"instructions": 100.1}, "counted_calls": 30}
    assert calls == list(range(5, 35))
    assert played.closed == 1


def test_a_flush_and_the_readings_are_not_in_the_counts(played):
    def call(_index):
        played.total += 100

    def flush():
        played.total += 7000

    assert counted.counted(call, 0, 4, flush) == {"counts": {"instructions": 100.0}, "counted_calls": 4}


def test_a_flush_that_takes_long_ends_it_after_one_call(played, monkeypatch):
    monkeypatch.setattr(counted, "LONGEST_NS", 0)
    assert counted.counted(lambda index: None, 0, 4, lambda: None)["counted_calls"] == 1


def test_energy_is_per_call(played, monkeypatch):
    readings = iter([{"a": 1_000_000}, {"a": 3_000_000}])
    monkeypatch.setattr(counters, "energy_uj", lambda: next(readings))
    assert counted.counted(lambda index: None, 0, 4, None)["energy_j"] == 0.5


def test_where_nothing_is_counted_nothing_is_called(monkeypatch):
    def refused(kind, event, thread):
        raise OSError(2, os.strerror(2))

    monkeypatch.setattr(counters, "perf_event_open", refused)
    monkeypatch.setattr(counters, "energy_uj", dict)
    assert counted.counted(lambda index: pytest.fail("called"), 0, 4, None) == {}


def test_as_many_calls_as_there_is_time_for_in_whole_rotations(monkeypatch):
    monkeypatch.setattr(counters, "energy_uj", dict)
    assert calls_for(1e6, 8) == 56
    assert calls_for(1e3, 8) == 1000
    assert calls_for(30e6, 8) == 8
    assert calls_for(200e6, 8) == 1  # a rotation would take too long
    assert calls_for(LONGEST_NS + 1, 1) == 0
    monkeypatch.setattr(counters, "energy_uj", lambda: {"a": 1})
    assert calls_for(1e6, 1) == 200


def test_a_sampler_counts_after_its_last_turn_and_its_result_keeps_it(played):
    told = []
    steps = Sampler(told.append, Stop(2, 0.001, 0.5)).turns()
    state = next(steps)
    while state == "more":
        assert played.closed == 0
        state = steps.send(True)
    with pytest.raises(StopIteration) as ended:
        steps.send(False)
    timing = ended.value.value
    assert played.closed == 1
    assert told == list(range(len(told)))
    assert timing.result({}, {"a": 1}).environment["counted_calls"] == 1000
    assert timing.calls_per_sample * len(timing.samples_us) + 1000 <= len(told)


def test_no_calls_follow_the_last_turn_where_they_must_not(played):
    sampler = Sampler(lambda index: None, Stop(2, 0.001, 0.5), counting=False)
    sampler.turn()
    sampler.count()
    assert played.closed == 0

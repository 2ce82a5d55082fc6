"""What is measured of a machine: all of it, once, and kept."""

from pathlib import Path

import pytest

from bench_engine.kernels.gir.backend import toolchain
from bench_engine.kernels.gir.cpu import calibration
from bench_engine.kernels.gir.cpu.calibration import CYCLES, caches, machine
from bench_engine.kernels.gir.program.ir import REDUCTIONS
from bench_engine.kernels.gir.program.rewrites import _EXPENSIVE

LEVELS = {"L1", "L2", "L3", "memory"}


@pytest.fixture
def one() -> calibration.Machine:
    machine.cache_clear()
    return machine(1)


def test_all_of_it_is_measured(one: calibration.Machine) -> None:
    assert set(one.one) == set(one.all) == LEVELS
    assert set(one.rows) == set(one.fetched) == LEVELS
    assert set(one.cycles) == set(CYCLES)
    assert 0 < one.plain < one.cycles["exp"]
    assert one.plain < one.chain
    for values in (one.one, one.all, one.rows, one.fetched, one.cycles):
        assert all(0 < value < 1e7 for value in values.values()), values


def test_what_lies_farther_takes_longer(one: calibration.Machine) -> None:
    assert one.one["L1"] > one.one["memory"]
    assert one.rows["L1"] < one.rows["L2"] < one.rows["memory"]
    assert one.cycles["exp"] < one.cycles["log1p"]


def test_each_computation_that_is_not_done_twice_for_nothing_has_its_cycles() -> None:
    assert set(CYCLES) - set(REDUCTIONS) == _EXPENSIVE


def test_it_is_measured_once(one: calibration.Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.cache_clear()
    monkeypatch.setattr(toolchain, "compile_unit", lambda *given: pytest.fail("measured again"))
    assert machine(1) == one


def test_caches_are_those_of_the_system_or_common_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert caches().l1 < caches().l2 <= caches().l3
    caches.cache_clear()
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter(()))
    try:
        assert caches() == calibration.Caches()
    finally:
        caches.cache_clear()


def test_noise_leaves_no_computation_without_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "_microseconds", lambda call, budget_s=0.0: 1.0)  # none takes longer than another
    found = calibration._computations()
    assert found["plain"] > 0
    assert all(cycles > 0 for cycles in found["cycles"].values())

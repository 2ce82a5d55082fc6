"""What is measured of a machine: all of it, once, and kept."""

from pathlib import Path

import pytest

from bench_engine.kernels.gir import cost, toolchain
from bench_engine.kernels.gir.cost import CYCLES, caches, machine
from bench_engine.kernels.gir.ir import REDUCTIONS
from bench_engine.kernels.gir.rewrites import _EXPENSIVE

LEVELS = {"L2", "L3", "memory"}


@pytest.fixture
def one() -> cost.Machine:
    machine.cache_clear()
    return machine(1)


def test_all_of_it_is_measured(one: cost.Machine) -> None:
    assert set(one.one) == set(one.all) == {"L1", *LEVELS}
    assert set(one.rows) == set(one.fetched) == LEVELS
    assert set(one.cycles) == set(CYCLES)
    for values in (one.one, one.all, one.rows, one.fetched, one.cycles):
        assert all(0 < value < 1e7 for value in values.values()), values


def test_what_lies_farther_takes_longer(one: cost.Machine) -> None:
    assert one.one["L1"] > one.one["memory"]
    assert one.rows["L2"] < one.rows["memory"]
    assert one.cycles["exp"] < one.cycles["log1p"]


def test_each_computation_that_is_not_done_twice_for_nothing_has_its_cycles() -> None:
    assert set(CYCLES) - set(REDUCTIONS) == _EXPENSIVE


def test_it_is_measured_once(one: cost.Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.cache_clear()
    monkeypatch.setattr(toolchain, "compile_unit", lambda *given: pytest.fail("measured again"))
    assert machine(1) == one


def test_caches_are_those_of_the_system_or_common_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert caches().l1 < caches().l2 <= caches().l3
    caches.cache_clear()
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter(()))
    try:
        assert caches() == cost.Caches()
    finally:
        caches.cache_clear()

"""Plans: what is to do, how long it takes, and what makes a trial the same trial."""

import dataclasses
from pathlib import Path

import pytest
from broken_log import break_log
from fake_executor import FakeExecutor

from bench_engine import registry
from bench_engine.plan.planning import plan
from bench_engine.run.runner import run
from bench_engine.sweep.sweep import SweepError
from db.store import Store


def test_a_new_sweep_is_all_to_do_at_the_benchmark_s_own_estimate(engine) -> None:
    made = plan(engine.sweep("ok", seeds=3))
    assert [p.fate for p in made.trials] == ["todo"] * 3
    assert made.seconds == pytest.approx(3 * 0.2)
    assert [p.attempt for p in made.trials] == [1, 1, 1]


def test_history_is_the_better_estimate(engine) -> None:
    run(engine.sweep("ok"), executor=FakeExecutor())
    Store(engine.url).rows("SELECT 1")
    with Store(engine.url)._connect(write=True) as connection:
        connection.exec_driver_sql("UPDATE trials SET duration_s = 42")
    made = plan(engine.sweep("ok", seeds=3))
    assert [p.fate for p in made.trials] == ["done", "todo", "todo"]
    assert made.seconds == 84.0


def test_a_changed_measurement_or_kernel_is_another_trial(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def identity() -> str:
        return plan(engine.sweep("ok")).trials[0].identity

    first = identity()
    assert identity() == first
    fake = registry.BENCHMARKS["fake"]
    monkeypatch.setitem(registry.BENCHMARKS, "fake", dataclasses.replace(fake, measurement=2))
    second = identity()
    monkeypatch.setitem(
        registry.METHODS, "fake", dataclasses.replace(registry.METHODS["fake"], sources=("db/__init__.py",))
    )
    assert len({first, second, identity()}) == 3


def test_a_kernel_source_that_is_gone_is_said(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = dataclasses.replace(registry.METHODS["fake"], sources=("csrc/none.cpp",))
    monkeypatch.setitem(registry.METHODS, "fake", gone)
    with pytest.raises(SweepError, match=r"source of the method fake cannot be read .*none\.cpp"):
        plan(engine.sweep("ok"))


def test_what_the_examples_hold_is_still_to_do(engine, examples: Path) -> None:
    run(engine.sweep("ok"), executor=FakeExecutor())
    (path,) = engine.journal.glob("*.json")
    path.rename(examples / path.name)
    (planned,) = plan(engine.sweep("ok")).trials
    assert (planned.fate, planned.attempt) == ("todo", 2)


def test_planning_that_finds_the_log_of_the_results_lost_brings_the_journal_in(engine) -> None:
    run(engine.sweep("ok"), executor=FakeExecutor())
    Path(engine.url).unlink()
    Store(engine.url).ensure()
    break_log(Path(engine.url))
    plan(engine.sweep("ok"))
    assert len(engine.stored()) == 1

"""A first look: its trials are short ones of their own, and it leaves thorough results where they are."""

from collections.abc import Sequence

import pytest

from bench_engine.plan.planning import Planned, plan
from bench_engine.trial import Stop

SHORT = Stop(min_samples=10, max_seconds=0.3, noise_target=0.05)


def finished(engine, planned: Sequence[Planned], status: str = "ok") -> None:
    """Have the journal say that these trials came to an end."""
    engine.journal.mkdir(exist_ok=True)
    for p in planned:
        (engine.journal / f"{p.identity}-{p.attempt}.{status}.json").write_text("{}")


def fates(engine, **options: bool) -> list[str]:
    return [p.fate for p in plan(engine.sweep("ok", seeds=2), **options).trials]


def test_a_first_look_at_new_trials_is_short_and_cheap(engine) -> None:
    usual, quick = plan(engine.sweep("ok", seeds=2)), plan(engine.sweep("ok", seeds=2), quick=True)
    assert [p.trial.stop for p in quick.trials] == [SHORT, SHORT]
    assert [p.fate for p in quick.trials] == ["todo", "todo"]
    assert not {p.identity for p in quick.trials} & {p.identity for p in usual.trials}
    assert usual.seconds / 4 <= quick.seconds < usual.seconds


def test_a_thorough_result_is_done_for_a_first_look_even_with_force(engine) -> None:
    thorough = plan(engine.sweep("ok", seeds=2)).trials
    finished(engine, thorough[:1])
    for options in ({}, {"force": True}, {"retry_failed": True}):
        made = plan(engine.sweep("ok", seeds=2), quick=True, **options)
        assert [p.fate for p in made.trials] == ["done", "todo"]
        assert made.trials[0].identity == thorough[0].identity
        assert made.trials[0].trial.stop == SHORT  # it may be asked to take turns as a baseline
    assert fates(engine, force=True) == ["todo", "todo"]


def test_a_result_with_the_default_stop_rule_is_thorough_for_a_sweep_with_its_own(engine) -> None:
    finished(engine, plan(engine.sweep("ok")).trials)
    own = "{min_samples: 30, max_seconds: 1.0, noise_target: 0.03}"
    assert plan(engine.sweep("ok", stop=own)).trials[0].fate == "todo"
    assert plan(engine.sweep("ok", stop=own), quick=True).trials[0].fate == "done"


def test_a_first_look_does_not_stand_for_a_thorough_result(engine) -> None:
    finished(engine, plan(engine.sweep("ok", seeds=2), quick=True).trials)
    assert fates(engine, quick=True) == ["done", "done"]
    assert fates(engine, quick=True, force=True) == ["todo", "todo"]
    assert fates(engine) == ["todo", "todo"]


@pytest.mark.parametrize("status", ["failed", "timeout", "oom"])
def test_what_failed_thoroughly_is_looked_at_once_more(engine, status: str) -> None:
    finished(engine, plan(engine.sweep("ok", seeds=2)).trials, status)
    assert fates(engine) == ["done", "done"]
    assert fates(engine, quick=True) == ["todo", "todo"]


def test_a_sweep_that_is_short_anyway_is_the_same_as_its_first_look(engine) -> None:
    short = engine.sweep("ok", stop="{min_samples: 5, max_seconds: 0.1, noise_target: 0.2}")
    (usual,), (quick,) = plan(short).trials, plan(short, quick=True).trials
    assert quick == usual
    finished(engine, [usual])
    assert plan(short, quick=True, force=True).trials[0].fate == "todo"

"""Groups: who takes turns with whom, and what the baseline's turns say."""

import numpy as np
import pytest

from bench_engine.plan.planning import Planned
from bench_engine.run.groups.group import MOST_WORKERS, Group, compared, grouped
from bench_engine.sweep.sweep import expand, parse
from bench_engine.trial import Paired, TrialResult


def planned(
    text: str, done: tuple[str, ...] = (), skipped: tuple[str, ...] = (), failed: tuple[str, ...] = ()
) -> list[Planned]:
    """The plan of a sweep; the others name methods, `failed` those that are done without a result."""
    found = []
    for number, trial in enumerate(expand(parse(text, "s"))):
        fate = "done" if trial.method in done else "skip" if trial.method in skipped else "todo"
        before = "ok" if fate == "done" and trial.method not in failed else "timeout" if fate == "done" else ""
        found.append(Planned(trial, f"{number:012x}", fate, before, 1, "", False, 1.0))
    return found


def names(group: Group) -> list[str]:
    return [f"{t.method}@{t.config['compression']:g}" for t in group.trials]


SWEEP = """
benchmark: lookup
methods: [small_dim, dense, hashed_reference]
baseline: dense
parameters:
  compression: {values: [0.5, 0.1]}
  batch_size: {values: [64, 512]}
"""


def test_all_that_do_the_same_work_take_turns_the_baseline_first() -> None:
    first, second = grouped(planned(SWEEP))
    assert names(first) == names(second)
    assert names(first) == ["dense@1", "small_dim@0.5", "hashed_reference@0.5", "small_dim@0.1", "hashed_reference@0.1"]
    assert {t.config["batch_size"] for t in first.trials} == {64}
    assert {t.config["batch_size"] for t in second.trials} == {512}
    assert len(first.members) == 5
    assert first.reference is None


def test_a_baseline_that_is_done_runs_along_unrecorded() -> None:
    first, _ = grouped(planned(SWEEP, done=("dense",)))
    assert first.trials[0].method == "dense"
    assert [m.trial.method for m in first.members] == ["small_dim", "hashed_reference"] * 2


def test_a_baseline_that_cannot_run_is_no_company() -> None:
    first, _ = grouped(planned(SWEEP, skipped=("dense",)))
    assert first.reference is None
    assert [t.method for t in first.trials] == ["small_dim", "hashed_reference"] * 2


def test_a_baseline_that_failed_before_is_no_company() -> None:
    first, _ = grouped(planned(SWEEP, done=("dense",), failed=("dense",)))
    assert first.reference is None
    assert [t.method for t in first.trials] == ["small_dim", "hashed_reference"] * 2


def test_nothing_to_do_is_no_group() -> None:
    assert grouped(planned(SWEEP, done=("dense", "small_dim", "hashed_reference"))) == []
    assert grouped([]) == []


def test_many_are_split_and_each_part_has_the_baseline() -> None:
    sizes = ", ".join(str(1 / n) for n in range(2, 12))
    text = SWEEP.replace("0.5, 0.1", sizes).replace("64, 512", "64")
    groups = grouped(planned(text))
    assert [len(g.trials) for g in groups] == [MOST_WORKERS, MOST_WORKERS, 7]
    assert all(g.trials[0].method == "dense" for g in groups)
    assert groups[0].reference is None
    assert all(g.reference for g in groups[1:])
    members = [m.identity for g in groups for m in g.members]
    assert len(members) == len(set(members)) == 21


def test_seeds_and_a_missing_baseline_make_groups_too() -> None:
    text = SWEEP.replace("baseline: dense", "seeds: 2").replace("64, 512", "64")
    first, second = grouped(planned(text))
    assert {t.config["seed"] for t in first.trials} == {0}
    assert {t.config["seed"] for t in second.trials} == {1}
    assert first.reference is None


def test_a_baseline_of_several_sizes_is_compared_at_the_same_size() -> None:
    text = SWEEP.replace("baseline: dense", "baseline: small_dim").replace("64, 512", "64")
    text = text.replace("small_dim, dense", "small_dim")
    assert [names(g) for g in grouped(planned(text))] == [
        ["small_dim@0.5", "hashed_reference@0.5"],
        ["small_dim@0.1", "hashed_reference@0.1"],
    ]


def result(scale: float, status: str = "ok", turns: int = 20) -> TrialResult:
    noise = np.random.default_rng(0).uniform(0.99, 1.01, turns * 5)
    return TrialResult(status, {}, tuple(noise * scale), turn_sizes=(5,) * turns)  # type: ignore[arg-type]


@pytest.mark.parametrize(("scale", "verdict"), [(10.0, "same"), (12.0, "slower"), (8.0, "faster")])
def test_what_the_turns_say(scale: float, verdict: str) -> None:
    baseline, other = compared([base := result(10.0), result(scale)], base)
    assert baseline.paired is None
    assert other.paired is not None
    assert other.paired.verdict == verdict
    assert other.paired.baseline_latency_us == pytest.approx(np.median(base.samples_us), rel=0.01)
    assert other.paired.speedup_ci_low <= 10.0 / scale * 1.0001
    assert other.paired.speedup_ci_high >= 10.0 / scale * 0.9999


@pytest.mark.parametrize(
    "pair",
    [
        (result(1.0), result(1.0, "failed")),
        (result(1.0, "oom"), result(1.0)),
        (result(1.0), TrialResult("ok", {}, (1.0, 2.0))),
        (result(1.0), TrialResult("ok", {}, (), turn_sizes=(0, 0))),
        (result(1.0), TrialResult("ok", {}, (0.0, 0.0), turn_sizes=(1, 1))),
        (result(1.0), TrialResult("ok", {}, (1.0, float("nan")), turn_sizes=(1, 1))),
        (result(1.0), TrialResult("ok", {}, (1.0, -1.0), turn_sizes=(1, 1))),
    ],
)
def test_without_turns_of_both_nothing_is_said(pair: tuple[TrialResult, TrialResult]) -> None:
    baseline, other = pair
    assert compared([baseline, other], baseline)[1].paired is None


def test_one_turn_gives_no_interval() -> None:
    single = TrialResult("ok", {}, (2.0,), turn_sizes=(1,))
    baseline, other = compared([base := TrialResult("ok", {}, (1.0,), turn_sizes=(1,)), single], base)
    assert baseline.paired is None
    assert other.paired == Paired(1.0, None, None, "unclear")

"""Plans for several machines: what is done, what cannot be run, and what a trial is called where it ran."""

from collections.abc import Sequence

import pytest
from fake_executor import FakeExecutor

from bench_engine.plan.planning import Plan, Site, identity_of, plan, this_site
from bench_engine.run import executors
from bench_engine.run.runner import Options, run
from bench_engine.trial import Trial, TrialResult
from db import runs


def site(machine_id: str, reason: str = "") -> Site:
    row = {**this_site().machine, "machine_id": machine_id, "name": machine_id}
    return Site(row, lambda trials: [reason] * len(trials))


class On(FakeExecutor):
    """An executor of several machines, which runs all on one of them."""

    def __init__(self, sites: Sequence[Site], place: int, result: TrialResult | None = None) -> None:
        super().__init__(lambda _trial: result or TrialResult("ok", {"latency_us": 1.0}, (1.0,)))
        self._sites, self._machine = sites, sites[place].machine

    def sites(self) -> Sequence[Site]:
        return self._sites

    def run(self, groups, running):
        for found in super().run(groups, running):
            yield executors.GroupResult(found.group, found.results, found.started_at, self._machine, "code")


A, B = site("aaaaaaaaaaaa"), site("bbbbbbbbbbbb")


def fates(made: Plan) -> list[tuple[str, int]]:
    return [(p.fate, p.site) for p in made.trials]


def test_what_is_done_on_one_of_the_machines_is_done(engine) -> None:
    run(engine.sweep("ok"), executor=On([A, B], 1))
    assert fates(plan(engine.sweep("ok"), sites=[A, B])) == [("done", 1)]
    assert fates(plan(engine.sweep("ok"), sites=[A])) == [("todo", 0)]
    assert fates(plan(engine.sweep("ok"))) == [("todo", 0)], "this machine is another"


def test_a_trial_is_called_after_the_machine_that_ran_it(engine) -> None:
    run(engine.sweep("ok"), executor=On([A, B], 1))
    (row,) = engine.stored()
    assert row["machine_id"] == B.machine_id
    assert row["identity"] == identity_of(plan(engine.sweep("ok")).trials[0].trial, B.machine_id)


def test_attempts_are_numbered_on_each_machine_by_itself_and_on_one_that_was_not_planned_for(engine) -> None:
    late = On([A], 0)
    late._machine = B.machine  # it joined after the plan was made
    for executor in (On([A, B], 0), On([A, B], 1), late):
        run(engine.sweep("ok"), Options(force=True), executor)
    assert sorted((r["machine_id"][0], r["trial_id"][-1]) for r in engine.stored()) == [
        ("a", "1"), ("b", "1"), ("b", "2"),
    ]  # fmt: skip


def test_a_failure_on_one_machine_is_left_alone_unless_asked_for(engine) -> None:
    run(engine.sweep("ok"), executor=On([A, B], 0, TrialResult("failed", error="It did not work.")))
    assert fates(plan(engine.sweep("ok"), sites=[A, B])) == [("done", 0)]
    assert fates(plan(engine.sweep("ok"), sites=[A, B], retry_failed=True)) == [("todo", 0)]


def test_a_result_on_one_machine_outweighs_a_failure_on_another(engine) -> None:
    run(engine.sweep("ok"), executor=On([A], 0, TrialResult("failed", error="It did not work.")))
    run(engine.sweep("ok"), executor=On([B], 0))
    assert fates(plan(engine.sweep("ok"), sites=[A, B], retry_failed=True)) == [("done", 1)]


def test_only_what_no_machine_can_run_is_skipped(engine) -> None:
    unable, other = site("a" * 12, "There are no data."), site("b" * 12, "There is no compiler.")
    assert fates(plan(engine.sweep("ok"), sites=[unable, B])) == [("todo", 1)]
    assert fates(plan(engine.sweep("ok"), sites=[unable, other])) == [("skip", 0)]
    idle = On([unable, other], 0)
    for sites in ([unable, other], [other, unable]):
        idle._sites = sites
        assert run(engine.sweep("ok"), executor=idle).skipped == 1
    assert idle.asked == []
    (row,) = engine.stored()
    assert (row["machine_id"], row["error"]) == ("a" * 12, "There are no data.")


def test_what_a_worker_has_skipped_on_one_machine_is_not_tried_on_the_others(engine) -> None:
    run(engine.sweep("ok"), executor=On([A, B], 1, TrialResult("skipped", error="This size cannot be reached.")))
    (item,) = plan(engine.sweep("ok"), sites=[A, B]).trials
    assert (item.fate, item.reason, item.site) == ("skip", "This size cannot be reached.", 1)


def test_the_driver_s_own_lack_does_not_count(engine) -> None:
    seen: list[Trial] = []

    def reasons(trials: Sequence[Trial]) -> list[str]:
        seen.extend(trials)
        return [""] * len(trials)

    (item,) = plan(engine.sweep("ok"), sites=[Site(A.machine, reasons)]).trials
    assert (len(seen), item.fate, item.trial.skip_reason) == (1, "todo", "")


def test_the_time_left_is_shared_by_the_machines(engine) -> None:
    executor = On([A, B], 0)
    executor.at_once = 2
    seen: list[float | None] = []
    executor.answer = lambda _trial: (seen.append(_state(engine).seconds_left), TrialResult("ok"))[1]
    run(engine.sweep("ok", seeds=2), executor=executor)
    assert seen[0] == pytest.approx(0.2, abs=0.05), "two trials of 0.2 s on two machines"


def _state(engine):
    (state,) = runs.read_all(engine.journal)
    return state

"""The driver's part of a run on Ray: which node gets which group. Nodes are objects that answer at once."""

from collections.abc import Callable, Iterator
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest
from ray.exceptions import ActorDiedError, RayTaskError

from bench_engine.plan.planning import Planned
from bench_engine.run.executors import ExecutorError
from bench_engine.run.executors import ray as driver
from bench_engine.run.executors.ray import RayExecutor
from bench_engine.run.executors.ray_node import Answer, code
from bench_engine.run.groups.group import Group
from bench_engine.trial import Trial, TrialResult

WHEN = datetime(2026, 1, 1)
Run = Callable[[list[Trial], bool], Answer]


def ok(trials: list[Trial], _anyhow: bool) -> Answer:
    return Answer(tuple(TrialResult("ok") for _ in trials), WHEN)


class Fakes:
    """A cluster whose nodes, by name, run groups as these functions say."""

    def __init__(self, nodes: dict[str, Run]) -> None:
        self.runs = nodes
        self.facts: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.built: list[str] = []

    def nodes(self) -> dict[str, str]:
        return {name: name for name in self.runs}

    def actor(self, name: str) -> Any:
        def run(_sweep: str, texts: list[str], anyhow: bool) -> Answer:
            self.asked.append(name)
            return self.runs[name]([Trial.from_json(t) for t in texts], anyhow)

        facts = {
            "code": code(), "code_version": "c", "machine": {"machine_id": name}, "warnings": ["It is warm."],
            "built": True, **self.facts.get(name, {}),
        }  # fmt: skip
        calls = {
            "facts": lambda: facts,
            "build": lambda: self.built.append(name) or "",
            "run": run,
            "reasons": lambda asked: ["It cannot." for _ in asked],
            "end": lambda: None,
        }
        return SimpleNamespace(**{k: SimpleNamespace(remote=_later(call)) for k, call in calls.items()})

    def close(self) -> None: ...


def _later(call: Callable[..., object]) -> Callable[..., Any]:
    """A call whose outcome, or whose exception, is kept for `get`."""

    def remote(*arguments: object) -> Any:
        try:
            value: object = call(*arguments)
        except Exception as error:
            return _Reference(error)
        return _Reference(value)

    return remote


class _Reference:
    def __init__(self, value: object) -> None:
        self.value = value


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fakes]:
    found = Fakes({"a": ok, "b": ok})

    def get(reference: _Reference, timeout: float | None = None) -> object:
        if isinstance(reference.value, Exception):
            raise reference.value
        return reference.value

    monkeypatch.setattr(driver, "Cluster", lambda _address: found)
    fake_ray = SimpleNamespace(wait=lambda asked, **_: (asked, []), get=get, kill=lambda _actor: None)
    monkeypatch.setattr(driver, "ray", fake_ray)
    monkeypatch.setattr(driver, "_LOOK_S", 0.0)
    return found


def groups(count: int, reference: Trial | None = None) -> list[Group]:
    trials = [Trial("fake", "fake", {"seed": seed}) for seed in range(count)]
    return [Group((Planned(t, str(i), "todo", "", 1, "", False, 1.0),), reference) for i, t in enumerate(trials)]


def run(work: list[Group], said: list[str] | None = None) -> list[tuple[str, str, str | None]]:
    """Machine, status and error of each result, in the order of the groups."""
    executor = RayExecutor("x:1", (said if said is not None else []).append, patience_s=0.1)
    with executor.holding("s", False, print, lambda: False):
        executor.sites()
        found = list(executor.run(work, lambda _text, _group: None))
    assert sorted(f.group.members[0].identity for f in found) == [str(i) for i in range(len(work))]
    found.sort(key=lambda f: f.group.members[0].identity)
    return [(f.machine["machine_id"], r.status, r.error) for f in found for r in f.results]


def lacks(_trials: list[Trial], anyhow: bool) -> Answer:
    return Answer((TrialResult("skipped", error="no data"),), WHEN) if anyhow else Answer(lacks="no data")


def test_groups_are_dealt_out_in_their_order(cluster: Fakes) -> None:
    assert run(groups(4)) == [("a", "ok", None), ("b", "ok", None)] * 2


def test_what_a_node_cannot_run_goes_to_one_that_can(cluster: Fakes) -> None:
    cluster.runs["a"] = lacks
    assert run(groups(3)) == [("b", "ok", None)] * 3


def test_what_no_node_can_run_is_skipped_with_the_reason(cluster: Fakes) -> None:
    cluster.runs |= {"a": lacks, "b": lacks}
    assert [r[1:] for r in run(groups(2))] == [("skipped", "no data")] * 2


def test_an_exception_on_a_node_is_a_result(cluster: Fakes) -> None:
    def broken(_trials: list[Trial], _anyhow: bool) -> Answer:
        raise RayTaskError("run", "Traceback", OSError("no space"))

    del cluster.runs["b"]
    cluster.runs["a"] = broken
    assert run(groups(1)) == [("a", "failed", "It could not be run on node a: no space")]


def test_a_group_that_loses_its_node_is_run_on_another_but_not_for_ever(cluster: Fakes) -> None:
    def dies(_trials: list[Trial], _anyhow: bool) -> Answer:
        raise ActorDiedError

    cluster.runs["a"] = dies
    said: list[str] = []
    assert run(groups(1), said) == [("b", "ok", None)]
    assert said == [f"Node a was lost while it ran {groups(1)[0].label()}, which is run again."]
    del cluster.runs["b"]
    cluster.asked.clear()
    sentence = "Each node that ran it was lost meanwhile (a, a, a), so it is not tried again."
    assert run(groups(1)) == [("a", "failed", sentence)]
    assert cluster.asked == ["a"] * driver.MOST_DEATHS


def test_a_reference_that_fails_is_not_run_again_with_other_groups(cluster: Fakes) -> None:
    sizes = []

    def run_(trials: list[Trial], _anyhow: bool) -> Answer:
        sizes.append(len(trials))
        return Answer(tuple(TrialResult("failed" if t.is_baseline else "ok") for t in trials), WHEN)

    del cluster.runs["b"]
    cluster.runs["a"] = run_
    assert len(run(groups(3, Trial("fake", "fake_dense", {}, is_baseline=True)))) == 3
    assert sizes == [2, 1, 1]


def test_a_node_with_other_code_is_not_used_and_that_is_said_once(cluster: Fakes) -> None:
    cluster.facts["a"] = {"code": "other", "code_version": "d"}
    said: list[str] = []
    assert {machine for machine, *_ in run(groups(3), said)} == {"b"}
    (sentence,) = said
    assert sentence.startswith("Node a is not used: its code, Python or torch is not the one here (it has d, here is ")
    cluster.facts["b"] = cluster.facts["a"]
    with pytest.raises(ExecutorError, match="No node of the Ray cluster can be used"):
        run(groups(1))


def test_kernels_are_built_where_they_are_not(cluster: Fakes) -> None:
    cluster.facts["a"] = {"built": False}
    said: list[str] = []
    run(groups(2), said)
    assert (cluster.built, said) == (["a"], ["Node a: the kernels are not built there yet, which is done now."])


def test_sites_are_machines_not_nodes(cluster: Fakes) -> None:
    cluster.facts["b"] = {"machine": {"machine_id": "a"}}
    executor = RayExecutor("x:1", print)
    with executor.holding("s", False, print, lambda: False):
        (site,) = executor.sites()
        assert executor.at_once == 2
        assert site.warnings == ("Node a: It is warm.",)
        trials = [Trial("lookup", "dense", {"batch_size": size}) for size in (1, 2)]
        assert site.reasons(trials) == ["It cannot."] * 2

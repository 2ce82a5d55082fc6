"""Groups on the nodes of a Ray cluster: one at a time on each node, all members of a group on the same one."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from bench_engine.machine import machine as this_machine
from bench_engine.machine.lock import MachineBusyError
from bench_engine.plan.planning import Site
from bench_engine.registry import method
from bench_engine.run.executors import ExecutorError, GroupResult, Running
from bench_engine.run.executors.ray_cluster import Cluster
from bench_engine.run.executors.ray_node import Answer, code
from bench_engine.run.groups import recording
from bench_engine.run.groups.group import Group
from bench_engine.trial import Trial, TrialResult

MOST_DEATHS = 3  # nodes that a group may take with it
_POLL_S = 0.2
_LOOK_S = 2.0  # between looks for nodes that come and go
_BUSY_S = 1.0  # between questions to a node that another run uses
_START_S = 60.0  # a node that has not answered by then is not used
_PLAN_S = 120.0
_LAST_S = 3.0


@dataclass(eq=False)
class _Job:
    """A group on its way.

    Attributes:
        lost_on: names of the nodes that were lost while they ran it.
        lacking: ids of the nodes that cannot run all of it.
    """

    group: Group
    lost_on: list[str] = field(default_factory=list)
    lacking: set[str] = field(default_factory=set)


@dataclass(eq=False)
class _Node:
    """A node as the driver knows it.

    Attributes:
        answer: what it was asked and has not answered yet: `doing` says what that is.
        facts: see ray_node.Node.facts; empty until it has told them.
        refused: why it is not used; a sentence.
        busy: who else uses it, when it was asked last; `busy_until` is when it is asked again.
    """

    id: str
    name: str
    actor: Any
    doing: str = ""
    answer: Any = None
    asked_at: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)
    refused: str = ""
    job: _Job | None = None
    busy: str = ""
    busy_until: float = 0.0
    told_busy: bool = False

    @property
    def ready(self) -> bool:
        return bool(self.facts) and not self.refused and self.doing in ("", "run")

    def ask(self, doing: str, *arguments: object) -> None:
        self.doing, self.asked_at = doing, time.monotonic()
        self.answer = getattr(self.actor, doing).remote(*arguments)

    def idle(self) -> None:
        self.doing, self.answer, self.job = "", None, None


class RayExecutor:
    """Runs groups on the nodes of a cluster that is there already."""

    def __init__(self, address: str = "auto", say: Callable[[str], None] = print, patience_s: float = 60.0) -> None:
        """The cluster is joined when it is first held.

        Args:
            address: HOST:PORT of the cluster's head; auto for RAY_ADDRESS, else the cluster that runs on this machine.
            say: told in sentences about nodes that are lost or not used.
            patience_s: how long a run waits for a node where none is left.
        """
        self._address = address
        self._say = say
        self._patience_s = patience_s
        self._cluster: Cluster | None = None
        self._alive: dict[str, str] = {}
        self._nodes: dict[str, _Node] = {}
        self._sweep = ""
        self._wait = False
        self._began = False
        self._killed = False
        self._looked_at = 0.0
        self._usable_at = 0.0

    @property
    def at_once(self) -> int:
        """One group per node that is ready."""
        return max(1, sum(node.ready for node in self._nodes.values()))

    @contextlib.contextmanager
    def holding(
        self, sweep: str, wait: bool, waiting: Callable[[str], None], cancelled: Callable[[], bool]
    ) -> Iterator[None]:
        """Be connected to the cluster. Nodes are held by themselves, each for one group at a time."""
        self._sweep, self._wait = sweep, wait
        self._cluster = Cluster(self._address)
        try:
            yield
        finally:
            self._end()
            self._cluster.close()

    def sites(self) -> Sequence[Site]:
        """The machines of all nodes that are there now and can be used. Raises ExecutorError where there are none."""
        self._look()
        while any(node.doing for node in self._nodes.values()) and not self._killed:
            self._settle([])
            self._look()
        found: dict[str, Site] = {}
        for node in self._nodes.values():
            if node.ready:
                warnings = tuple(f"Node {node.name}: {warning}" for warning in node.facts["warnings"])
                site = Site(node.facts["machine"], partial(_reasons, node), warnings)
                found.setdefault(site.machine_id, site)
        if not found and not self._killed:
            raise ExecutorError(
                "No node of the Ray cluster can be used: each needs this checkout, with the same changes, in the "
                "Python that Ray was started with."
            )
        return list(found.values())

    def run(self, groups: Sequence[Group], running: Running) -> Iterator[GroupResult]:
        """Hand the groups out to the nodes, and again where a node is lost."""
        waiting = [_Job(group) for group in groups]
        self._usable_at = time.monotonic()
        while waiting or any(node.job for node in self._nodes.values()):
            self._look()
            self._hand_out(waiting, running)
            found = self._settle(waiting)
            if self._killed:
                self._end()
                return
            self._hand_out(waiting, running)
            yield from found
            self._check(waiting)

    def kill(self) -> None:
        """Let `run` end what the nodes are doing, and yield no more."""
        self._killed = True  # Ray may not be called from a signal handler: `run` ends the nodes when it looks

    # -- nodes -----------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Take in nodes that have come, and let go of those that have left."""
        if self._cluster is None or time.monotonic() - self._looked_at < _LOOK_S:
            return
        alive = self._cluster.nodes()
        self._looked_at = time.monotonic()
        if alive is None:
            return
        self._alive = alive
        for node in [n for n in self._nodes.values() if n.id not in self._alive and n.job is None]:
            del self._nodes[node.id]
        for node_id, name in self._alive.items():
            if node_id not in self._nodes:
                node = self._nodes[node_id] = _Node(node_id, name, self._cluster.actor(node_id))
                node.ask("facts")

    def _settle(self, waiting: list[_Job]) -> list[GroupResult]:
        """Take what nodes have answered, for a moment, and return the groups that are over."""
        asked = {node.answer: node for node in self._nodes.values() if node.doing}
        if not asked:
            time.sleep(_POLL_S)
            return []
        done, _ = ray.wait(list(asked), num_returns=len(asked), timeout=_POLL_S)
        found = []
        for reference in done:
            if over := self._take(asked[reference], waiting):
                found.append(over)
        for node in [node for reference, node in asked.items() if reference not in done]:
            if node.id not in self._alive:
                if over := self._lose(node, waiting):
                    found.append(over)
            elif node.doing == "facts" and time.monotonic() - node.asked_at > _START_S:
                self._refuse(node, f"it has not answered for {_START_S:g} s")
        return found

    def _take(self, node: _Node, waiting: list[_Job]) -> GroupResult | None:
        """Take one answer; returns the group that is over with it."""
        doing, job = node.doing, node.job
        try:
            answer = ray.get(node.answer)
        except RayTaskError as error:
            cause = " ".join(str(error.cause or error).split())[:300]
            node.idle()
            if job is None:
                self._refuse(node, cause)
                return None
            return self._failed(job, node, f"It could not be run on node {node.name}: {cause}")
        except RayError as error:
            if job is None:
                self._refuse(node, _unstarted(error))
                return None
            return self._lose(node, waiting)
        node.idle()
        if doing == "facts":
            self._meet(node, answer)
        elif doing == "build":
            if answer:
                self._say(f"Node {node.name}: the kernels could not be built: {answer}")
        elif job is not None:
            return self._over(node, job, answer, waiting)
        return None

    def _meet(self, node: _Node, facts: dict[str, Any]) -> None:
        if facts["code"] != code():
            mine = this_machine.code_version()
            what = f"it has {facts['code_version']}, here is {mine}" if facts["code_version"] != mine else "it differs"
            self._refuse(
                node,
                f"its code, Python or torch is not the one here ({what}): bring its checkout to the same state and "
                "start Ray there again",
            )
            return
        node.facts = facts
        if not facts["built"]:
            self._say(f"Node {node.name}: the kernels are not built there yet, which is done now.")
            node.ask("build")

    def _refuse(self, node: _Node, why: str) -> None:
        node.idle()
        node.refused = why
        self._say(f"Node {node.name} is not used: {why}.")

    def _lose(self, node: _Node, waiting: list[_Job]) -> GroupResult | None:
        """A node, or the engine on it, has died. What it ran is run again, unless that has happened too often."""
        job = node.job
        self._nodes.pop(node.id, None)  # where only the engine died, the next look starts it again
        if job is None:
            return None
        job.lost_on.append(node.name)
        if len(job.lost_on) >= MOST_DEATHS:
            nodes = ", ".join(job.lost_on)
            return self._failed(
                job, node, f"Each node that ran it was lost meanwhile ({nodes}), so it is not tried again."
            )
        self._say(f"Node {node.name} was lost while it ran {job.group.label()}, which is run again.")
        waiting.insert(0, job)
        return None

    def _end(self) -> None:
        """End what runs on all nodes, and the engine there."""
        nodes = [node for node in self._nodes.values() if not node.refused]
        self._nodes = {}
        with contextlib.suppress(RayError):
            if ended := [node.actor.end.remote() for node in nodes if node.job]:
                ray.wait(ended, num_returns=len(ended), timeout=_LAST_S)
        for node in nodes:
            with contextlib.suppress(RayError):
                ray.kill(node.actor)

    # -- groups ----------------------------------------------------------------------------------------------------

    def _hand_out(self, waiting: list[_Job], running: Running) -> None:
        """Give each node that is free the first group that it can run."""
        ready = {node.id for node in self._nodes.values() if node.ready}
        changed = False
        for node in self._nodes.values():
            if not node.ready or node.job or time.monotonic() < node.busy_until or self._killed:
                continue
            job = next((j for j in waiting if node.id not in j.lacking), None)
            job = job or next((j for j in waiting if ready <= j.lacking), None)
            if job is None:
                continue
            waiting.remove(job)
            node.job = job
            anyhow = ready <= job.lacking  # else another node may be able to run all of it
            node.ask("run", self._sweep, [t.to_json() for t in job.group.trials], anyhow)
            changed = True
        if changed:
            running(self._current(), None)

    def _current(self) -> str:
        work = [(node.name, node.job.group.label()) for node in self._nodes.values() if node.job]
        if len(work) == 1:
            return f"{work[0][1]}, on {work[0][0]}"
        return f"{len(work)} groups on {len(work)} nodes: " + "; ".join(label for _, label in work)

    def _over(self, node: _Node, job: _Job, answer: Answer, waiting: list[_Job]) -> GroupResult | None:
        node.busy = answer.busy
        if answer.busy:
            node.busy_until = time.monotonic() + _BUSY_S
            if not node.told_busy:
                self._say(f"Node {node.name} is not used until it is free: {answer.busy}")
            node.told_busy = True
        elif answer.lacks:
            job.lacking.add(node.id)
        else:
            self._began = True
            own = answer.results
            if reference := job.group.reference:
                own = answer.results[1:]
                if answer.results[0].status not in ("ok", "skipped"):  # no other group is to wait for it again
                    for other in waiting:
                        if other.group.reference == reference:
                            other.group = replace(other.group, reference=None)
            return self._result(job, node, own, answer.started_at or recording.now())
        waiting.insert(0, job)
        return None

    def _failed(self, job: _Job, node: _Node, sentence: str) -> GroupResult:
        results = tuple(TrialResult("failed", error=sentence) for _ in job.group.members)
        return self._result(job, node, results, recording.now())

    @staticmethod
    def _result(job: _Job, node: _Node, results: tuple[TrialResult, ...], at: Any) -> GroupResult:
        return GroupResult(job.group, results, at, node.facts["machine"], node.facts["code_version"])

    def _check(self, waiting: list[_Job]) -> None:
        """Raise where nothing can run what is left."""
        usable = [node for node in self._nodes.values() if not node.refused]
        if usable or not waiting:
            self._usable_at = time.monotonic()
        elif time.monotonic() - self._usable_at > self._patience_s:
            raise ExecutorError(
                f"No node of the Ray cluster has been left to run on for {self._patience_s:g} s: start nodes and give "
                "the same command again; what is finished is kept."
            )
        if usable and not self._wait and not self._began and all(node.busy for node in usable):
            names = ", ".join(node.name for node in usable)
            raise MachineBusyError(f"Every node is busy ({names}): wait, or add --wait to start when one is free.")


def _reasons(node: _Node, trials: Sequence[Trial]) -> list[str]:
    """Why trials cannot run on a node; each different question is asked once."""
    questions = {}
    asked = []
    for trial in trials:
        telling = {"dataset", *method(trial.method, trial.benchmark).supports}
        config = {axis: value for axis, value in trial.config.items() if axis in telling}
        asked.append(json.dumps([trial.method, config, trial.benchmark]))
        questions[asked[-1]] = trial.method, config, trial.benchmark
    try:
        answers = ray.get(node.actor.reasons.remote(list(questions.values())), timeout=_PLAN_S)
    except RayError:  # it has died since: what it cannot run is found out when another takes the group
        return [""] * len(trials)
    said = dict(zip(questions, answers, strict=True))
    return [said[question] for question in asked]


def _unstarted(error: RayError) -> str:
    text = str(error)
    if "No module named 'bench_engine" in text or "No module named 'db" in text:
        return "Mirror is not installed in the Python that Ray was started with there"
    return "the engine could not be started there: " + " ".join(text.split())[:300].rstrip(".")

"""The engine on a node, without Ray: what it tells the driver, what it runs, and what it leaves alone."""

import os
from pathlib import Path

import pytest

from bench_engine.kernels.native import extension
from bench_engine.machine.lock import machine_lock
from bench_engine.registry.readiness import SkipReasons
from bench_engine.run.executors import ray_node
from bench_engine.run.executors.ray_node import Node
from bench_engine.sweep.sweep import expand
from db import installation


def trials(engine, *deeds: str) -> list[str]:
    return [trial.to_json() for trial in expand(engine.sweep(*deeds))]


def test_a_group_is_run_under_the_lock_of_the_machine(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node()
    answer = node.run("s", trials(engine, "ok", "raise"), False)
    assert [r.status for r in answer.results] == ["ok", "failed"]
    with machine_lock("mine"):
        answer = node.run("s", trials(engine, "ok"), False)
    assert answer.results == ()
    assert answer.busy.startswith(f"Sweep mine (process {os.getpid()}, since ")
    assert answer.busy.endswith(" is running on this machine.")
    monkeypatch.setenv("MIRROR_LOCK", str(engine.folder / "no" / "folder"))
    assert "The lock file" in node.run("s", trials(engine, "ok"), False).busy


def test_what_cannot_run_here_is_left_to_others_or_skipped(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node()
    cannot = {"raise": "There are no data for it."}
    monkeypatch.setattr(SkipReasons, "of", lambda _self, _name, config, *_: cannot.get(config["pooling_mode"], ""))
    answer = node.run("s", trials(engine, "ok", "raise", "ok"), False)
    assert (answer.results, answer.lacks) == ((), "There are no data for it.")
    answer = node.run("s", trials(engine, "ok", "raise"), True)
    assert [(r.status, r.error) for r in answer.results] == [("ok", None), ("skipped", cannot["raise"])]
    assert [r.status for r in node.run("s", trials(engine, "raise"), True).results] == ["skipped"]


def test_end_ends_the_group_that_runs(engine) -> None:
    node = Node()
    node.end()
    (result,) = node.run("s", trials(engine, "sleep"), False).results
    assert result.status == "cancelled"


def test_facts_are_plain_and_a_changed_source_changes_the_code(
    engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = Node().facts()
    assert facts["code"] == ray_node.code()
    assert facts["machine"]["name"] == "test machine"
    assert facts["built"] in (True, False)
    other = tmp_path / "checkout"
    (other / "bench_engine").mkdir(parents=True)
    (other / "bench_engine" / "x.py").write_text("a = 1\n")
    monkeypatch.setattr(installation, "ROOT", other)
    first = ray_node.code.__wrapped__()
    (other / "bench_engine" / "x.py").write_text("a = 2\n")
    assert len({facts["code"], first, ray_node.code.__wrapped__()}) == 3


def test_a_priority_below_the_usual_is_warned_of(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "setpriority", lambda *_: (_ for _ in ()).throw(PermissionError()))
    monkeypatch.setattr(os, "getpriority", lambda *_: 15)
    (warning,) = Node().facts()["warnings"]
    assert "niceness 15" in warning
    assert "RAY_worker_niceness=0" in warning


def test_kernels_are_built_here_and_what_hinders_that_is_said(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension, "build", lambda: Path("x"))
    assert Node().build() == ""

    def refuse() -> Path:
        raise extension.CompileError("The kernels did not compile (g++ ended with 1):\nmany\nlines")

    monkeypatch.setattr(extension, "build", refuse)
    assert Node().build() == "The kernels did not compile (g++ ended with 1)."

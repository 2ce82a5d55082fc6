"""Runs on a real Ray cluster of two nodes, one of which is lost, busy or hanging; a third node has other code."""

import fcntl
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ray_machines import Machines, missing, namespaces

from db import runs
from db.installation import ROOT
from db.store import Store

FAKES = ROOT / "tests" / "fake_engine"

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"a cluster of several hosts on one {missing()}")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """The head has other code than the driver: it is there for the driver to be connected to, and never used."""
    other = tmp_path_factory.mktemp("other code")
    for folder in ("bench_engine", "db", "csrc"):
        shutil.copytree(
            ROOT / folder,
            other / folder,
            ignore=shutil.ignore_patterns("__pycache__", "examples", "*.duckdb*", "*.journal"),
        )
    shutil.copy(ROOT / "pyproject.toml", other)
    with (other / "bench_engine" / "lock.py").open("a") as source:
        source.write("# changed\n")
    with Machines({"PYTHONPATH": os.pathsep.join((str(FAKES), str(ROOT)))}) as machines:
        machines.start("head", head=True, PYTHONPATH=os.pathsep.join((str(FAKES), str(other))))
        machines.start("ada", "bob")
        yield machines


@pytest.fixture
def nodes(cluster: Machines) -> Machines:
    """The cluster with both its nodes."""
    cluster.start("ada", "bob")
    return cluster


def sweep(engine, *deeds: str, **more: object) -> Path:
    """A sweep whose groups are a baseline and one more."""
    path = engine.file(*deeds, baseline="fake_dense", **more)
    path.write_text(path.read_text().replace("methods: [fake]", "methods: [fake_dense, fake]"))
    return path


def arguments(engine, nodes: Machines, path: Path, *more: str) -> list[str]:
    return ["run", str(path), "--executor", "ray", "--ray-address", nodes.address, "--run-id", "r", *more]


def state(engine) -> runs.RunState | None:
    return runs.read(engine.journal, "r")


def until(true: Callable[[], object], seconds: float = 90.0) -> None:  # long, for a busy machine
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.05)


def rows(engine) -> list[dict]:
    return Store(engine.url).rows("SELECT t.*, m.name AS node FROM trials t JOIN machines m USING (machine_id)")


def check(engine, total: int) -> list[dict]:
    """All trials have one result, the same in journal and database. Returns them."""
    found = rows(engine)
    assert [row["status"] for row in found] == ["ok"] * total
    assert len({(row["method"], row["batch_size"]) for row in found}) == total
    assert sorted(f"{row['trial_id']}.ok.json" for row in found) == engine.entries()
    return found


def test_a_sweep_is_shared_out_among_the_nodes(engine, nodes: Machines) -> None:
    path = sweep(engine, "log", batch_size=[1, 2, 3, 4])
    done = engine.command(*arguments(engine, nodes, path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Sweep fakes: 8 trials have results.\n")
    told = [line for line in done.stderr.splitlines() if not line.startswith(("[", "Node ada: ", "Node bob: "))]
    assert len(told) == 1, "nothing but what a user must know"
    assert told[0].startswith("Node head is not used: its code, Python or torch is not the one here")
    found = check(engine, 8)
    assert {row["node"] for row in found} == {"ada", "bob"}
    for _, group in itertools.groupby(sorted(found, key=lambda row: row["group_id"]), lambda row: row["group_id"]):
        dense, fake = sorted(group, key=lambda row: row["method"], reverse=True)
        assert (dense["node"], dense["batch_size"]) == (fake["node"], fake["batch_size"])
        assert fake["verdict"] or dense["verdict"], "they took turns"


def test_a_node_that_is_lost_loses_nothing_and_one_that_comes_is_used(engine, nodes: Machines) -> None:
    path = sweep(engine, "slow", batch_size=[1, 2, 3, 4, 5])  # enough for a node that is slow to come
    run = engine.start(*arguments(engine, nodes, path))
    until(lambda: (s := state(engine)) and s.current.startswith("2 groups on 2 nodes: "))
    until(nodes.workers)
    nodes.kill("bob")
    nodes.start("eve")
    out, said = run.communicate(timeout=120)
    nodes.kill("eve")
    assert run.returncode == 0
    assert out.startswith("Sweep fakes: 10 trials have results.\n")
    assert said.count("Node bob was lost while it ran fake fake_dense") == 1
    assert {row["node"] for row in check(engine, 10)} >= {"ada", "eve"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_ends_all_workers_and_is_taken_up_again(engine, nodes: Machines, number: int) -> None:
    path = sweep(engine, "ok", "sleep")
    run = engine.start(*arguments(engine, nodes, path, "-p", "batch_size=1,2", "-p", "methods=fake"))
    until(lambda: len(nodes.workers()) == 2 and len(rows(engine)) == 2)  # both of `ok`
    kept = rows(engine)
    run.send_signal(number)
    out, said = run.communicate(timeout=15)
    until(lambda: not nodes.workers(), 10)
    found = state(engine)
    assert found is not None
    if number == signal.SIGKILL:
        assert found.status == "died"
    else:
        assert (run.returncode, found.status) == (130, "cancelled"), said
        assert out.startswith("Cancelled: 2 of 4 done")
    path.write_text(path.read_text().replace("ok, sleep", "ok"))
    # What is done on any node is done.
    done = engine.command(*arguments(engine, nodes, path, "-p", "batch_size=1,2,3", "-p", "methods=fake"))
    assert done.stdout.startswith("Sweep fakes: 3 trials have results.\n"), done.stderr
    assert {row["trial_id"] for row in kept} < {row["trial_id"] for row in check(engine, 3)}


def test_what_goes_wrong_on_a_node_is_a_result(engine, nodes: Machines) -> None:
    """A worker that hangs, and a group that takes what runs it with it, again and again."""
    run = engine.start(*arguments(engine, nodes, engine.file("sleep", "kill_runner", "ok", time_limit_s=4)))
    until(nodes.workers)
    assert nodes.workers()[0].nice() == os.getpriority(os.PRIO_PROCESS, 0), "Ray lowers the priority of its processes"
    out, said = run.communicate(timeout=60)
    assert out.startswith("Sweep fakes: 1 trials have results, 2 failed."), said
    hung, fatal, _ = sorted(rows(engine), key=lambda row: ["timeout", "failed", "ok"].index(row["status"]))
    assert hung["error"] == "It took longer than its limit of 4 s and was ended."
    assert fatal["error"].startswith("Each node that ran it was lost meanwhile (")
    assert fatal["error"].count("ada") + fatal["error"].count("bob") == 3
    assert not nodes.workers()


def test_a_busy_node_is_not_used_until_it_is_free(engine, nodes: Machines) -> None:
    path = sweep(engine, "ok", batch_size=[1, 2, 3])
    with nodes.lock("ada").open("w") as ada, nodes.lock("bob").open("w") as bob:
        fcntl.flock(ada, fcntl.LOCK_EX)
        fcntl.flock(bob, fcntl.LOCK_EX)
        refused = engine.command(*arguments(engine, nodes, path))
        assert refused.returncode == 1
        assert refused.stderr.splitlines()[-1].startswith("Every node is busy")
        assert refused.stderr.splitlines()[-1].endswith("add --wait to start when one is free.")
        waiting = engine.start(*arguments(engine, nodes, path, "--wait"))
        until(lambda: (s := state(engine)) and s.status == "running")
        fcntl.flock(bob, fcntl.LOCK_UN)
        out, said = waiting.communicate(timeout=30)
        assert out.startswith("Sweep fakes: 6 trials have results.\n")
        assert said.count("Node ada is not used until it is free: ") == 1
        assert {row["node"] for row in check(engine, 6)} == {"bob"}


def test_no_node_left_is_said_and_what_is_finished_is_kept(engine, nodes: Machines) -> None:
    code = (
        "import sys; from bench_engine.run import runner; from bench_engine.sweep import sweep\n"
        "from bench_engine.run.executors.ray import RayExecutor\n"
        "runner.run(sweep.load(sys.argv[1]), runner.Options(run_id='r'), RayExecutor(sys.argv[2], patience_s=1))"
    )
    path = engine.file("ok", "sleep", batch_size=[1, 2])
    command = [sys.executable, "-c", code, str(path), nodes.address]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=engine.folder)
    until(lambda: len(nodes.workers()) == 2 and len(engine.entries()) == 2)
    nodes.kill("ada")
    nodes.kill("bob")
    run.communicate(timeout=30)
    found = state(engine)
    assert found is not None
    assert (run.returncode, found.status, found.done) == (1, "failed", 2)
    assert found.message.startswith("No node of the Ray cluster has been left to run on for 1 s: start nodes")
    assert len(rows(engine)) == 2


def test_without_a_cluster_one_sentence_says_what_to_do(engine, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for address, start in (
        ("127.0.0.1:1", "No Ray cluster answers at 127.0.0.1:1: "),
        ("auto", "No Ray cluster runs here: "),
    ):
        run = ["run", engine.file("ok"), "--executor", "ray", "--ray-address", address, "--run-id", "r"]
        command = [*namespaces(), sys.executable, "-m", "bench_engine", *map(str, run)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=engine.folder, timeout=30)
        assert done.returncode == 1
        (sentence,) = done.stderr.splitlines()
        assert sentence.startswith(start)
        found = state(engine)
        assert found is not None
        assert (found.status, found.message) == ("failed", sentence)


def test_without_ray_the_line_to_install_it_is_said(engine) -> None:
    code = (
        "import sys; sys.modules['ray'] = None; from bench_engine.command.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "run", str(engine.file("ok")), "--executor", "ray", "--run-id", "r"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=engine.folder)
    assert (done.returncode, done.stderr) == (
        1,
        "Ray is not installed here: `pip install 'mirror-bench[ray]'` installs it.\n",
    )
    found = state(engine)
    assert found is not None
    assert found.message == done.stderr.strip()

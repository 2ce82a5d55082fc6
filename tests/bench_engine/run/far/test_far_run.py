"""Sweeps run on another machine, which is a folder of the test that a fake ssh leads to."""

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench_engine.command.cli import main
from bench_engine.data import files as data_files
from bench_engine.registry import DATA_SETS, DataSet, benchmark
from bench_engine.run.far import far_run, there
from db import journal, runs
from db.installation import ROOT

FAKES = ROOT / "tests" / "fake_engine"
AT = ["--executor", "ssh://ada"]

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="what is copied is a clone, which this is not")


@dataclass
class Far:
    """The other machine."""

    top: Path

    @property
    def folder(self) -> Path:
        return self.top / "home" / "mirror-bench"

    @property
    def journal(self) -> Path:
        return self.folder / "results.journal"

    def calls(self) -> list[str]:
        return (self.top / "calls").read_text().splitlines()

    def entries(self) -> list[str]:
        return sorted(path.name for path in self.journal.glob("*.json"))

    def states(self) -> list[runs.RunState]:
        return runs.read_all(self.journal)


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where code lies once it was copied, for all tests."""
    return tmp_path_factory.mktemp("code")


@pytest.fixture
def far(engine, copies: Path, monkeypatch: pytest.MonkeyPatch) -> Far:
    top = engine.folder / "far"
    folder = top / "home" / "mirror-bench"
    folder.mkdir(parents=True)
    (folder / "code").symlink_to(copies)
    (top / "bin").mkdir()
    shutil.copy(FAKES / "ssh", top / "bin" / "ssh")
    monkeypatch.setenv("PATH", f"{top / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_FAR", str(top))
    monkeypatch.setenv("FAKE_ENGINE", str(FAKES))
    monkeypatch.setenv("MIRROR_SSH_PYTHON", sys.executable)
    monkeypatch.setattr(far_run, "_AGAIN_S", (0.0, 0.0))
    return Far(top)


def finish(far: Far) -> None:
    """Wait for the end of all runs there."""
    for state in far.states():
        while runs.process_start(state.pid) == state.pid_start:
            time.sleep(0.02)


def test_a_sweep_runs_there_and_its_results_are_here(engine, far: Far, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(engine.file("ok", "raise", seeds=2))
    assert main(["run", path, *AT, "--run-id", "r"]) == 4
    said = capsys.readouterr()
    assert "[4/4] fake" in said.err
    assert said.err.count("[1/4]") == 1
    assert said.out.startswith("Sweep fakes: 2 trials have results, 2 failed.")
    assert "µs" in said.out  # the table
    assert engine.entries() == far.entries()
    assert [row["status"] for row in engine.stored()].count("ok") == 2
    entry = json.loads((engine.journal / engine.entries()[0]).read_text())
    assert entry["machine"]["name"] == "far machine"
    state = runs.read(engine.journal, "r")
    assert state is not None
    assert (state.status, state.total, state.done, state.failed) == ("done", 4, 2, 2)
    assert sorted(runs.trials_of(engine.journal, "r")) == sorted({name.partition(".")[0] for name in engine.entries()})

    calls = len(far.calls())
    assert main(["run", path, *AT]) == 4  # nothing is copied, run or brought again
    assert len(far.calls()) - calls == 3
    assert "failed before" in capsys.readouterr().err
    assert len(engine.entries()) == 4


def test_one_that_is_done_with_everything_there_brings_it_to_a_journal_that_lacks_it(engine, far: Far) -> None:
    path = str(engine.file("ok"))
    assert main(["run", path, *AT]) == 0
    for entry in engine.journal.glob("*.json"):
        entry.unlink()
    assert main(["run", path, *AT]) == 0
    assert engine.entries() == far.entries() != []


def test_what_only_this_side_has_of_that_machine_is_done_there_too(engine, far: Far) -> None:
    path = str(engine.file("ok", seeds=2))
    assert main(["run", path, *AT]) == 0
    before = engine.entries()
    shutil.rmtree(far.journal)
    (far.folder / "results.duckdb").unlink()
    assert main(["run", path, *AT]) == 0
    assert (engine.entries(), far.entries()) == (before, before)


def test_a_run_that_ended_with_other_code_is_not_attached_to(engine, far: Far) -> None:
    path = str(engine.file("ok"))
    assert main(["run", path, *AT]) == 0
    (note,) = runs.runs_dir(far.journal).glob("*.far")
    note.write_text(json.dumps({**json.loads(note.read_text()), "code": "other", "received": False}))
    assert main(["run", path, *AT]) == 0
    assert len(far.states()) == 2


@pytest.mark.parametrize("lines", [3, 5])
def test_a_lost_line_is_made_again(engine, far: Far, lines: int, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    path = str(engine.file("slow", batch_size=[1, 2]))
    main(["run", path, *AT, "--stop"])  # all is copied: what follows are three calls
    monkeypatch.setenv("FAKE_SSH_DROP", f"{len(far.calls()) + 3} {lines}")
    capsys.readouterr()
    assert main(["run", path, *AT]) == 0
    said = capsys.readouterr().err
    assert said.count("The line to ada was lost; the run goes on there.") == 1
    assert said.count("[1/2]") == said.count("[2/2]") == 1
    assert len(far.states()) == 1
    assert engine.entries() == far.entries()


def test_a_line_that_stays_lost_is_said_and_the_same_command_attaches(
    engine, far: Far, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    path = str(engine.file("ok", seeds=2))
    take = far_run._FarRun.take

    def lose(self, said) -> None:
        monkeypatch.setenv("FAKE_SSH_SAYS", "ssh: connect to host ada port 22: Connection refused")
        take(self, said)
        if "over" not in said:
            self.line._talks[-1].kill()

    monkeypatch.setattr(far_run._FarRun, "take", lose)
    assert main(["run", path, *AT, "--force", "--run-id", "r"]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("The line to ada was lost; the run goes on there, and the same command attaches to it.")
    assert "Nothing answers ssh at ada" in said
    state = runs.read(engine.journal, "r")
    assert state is not None
    assert state.status == "failed"
    finish(far)
    monkeypatch.setattr(far_run._FarRun, "take", take)
    monkeypatch.delenv("FAKE_SSH_SAYS")
    assert main(["run", path, *AT, "--force"]) == 0  # it ended meanwhile, and is not run again
    assert "Attached to the run" in capsys.readouterr().err
    assert len(far.states()) == 1
    assert len(engine.entries()) == 2
    assert main(["run", path, *AT, "--force"]) == 0
    assert len(engine.entries()) == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_end_of_this_side_is_not_the_end_of_the_run(engine, far: Far, number: signal.Signals) -> None:
    path = engine.file("slow", batch_size=[1, 2, 3, 4])
    process = engine.start("run", path, *AT, "--run-id", "r")
    assert process.stderr
    for line in process.stderr:
        if line.startswith("[1/4]"):
            break
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    if number == signal.SIGINT:
        assert out == (
            "Cancelled: here alone; the run goes on at ada. The same command attaches to it, --stop added ends it.\n"
        )
    assert [state.active for state in far.states()] == [True]
    again = engine.command("run", path, *AT)
    assert again.returncode == 0, again.stderr
    assert "Attached to the run" in again.stderr
    assert len(far.states()) == 1
    assert engine.entries() == far.entries()
    assert len(engine.entries()) == 4


def test_stop_ends_the_run_there_and_brings_what_it_has(engine, far: Far) -> None:
    path = engine.file("slow", batch_size=list(range(1, 51)))
    process = engine.start("run", path, *AT)
    assert process.stderr
    for line in process.stderr:
        if line.startswith("[1/50]"):
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    stopped = engine.command("run", path, *AT, "--stop")
    assert stopped.returncode == 130
    assert "of 50 done; the same command goes on from here." in stopped.stdout
    assert [state.status for state in far.states()] == ["cancelled"]
    assert engine.entries() == far.entries() != []
    none = engine.command("run", path, *AT, "--stop")
    assert (none.returncode, none.stderr) == (
        1,
        "ada: no run of this command goes on there, so there is none to stop.\n",
    )


def test_a_run_that_goes_on_with_other_code_is_left_alone(
    engine, far: Far, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    path = str(engine.file("sleep"))
    process = engine.start("run", path, *AT)
    while not [state for state in far.states() if state.status == "running"]:
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.communicate()
    (note,) = runs.runs_dir(far.journal).glob("*.far")
    note.write_text(json.dumps({**json.loads(note.read_text()), "code": "other", "commit": "abc1234"}))
    assert main(["run", path, *AT]) == 1
    assert "goes on there with other code (abc1234, here is " in capsys.readouterr().err
    assert main(["run", path, *AT, "--stop"]) == 130


def test_what_goes_wrong_there_is_said_once(engine, far: Far, capsys: pytest.CaptureFixture[str]) -> None:
    path = engine.folder / "fakes.yaml"
    holder = engine.start("run", engine.file("sleep"), *AT)
    while not [state for state in far.states() if state.status == "running"]:
        assert holder.poll() is None
        time.sleep(0.02)
    path.write_text(engine.text("ok"))
    try:
        assert main(["run", str(path), *AT, "--run-id", "r"]) == 1
        said = capsys.readouterr().err
        assert said.count("is running on this machine: wait for it to end, or add --wait") == 1
        assert said.splitlines()[-1].startswith("ada: Sweep fakes (process ")
        state = runs.read(engine.journal, "r")
        assert state is not None
        assert (state.status, state.message) == ("failed", said.splitlines()[-1])
    finally:
        path.write_text(engine.text("sleep"))
        assert main(["run", str(path), *AT, "--stop"]) == 130
        holder.communicate(timeout=60)


def test_a_run_that_is_killed_there_is_said(engine, far: Far, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(engine.file("ok", "kill_runner")), *AT]) == 1
    assert "ada: Its process is gone without a word" in capsys.readouterr().err
    assert len(engine.entries()) == 1


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("ssh: Could not resolve hostname ada: Name or service not known", "The host ada is not known"),
        ("me@ada: Permission denied (publickey).", "make a key with `ssh-keygen -t ed25519`"),
        ("Host key verification failed.", "ssh does not trust ada yet"),
        ("ssh: connect to host ada port 22: Connection timed out", "ada does not answer"),
        ("kex_exchange_identification: nonsense", "The line to ada was lost or never there (kex"),
    ],
)
def test_a_machine_that_is_not_reached_is_a_sentence(
    engine, far: Far, said: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setenv("FAKE_SSH_SAYS", said)
    assert main(["run", str(engine.file("ok")), *AT]) == 1
    complaint = capsys.readouterr().err
    assert words in complaint
    assert complaint.count("\n") == 1


def test_no_ssh_here_is_a_sentence(engine, far: Far, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (far.top / "bin" / "ssh").unlink()
    (far.top / "bin" / "git").symlink_to(str(shutil.which("git")))
    monkeypatch.setenv("PATH", str(far.top / "bin"))
    assert main(["run", str(engine.file("ok")), *AT]) == 1
    assert "install OpenSSH's client" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _, patch: patch.setenv("MIRROR_SSH_PYTHON", "/nowhere/python"), "/nowhere/python is no Python 3.11"),
        (lambda _, patch: patch.setenv("MIRROR_SSH_PYTHON", "-c"), "which no program is called"),
        (lambda far, _: (far.folder / "plugins").write_text(""), "the folder ~/mirror-bench cannot be written there"),
        (lambda far, _: tool(far, "tar", "tar: x: Cannot write: No space left on device"), "the disk there is full"),
    ],
)
def test_what_the_machine_lacks_is_a_sentence(
    engine, far: Far, change: Callable[[Far, pytest.MonkeyPatch], object], words: str, monkeypatch, capsys
) -> None:
    (far.folder / "code").unlink()  # so that it is copied
    change(far, monkeypatch)
    assert main(["run", str(engine.file("ok")), *AT]) == 1
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert words in complaint
    assert complaint.startswith(("ada: ", "MIRROR_SSH_PYTHON"))
    assert list((far.folder / "code").glob("*")) == []


def tool(far: Far, name: str, said: str) -> None:
    """A program there that fails."""
    path = far.top / "bin" / name
    path.write_text(f"#!/bin/sh\ncat > /dev/null\necho '{said}' >&2\nexit 2\n")
    path.chmod(0o755)


@pytest.mark.parametrize("address", ["ssh://-oProxyCommand=id", "ssh://a b", "ssh://a'b"])
def test_a_hostile_host_is_wrong_usage_and_nothing_is_run(engine, far: Far, address: str, capsys) -> None:
    assert main(["run", str(engine.file("ok")), "--executor", address]) == 2
    assert "names no machine" in capsys.readouterr().err
    assert not (far.top / "calls").exists()


def test_stop_needs_a_machine(engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(engine.file("ok")), "--stop"]) == 2
    assert "say which with --executor" in capsys.readouterr().err


def test_words_of_the_sweep_and_the_folder_are_no_shell(engine, far: Far) -> None:
    path = engine.folder / "a'b $(touch x) .yaml"
    path.write_text(engine.text("ok"))
    folder = far.top / "home" / "x 'y\" $(touch z)"
    at = f"ssh://ada/~/{folder.name.replace(' ', '%20')}"
    assert main(["run", str(path), "--executor", at, "-p", "batch_size=2"]) == 0
    assert [row["sweep"] for row in engine.stored()] == ["a'b $(touch x) "]
    assert (folder / "results.journal").is_dir()
    assert not list(engine.folder.rglob("z"))
    assert not list(engine.folder.rglob("x"))


# -- plug-ins and data ---------------------------------------------------------------------------------------------

BAG = """
import torch
from helper import RESULT
from bench_engine.plugin import method

@method("mine", "a bag of one's own")
class Mine(torch.nn.EmbeddingBag):
    def __init__(self, *_, **__):
        raise ValueError(f"the helper says {RESULT}: all is well.")
"""


def test_a_plugin_goes_along(engine, far: Far) -> None:
    (engine.folder / "my_bag.py").write_text(BAG)
    (engine.folder / "helper.py").write_text("RESULT = 7\n")
    path = engine.folder / "bags.yaml"
    path.write_text("benchmark: lookup\nmethods: [mine]\nparameters: {num_rows: {value: 100}}\n")
    done = engine.command("run", path, *AT, "--plugin", engine.folder / "my_bag.py")
    assert "copying plugins" in done.stderr, done.stderr
    assert [row["method"] for row in engine.stored()] == ["mine"]
    assert "the helper says 7: all is well." in engine.stored()[0]["error"]


def test_a_data_file_that_is_here_alone_is_copied(engine, far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    data = engine.folder / "data"
    (data / "some").mkdir(parents=True)
    (data / "some" / "clicks.csv").write_bytes(b"1,2\n" * 1000)
    monkeypatch.setitem(DATA_SETS, "some", DataSet("some", "", "none", ("some/clicks.csv", "some/absent.csv")))
    monkeypatch.setattr(data_files, "data_dir", lambda: data)
    sent: list[str] = []
    asked = far_run._FarRun(engine.sweep("ok"), far_run.Options(), far_run.Destination("ada"), False, sent.append)
    place = far_run.Place(str(far.folder), str(ROOT), "", sys.executable)
    command = ["env", f"PYTHONPATH={ROOT}", f"MIRROR_DATA_DIR={far.folder / 'data'}", sys.executable, "-m"]
    monkeypatch.setattr(far_run.Place, "engine", lambda _, *words: [*command, there.__name__, *words])
    asked.bring_file(place, "some/absent.csv")
    asked.bring_file(place, "some/clicks.csv")
    assert (far.folder / "data" / "some" / "clicks.csv").read_bytes() == b"1,2\n" * 1000
    assert sent == ["ada: copying the data file some/clicks.csv (0.0 MB)."]
    assert len(far.calls()) == 1


def test_an_entry_that_two_processes_bring_is_there_once(engine, far: Far) -> None:
    assert main(["run", str(engine.file("ok")), *AT]) == 0
    (entry,) = engine.entries()
    text = (engine.journal / entry).read_text()
    mine = far_run._FarRun(engine.sweep("ok"), far_run.Options(), far_run.Destination("ada"), False, print)
    mine.keep(text)
    assert engine.entries() == [entry]
    other = text.replace(entry.partition("-")[0], "f" * 16)
    mine.keep(other)
    assert len(engine.entries()) == 2
    assert len(journal.attempts([engine.journal])) == 2
    assert benchmark("fake").measurement == 1


def test_options_of_a_cluster_and_plugins_for_one_are_refused(engine) -> None:
    done = engine.command("run", "quick", "--ray-address", "head:6379")
    assert (done.returncode, "say --executor ray too" in done.stderr) == (2, True), done.stderr
    path = engine.folder / "my_bag_of_ray.py"
    path.write_text('from bench_engine.plugin import method\n@method("bag_of_ray", "a text")\nclass Bag:\n    pass\n')
    done = engine.command("run", "quick", "--plugin", path, "--executor", "ray")
    assert (done.returncode, "--executor ray does not bring" in done.stderr) == (2, True), done.stderr

"""The environment on the other machine: made once for what it is made from, and anew where its making was ended."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench_engine.run.far import environment_there
from bench_engine.run.far.environment_there import MakingError, environment


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The programs that were run, none of which is."""
    ran: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        if command[1:3] == ["-m", "venv"]:
            Path(command[3]).mkdir()
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(environment_there.subprocess, "run", run)
    return ran


@pytest.fixture
def code(tmp_path: Path) -> Path:
    for name in environment_there.FROM:
        (tmp_path / name).write_text(name)
    return tmp_path


def test_it_is_made_once_for_what_it_is_made_from(code: Path, made: list[list[str]]) -> None:
    python = environment(code / "far", code, as_it_is=False)
    assert [command[1:3] for command in made] == [["-m", "venv"], ["-m", "pip"], ["-m", "pip"]]
    assert made[1][-2:] == ["-r", "requirements.txt"]
    assert made[2][-2:] == ["-e", str(code)]
    assert environment(code / "far", code, as_it_is=False) == python
    assert len(made) == 3
    (code / "requirements.txt").write_text("torch==9")
    assert environment(code / "far", code, as_it_is=False) != python
    assert len(made) == 6


def test_one_whose_making_was_ended_is_made_anew(
    code: Path, made: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = environment_there._make
    monkeypatch.setattr(environment_there, "_make", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        environment(code / "far", code, as_it_is=False)
    monkeypatch.setattr(environment_there, "_make", whole)
    environment(code / "far", code, as_it_is=False)
    assert len(made) == 3


def test_a_python_that_has_all_is_used_as_it_is(code: Path, made: list[list[str]]) -> None:
    assert environment(code / "far", code, as_it_is=True) == sys.executable
    assert made == []


@pytest.mark.parametrize(
    ("failing", "said", "words"),
    [
        ("venv", "ensurepip is not available\n", "python3-venv"),
        ("pip", "ERROR: No matching torch\n", "No matching torch"),
    ],
)
def test_what_failed_is_a_sentence(
    code: Path, monkeypatch: pytest.MonkeyPatch, failing: str, said: str, words: str
) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, int(failing in command), said, "a note\n")

    monkeypatch.setattr(environment_there.subprocess, "run", run)
    with pytest.raises(MakingError, match=words):
        environment(code / "far", code, as_it_is=False)

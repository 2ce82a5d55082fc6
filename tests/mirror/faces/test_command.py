"""The command `mirror`: what it explains, what it hands over, and how little it loads for that."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from db.installation import ROOT
from mirror.faces import programs
from mirror.faces.command import main


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The programs that took this one's place, less the interpreter."""
    asked: list[list[str]] = []

    def note(path: str, command: list[str], environment: dict[str, str]) -> None:
        assert path == sys.executable
        assert environment["PYTHONPATH"].split(os.pathsep)[0] == str(ROOT)
        asked.append(command[1:])
        raise SystemExit(0)

    monkeypatch.setattr(os, "execve", note)
    return asked


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["bench", "run", "quick", "-p", "batch_size=64"], ["run", "quick", "-p", "batch_size=64"]),
        (["bench", "--help"], ["--help"]),
        (["bench"], []),
        (["doctor", "--json"], ["doctor", "--json"]),
    ],
)
def test_the_engine_takes_over(became: list[list[str]], words: list[str], command: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(words)
    assert became == [["-P", "-m", "bench_engine", *command]]


def test_streamlit_takes_over_while_kernels_compile(became: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    beside: list[list[str]] = []
    monkeypatch.setattr(programs.building, "start", lambda command, told: beside.append(command[1:]) or {**told})
    with pytest.raises(SystemExit):
        main(["app", "--port", "8765"])
    assert became == [["-P", "-m", "streamlit", "run", str(ROOT / "app.py"), "--server.port", "8765"]]
    assert beside == [["-P", "-m", "bench_engine", "build"]]


def test_without_streamlit_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(programs, "find_spec", lambda name: None)
    assert main(["app"]) == 1
    assert capsys.readouterr().err == (
        "mirror app needs the package streamlit, which is not installed: "
        "`pip install 'mirror-bench[app]'` brings all that it needs.\n"
    )


def test_a_question_is_explained_in_words_as_a_form_and_as_sql(
    results_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "memory vs AUC at compression 0.1", "--db", str(results_file)]) == 0
    words, form, sql, *readings = capsys.readouterr().out.split("\n\n")
    assert words.startswith("Read as: ")
    assert json.loads(form.removeprefix("Form: "))["shape"] == "points"
    assert sql.startswith("SELECT ")
    assert readings[0].startswith("Readings:\n  1  chance ")
    assert main(["explain", "what is the weather", "--db", str(results_file)]) == 2
    assert "Read as" not in capsys.readouterr().out


def test_help_loads_nothing_that_takes_time() -> None:
    code = (
        "import sys\nfrom mirror.faces.command import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('torch', 'numpy', 'duckdb', 'sqlalchemy', 'streamlit', 'yaml') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"

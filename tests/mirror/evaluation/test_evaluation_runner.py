"""Questions really asked, of real fixtures, and the command around it."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mirror.answer.answer import Answer
from mirror.chart.chart_spec import ChartSpec
from mirror.evaluation import runner
from mirror.evaluation.eval_command import add_parser, evaluate
from mirror.evaluation.fixtures import NOW, Fixture, fixtures
from mirror.evaluation.questions import Gold, Question
from mirror.evaluation.runner import NoModelError, run
from mirror.language.reading import lexemes
from mirror.schema.result_columns import result_table

ALPHA, *_, DELTA = fixtures("categories")
SQL = "SELECT count(*) AS n FROM results"


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch, built: Callable[[Fixture], Path]) -> None:
    """The fixtures that are built already, in the place of fresh ones."""
    monkeypatch.setattr(runner, "build", lambda fixture, _folder: built(fixture))


def question(id: str, words: str, gold: str = SQL, **more: object) -> Question:
    return Question(id, "c", words, golds=(Gold(gold),), charts=frozenset({"tiles"}), **more)  # type: ignore[arg-type]


def test_asked_of_every_fixture() -> None:
    """One is asked as it stands, one is wrong of one fixture alone, one is asked where it can be answered."""
    alpha = "SELECT count(*) AS n FROM results WHERE benchmark = 'grouped_lookup'"
    steps = "SELECT method FROM results WHERE benchmark = 'grouped_lookup'"
    right, wrong, seldom = run(
        [question("a", SQL), question("b", alpha), question("c", steps, steps)], "grammar", (ALPHA, DELTA)
    )
    assert [o.fixture for o in right.outcomes] == ["alpha", "delta"]
    assert right.verdict == "right"
    assert right.chart is True
    assert wrong.verdict == "wrong"
    assert [o.fixture for o in seldom.outcomes] == ["alpha"]
    assert len(right.seconds) == 2


@pytest.mark.usefixtures("ready")
def test_words_are_read_with_the_present_of_the_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = []

    def deaf(words: str, **given: object) -> Answer:
        heard.append((words, given))
        return Answer("answered", words, table=result_table(("n",), ((1,),)), chart=ChartSpec("tiles"))

    monkeypatch.setattr(runner, "ask", deaf)
    run([question("a", "how many?")], "grammar", (DELTA,))
    words, given = heard[-1]
    assert words == "how many?"
    assert given["now"] == NOW
    assert given["use_model"] is False


@pytest.mark.usefixtures("ready")
def test_a_follow_up_is_asked_after_its_question(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = []

    def ask(words: str, after: Answer | None = None, **given: object) -> Answer:
        heard.append((words, after.question if after else None))
        return Answer("refused", words)

    monkeypatch.setattr(runner, "ask", ask)
    run([question("a", "and this?", after="first"), question("b", "and that?", after="first")], "grammar", (DELTA,))
    assert heard[1:] == [("first", None), ("and this?", "first"), ("and that?", "first")]


def test_no_model_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MIRROR_LLM_MODEL", "MIRROR_LLM_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NoModelError, match="No language model is configured"):
        run([], "llm", ())


def command(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    return parser.parse_args(["eval", *words])


def test_the_command_without_a_model(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("MIRROR_LLM_MODEL", "MIRROR_LLM_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert evaluate(command("--engine", "llm")) == 2
    assert "No language model is configured" in capsys.readouterr().err


@pytest.mark.usefixtures("ready")
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate(command("--category", "unanswerable", "--questions", "held_out", "--json")) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [t["name"] for t in printed["tallies"]] == ["all"] * 3 + ["unanswerable"] * 3
    assert [t["n"] for t in printed["tallies"]] == [4, 0, 4] * 2
    assert printed["failures"] == []


def test_the_command_with_an_ingredient_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []
    monkeypatch.setattr(runner, "run", lambda *_: seen.append(lexemes.stem("books")) or [])
    assert evaluate(command("--without", "stems", "--without", "typos", "--json")) == 0
    assert evaluate(command("--json")) == 0
    assert seen == ["books", "book"]
    capsys.readouterr()
    assert evaluate(command("--without", "stem")) == 1
    assert "There is no ingredient 'stem': name one of stems" in capsys.readouterr().err


def test_an_unknown_category_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate(command("--category", "pareto front")) == 1
    assert "There is no category 'pareto front': name one of lookup" in capsys.readouterr().err


def test_nothing_that_was_learnt_is_read_and_nothing_is_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, object]] = []

    def asked(question: str, **more: object) -> Answer:
        given.append(more)
        return Answer("refused", question)

    monkeypatch.setattr(runner, "ask", asked)
    session = runner._Session("x", {}, "grammar", "warm up", db="x.duckdb")  # type: ignore[arg-type]
    session.choice("a choice", Answer("ambiguous", "a question", suggestions=("a choice",)))
    assert [more["learnt"] for more in given] == [False, False]

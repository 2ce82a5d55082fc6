"""A table of ablations: made of questions really asked, gone on with after a kill, and without a word of them."""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import pytest

from mirror.evaluation import ablation_runs
from mirror.evaluation.ablation_runs import ONE_IN, OUTCOMES, PARTS, AblationError, measure, outcome
from mirror.evaluation.ablations.ablations_page import as_page, brings_nothing
from mirror.evaluation.ablations.ingredients import INGREDIENTS, ingredient
from mirror.evaluation.eval_command import add_parser, evaluate
from mirror.evaluation.foreign_databases import databases
from mirror.evaluation.questions import Question, load
from mirror.evaluation.runner import Asking, Scored
from mirror.evaluation.scoring import Outcome

ROOT = Path(__file__).resolve().parents[3]
STORED = ROOT / "mirror" / "evaluation" / "ablations.json"
PART = ("foreign", "open")
OFF = ("stems", "typos", "second-reader", "absence")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Four ingredients, and three questions of one open database; the ids of those that are asked."""
    database = next(d for d in databases() if not d.sealed)
    questions = [q for q in load("foreign") if q.fixtures == (database.name,)][:3]
    monkeypatch.setattr(ablation_runs, "load", lambda of: questions)
    monkeypatch.setattr(ablation_runs, "databases", lambda: [database])
    monkeypatch.setattr(ablation_runs, "INGREDIENTS", tuple(map(ingredient, OFF)))
    monkeypatch.setattr(ablation_runs, "ONE_IN", dict.fromkeys(PARTS, 1))
    asked: list[str] = []
    really = Asking.scored

    def scored(self: Asking, question: Question) -> Scored | None:
        asked.append(question.id)
        return really(self, question)

    monkeypatch.setattr(Asking, "scored", scored)
    return asked


def test_a_killed_run_goes_on_and_comes_to_the_same(
    few: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = measure(tmp_path / "whole.json", parts=[PART])
    in_one_go = len(few)
    assert 3 + 2 * 3 <= in_one_go < 3 + len(OFF) * 3  # those that no question meets are not asked again
    few.clear()

    counting = Asking.scored

    def killed(self: Asking, question: Question) -> Scored | None:
        if len(few) == 5:
            raise KeyboardInterrupt
        return counting(self, question)

    path = tmp_path / "killed.json"
    with monkeypatch.context() as until:
        until.setattr(Asking, "scored", killed)
        with pytest.raises(KeyboardInterrupt):
            measure(path, parts=[PART])
    assert not path.is_file()
    with path.with_name("killed.json.partial").open("a") as torn:
        torn.write('{"set": "foreign", "off": "ste')  # killed over a line
    again = measure(path, parts=[PART])
    assert len(few) == in_one_go
    (one,), (other,) = whole["parts"], again["parts"]
    assert {**one, "minutes": 0} == {**other, "minutes": 0}
    assert not path.with_name("killed.json.partial").exists()


def test_the_table_holds_counts_and_no_words(few: list[str], tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    measure(path, parts=[PART])
    text, (part,) = path.read_text(), json.loads(path.read_text())["parts"]
    assert part["n"] == sum(part["all_on"].values()) == 3
    assert part["without"].keys() == set(OFF)
    for told in part["without"].values():
        assert sum(told["counts"].values()) == 3
        gained, lost = told["right"]
        assert told["counts"]["R"] == part["all_on"]["R"] + gained - lost
    for question in ablation_runs.load("foreign"):
        assert question.id not in text
        assert question.ask not in text


def test_what_is_there_is_not_asked_again(few: list[str], tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    table = measure(path, parts=[PART])
    few.clear()
    assert measure(path, parts=[PART]) == table
    assert few == []


def test_out_of_time_only_what_is_whole_is_told_and_the_rest_is_gone_on_with(few: list[str], tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    assert measure(path, parts=[PART], minutes=0)["parts"] == []
    assert few == []
    (part,) = measure(path, parts=[PART])["parts"]
    assert (part["n"], part["whole"]) == (3, True)
    partial = path.with_name("table.json.partial")
    assert not partial.exists()
    part["whole"] = False  # as if one more question had been left
    path.write_text(json.dumps({**json.loads(path.read_text()), "parts": [part]}))
    few.clear()
    measure(path, parts=[PART], minutes=0)
    assert few == []
    assert partial.exists()


def test_the_command_prints_the_page_of_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, parts = tmp_path / "table.json", [{"set": of, "half": half, "whole": True} for of, half in PARTS]
    told = {"n": 8, "asked_on": "2026-11-01", "minutes": 1.0, "one_in": 1, "databases": 0, "without": {}}
    told |= {"all_databases": 0, "all_on": dict.fromkeys(OUTCOMES, 1)}
    told |= {"machine": "m", "versions": {"python": "3"}, "readers": "r"}
    table = {"parts": [{**told, **part} for part in parts]}
    path.write_text(json.dumps(table))
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    assert evaluate(parser.parse_args(["eval", "--ablations", str(path)])) == 0
    printed = capsys.readouterr().out
    assert printed == as_page(table)
    assert "Not asked yet" not in printed
    parts[0]["whole"] = False
    assert "Not asked yet, or not to the end: Other people's databases, sealed." in as_page(
        {**table, "parts": [{**told, **part} for part in parts]}
    )


def test_a_table_of_other_readers_is_not_gone_on_with(few: list[str], tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.with_name("table.json.partial").write_text('{"code": "other"}\n')
    with pytest.raises(AblationError, match=r"begun with other readers or questions: delete it"):
        measure(path, parts=[PART])
    begun = {"set": "paraphrases", "half": "open", "whole": False, "readers": "other"}
    path.write_text(json.dumps({"parts": [begun]}))
    with pytest.raises(AblationError, match="delete it"):
        measure(path, parts=[PART])
    assert few == []


def test_a_question_ends_as_one_letter() -> None:
    plain = Question("a", "c", "?")

    def letter(verdict: str, expect: str = "answered", among: bool | None = None) -> str:
        told = Outcome("a", "f", verdict, among=among)  # type: ignore[arg-type]
        return outcome(Scored(replace(plain, expect=expect), (told,), (0.1,)))  # type: ignore[arg-type]

    assert letter("right") == letter("right", "action") == "R"
    assert letter("right", "refused") == letter("right", "ambiguous") == "N"
    assert (letter("asked back", among=True), letter("asked back", among=False), letter("asked back")) == (
        "S",
        "B",
        "B",
    )
    assert [letter(verdict) for verdict in ("wrong", "refused", "error")] == ["W", "F", "E"]
    assert set("RNSBFWE") == OUTCOMES.keys()


def test_what_brings_something_is_not_named_among_the_rest() -> None:
    off = {"counts": {}, "reached": [0, 0], "changed": 9}
    part = {"set": "foreign", "half": "held out", "n": 100, "without": {
        "stems": {**off, "right": [0, 9], "wrong": [0, 0]},
        "typos": {**off, "right": [0, 0], "wrong": [9, 0]},
        "times": {**off, "right": [4, 5], "wrong": [1, 1]},
    }}  # fmt: skip
    assert [name for name, _ in brings_nothing([part])] == ["times"]


def test_the_page_in_the_docs_is_that_of_the_stored_table() -> None:
    assert (ROOT / "docs" / "ablations.md").read_text() == as_page(json.loads(STORED.read_text()))


def test_the_stored_table_is_of_all_ingredients_and_adds_up() -> None:
    table = json.loads(STORED.read_text())
    for part in table["parts"]:
        assert part["without"].keys() == {i.name for i in INGREDIENTS if part["set"] in i.of}
        assert part["one_in"] == ONE_IN[part["set"], part["half"]]
        for told in (part["all_on"], *(off["counts"] for off in part["without"].values())):
            assert sum(told.values()) == part["n"]

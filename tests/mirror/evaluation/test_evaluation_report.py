"""Counts, intervals and the list of failures."""

import pytest

from mirror.evaluation.questions import Persona, Question, Status
from mirror.evaluation.report import as_json, as_text, failures, failures_as_text, tally, wilson
from mirror.evaluation.runner import Scored
from mirror.evaluation.scoring import Outcome, Verdict


def scored(
    id: str,
    *verdicts: Verdict,
    category: str = "c",
    persona: Persona = "",
    held_out: bool = False,
    chart: bool | None = None,
) -> Scored:
    question = Question(id, category, f"words of {id}", persona=persona, held_out=held_out)
    outcomes = tuple(
        Outcome(id, f"w{i}", v, "" if v == "right" else "because", chart if v == "right" else None)
        for i, v in enumerate(verdicts)
    )
    return Scored(question, outcomes, tuple(0.01 for _ in verdicts))


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    # Newcombe 1998, doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson(right: int, n: int, low: float, high: float) -> None:
    assert wilson(right, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_of_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_counts() -> None:
    found = [
        scored("a", "right", "right", chart=True),
        scored("b", "right", "wrong"),
        scored("c", "refused", "asked back"),
        scored("d", "right", chart=False),
    ]
    t = tally("all", found)
    assert (t.n, t.right, t.charts, t.charts_right) == (4, 2, 2, 1)
    assert {k: v for k, v in t.counts.items() if v} == {"right": 2, "wrong": 1, "refused": 1}
    assert t.net == pytest.approx(0.25)


def test_answers_at_once_and_those_that_there_are_none_of() -> None:
    def of(id: str, verdict: Verdict, at_once: bool, expect: Status = "answered", held_out: bool = False) -> Scored:
        question = Question(id, "c", "?", expect=expect, persona="stranger", held_out=held_out)
        return Scored(question, (Outcome(id, "zoo", verdict, at_once=at_once),), (0.01,))

    found = [
        of("a", "right", True), of("b", "wrong", True), of("c", "refused", False), of("d", "right", True),
        of("e", "right", False, "refused"), of("f", "wrong", True, "refused"),
        of("g", "right", False, "refused", held_out=True),
    ]  # fmt: skip
    t = tally("c", found, "open")
    assert (t.n, t.right, t.at_once, t.at_once_right) == (6, 3, 4, 2)
    assert (t.unanswerable, t.unanswerable_answered, t.answerable_right) == (2, 1, 2)
    intervals = t.as_json()["intervals"]
    assert intervals["at_once_right"] == wilson(2, 4)
    assert intervals["unanswerable_answered"] == wilson(1, 2)
    assert intervals["answerable_right"] == wilson(2, 4)
    text = as_text(found, "grammar")
    assert [row.split()[0] for row in text.split("\n\n")[2].splitlines()[1:]] == ["c", "all"]  # no row of a persona
    row = " ".join(text.split("\n\n")[2].splitlines()[-1].split())
    assert row == "all 6 4 2 50.0% [15%, 85%] 1 0 1 0 0 - [0%, 100%] 0 0"
    assert (
        "Of 2 open questions without an answer were answered 1 50.0% [9%, 91%]; of the 4 others are right "
        "2 50.0% [15%, 85%]." in text
    )
    assert "Of 1 held out questions without an answer were answered 0 0.0% [0%, 79%]" in text


def test_failures_leave_held_out_questions_out() -> None:
    found = [scored("a", "right", "wrong"), scored("b", "wrong", held_out=True), scored("c", "right", chart=False)]
    assert [(f["id"], f["verdict"], f["fixture"]) for f in failures(found)] == [
        ("a", "wrong", "w1"),
        ("c", "chart", "w0"),
    ]
    text = failures_as_text(found)
    assert "words of a" in text
    assert "words of b" not in text
    assert "words of b" not in str(as_json(found, "grammar"))


def test_the_tables() -> None:
    found = [scored("a", "right", category="one"), scored("b", "wrong", category="two", held_out=True)]
    everything, halves, *_ = as_text(found, "grammar").split("\n\n")
    for table in (everything, halves):
        assert [row.split()[0] for row in table.splitlines()[1:]] == ["one", "two", "all"]
    counts = " ".join(halves.splitlines()[-1].split())
    assert counts == "all 1 1 100.0% [21%, 100%] 0 1 0 0.0% [0%, 79%] 1"
    printed = as_json(found, "grammar")
    assert [t["name"] for t in printed["tallies"]] == ["all"] * 3 + ["one"] * 3 + ["two"] * 3
    assert [(t["half"], t["right"], t["wrong"]) for t in printed["tallies"][:3]] == [
        ("all", 1, 1), ("open", 1, 0), ("held out", 0, 1)
    ]  # fmt: skip
    assert printed["seconds"] == [0.01, 0.01]


PARAPHRASES = (
    scored("a", "right", "right", persona="researcher"),
    scored("b", "right", "wrong", persona="researcher", held_out=True),
    scored("c", "refused", persona="newcomer"),
    scored("d", "asked back", persona="newcomer", held_out=True),
    scored("e", "error", persona="newcomer"),
)


def test_counts_of_personas() -> None:
    tallies = {(t["half"], t["name"]): t for t in as_json(PARAPHRASES, "grammar")["tallies"]}
    kinds = ("right", "unanswered", "wrong")
    assert [tallies["all", "all"][k] for k in kinds] == [1, 2, 1]
    assert [tallies["all", "newcomer"][k] for k in kinds] == [0, 2, 0]
    assert [tallies["held out", "all"][k] for k in kinds] == [0, 1, 1]
    assert tallies["open", "newcomer"]["error"] == 1
    assert ("all", "engineer") not in tallies
    assert tallies["all", "all"]["intervals"]["right"][0] == pytest.approx(0.0362, abs=1e-4)
    assert sum(t["n"] for (_, name), t in tallies.items() if name == "all") == 2 * len(PARAPHRASES)


def test_the_text_of_personas_names_no_question_that_is_held_out() -> None:
    text = as_text(PARAPHRASES, "grammar")
    assert [line.split()[0] for line in text.splitlines() if line.startswith("re")] == ["researcher"] * 3
    assert "held out" in text
    assert [f["id"] for f in as_json(PARAPHRASES, "grammar")["failures"]] == ["c", "e"]


def test_nothing_asked() -> None:
    assert "all    0    0      - [0%, 100%]" in as_text((), "grammar")

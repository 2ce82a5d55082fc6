"""Counts, intervals and the list of failures."""

import pytest

from mirror.evaluation.questions import Persona, Question
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
    assert [line.split()[0] for line in text.splitlines() if line.startswith("re")] == ["researcher"] * 2
    assert "held out" in text
    assert [f["id"] for f in as_json(PARAPHRASES, "grammar")["failures"]] == ["c", "e"]


def test_nothing_asked() -> None:
    assert "all    0    0      - [0%, 100%]" in as_text((), "grammar")

"""Counts, intervals and the list of failures."""

import pytest

from mirror.evaluation.questions import Question
from mirror.evaluation.report import as_json, as_text, failures, failures_as_text, tally, wilson
from mirror.evaluation.runner import Scored
from mirror.evaluation.scoring import Outcome, Verdict


def scored(
    id: str, *verdicts: Verdict, category: str = "c", held_out: bool = False, chart: bool | None = None
) -> Scored:
    question = Question(id, category, f"words of {id}", held_out=held_out)
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
    assert [(f["id"], f["verdict"], f["world"]) for f in failures(found)] == [
        ("a", "wrong", "w1"),
        ("c", "chart", "w0"),
    ]
    text = failures_as_text(found)
    assert "words of a" in text
    assert "words of b" not in text
    assert "words of b" not in str(as_json(found, "grammar"))


def test_the_tables() -> None:
    found = [scored("a", "right", category="one"), scored("b", "wrong", category="two", held_out=True)]
    text = as_text(found, "grammar")
    for line in ("one", "two", "all", "held out", "the others"):
        assert any(row.startswith(line) for row in text.splitlines())
    entry = as_json(found, "grammar")
    assert [c["name"] for c in entry["categories"]] == ["one", "two"]
    assert entry["totals"][0]["right"] == 1
    assert entry["totals"][1]["wrong"] == 1
    assert entry["seconds"] == [0.01, 0.01]

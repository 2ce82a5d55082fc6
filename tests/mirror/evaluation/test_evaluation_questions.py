"""The set itself: how many questions, which are held out, and that every gold can be met."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from mirror.evaluation.golds import Golds
from mirror.evaluation.questions import Question, QuestionError, load
from mirror.evaluation.same_rows import difference

QUESTIONS = load()


def test_how_many_there_are() -> None:
    of = Counter(q.category for q in QUESTIONS)
    assert len(QUESTIONS) >= 170
    assert len(of) >= 17
    assert min(of.values()) >= 9


def test_a_third_of_each_category_is_held_out() -> None:
    for category, n in Counter(q.category for q in QUESTIONS).items():
        held_out = sum(q.held_out for q in QUESTIONS if q.category == category)
        assert n // 3 <= held_out <= -(-n // 3), category


def _written(folder: Path, n: int, **more: object) -> Path:
    questions = [{"id": f"q{i}", "ask": "?", **more} for i in range(n)]
    (folder / "questions").mkdir(parents=True)
    file = {"category": "c", "expect": "refused", "questions": questions}
    (folder / "questions" / "a.yaml").write_text(yaml.safe_dump(file))
    return folder


def test_an_appended_question_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    before = {q.id: q.held_out for q in load(folder=_written(tmp_path / "before", 7))}
    after = {q.id: q.held_out for q in load(folder=_written(tmp_path / "after", 12))}
    assert sum(after.values()) == 4
    assert {i: after[i] for i in before} == before


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"gold": []}, "a.yaml, Question: gold: Unexpected keyword argument"),
        ({"expect": "answered"}, "has no gold"),
        ({"expect": "sure"}, "expect: Input should be 'answered', 'ambiguous'.* not 'sure'"),
        ({"expect": "action"}, "an action without a plan"),
        ({"fixtures": ["omega"]}, "a fixture that there is not"),
        ({"golds": ["SELECT 1"]}, "golds and no charts"),
        ({"golds": ["SELECT 1"], "charts": ["pie"]}, "charts.*Input should be 'scatter'.* not 'pie'"),
        ({"golds": [{"sql": "SELECT 1", "tops": 3}]}, "golds.0.tops: Unexpected"),
        ({"also": ["perhaps"]}, "also.0"),
        ({"golds": [{"where": "x"}]}, "lacks a key"),
    ],
)
def test_a_question_that_cannot_be_used(more: dict[str, object], why: str, tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match=why):
        load(folder=_written(tmp_path, 1, **more))


def test_two_of_one_id(tmp_path: Path) -> None:
    _written(tmp_path, 1)
    (tmp_path / "questions" / "b.yaml").write_text((tmp_path / "questions" / "a.yaml").read_text())
    with pytest.raises(QuestionError, match="two questions are called q0"):
        load(folder=tmp_path)


def test_each_stands_for_all_alternates(tmp_path: Path) -> None:
    gold = {"sql": "SELECT 1 FROM {each}", "each": ["cfg", "runs"], "order": "n", "top": 3}
    (found,) = load(folder=_written(tmp_path, 1, expect="answered", golds=[gold], charts=["bar"]))
    assert [(g.sql, g.order, g.top) for g in found.golds] == [
        ("SELECT 1 FROM cfg", "n", 3),
        ("SELECT 1 FROM runs", "n", 3),
    ]


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.golds], ids=lambda q: q.id)
def test_every_gold_can_be_met(question: Question, golds: dict[str, Golds]) -> None:
    """Each gold is SQL that its own rows meet; an answerable question is asked of two fixtures at least."""
    asked_in = 0
    for fixture in question.fixtures or golds:
        tables = [golds[fixture].table(g.sql) for g in question.golds]
        asked_in += any(t.rows for t in tables)
        for gold, right in zip(question.golds, tables, strict=True):
            assert len(right.rows) <= 1000  # more are cut off
            if right.rows and gold.top is None and not gold.order:
                assert difference(gold, right, right) == "", (fixture, gold.sql)
    assert asked_in >= 2

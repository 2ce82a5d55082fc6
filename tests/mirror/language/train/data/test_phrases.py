"""Made-up questions: their forms can be built, every kind is there, and words for limits say what is asked."""

import random
import re

import pytest

from mirror.language.train.data.example import NOW
from mirror.language.train.data.phrase_names import phrases
from mirror.language.train.data.phrase_parts import Parts
from mirror.language.train.data.phrases import example_of, examples, generate
from mirror.language.train.data.wordings import database_of
from mirror.query.errors import Refusal
from mirror.query.other_data.build import build
from mirror.query.other_data.form import Asked
from mirror.query.other_data.form_text import asked_of, text_of

NAME, COUNT = "cinema", 400


@pytest.fixture(scope="module")
def made() -> list[tuple[str, Asked]]:
    return list(generate(database_of(NAME), random.Random(2), COUNT))


def test_every_form_builds_and_is_the_form_of_its_text(made: list[tuple[str, Asked]]) -> None:
    database = database_of(NAME)
    assert len(made) == COUNT
    for text, asked in made:
        assert text.strip() == text
        assert "{" not in text
        assert asked_of(text_of(asked), database) == asked
        try:
            build(asked, database)
        except Refusal as refused:
            pytest.fail(f"{text}: {refused}")


def test_most_are_examples(made: list[tuple[str, Asked]]) -> None:
    database = database_of(NAME)
    fit = [example_of(text, asked, database) for text, asked in made[:100]]
    assert sum(e is not None for e in fit) >= 90
    (first,) = examples(database, random.Random(1), 1)
    assert first.line[-1].word == "end"
    assert NOW.isoformat() == "2026-11-18T12:00:00"


def test_every_kind_is_there(made: list[tuple[str, Asked]]) -> None:
    forms = [asked for _, asked in made]
    measures = [m for f in forms for m in f.measures]
    presences = [p for f in forms for p in f.presences]
    predicates = [p for f in forms for p in f.conditions]
    kinds = {
        "list": any(not f.measures and not f.groups for f in forms),
        "values": any(not f.measures and f.groups for f in forms),
        "first": any(f.ties for f in forms),
        "top": any(f.limit and f.limit > 1 for f in forms),
        "second": any(f.offset for f in forms),
        "each": any(f.per for f in forms),
        "share": any(f.of_total for f in forms),
        "outer": any(f.outer for f in forms),
        "groups": any(f.count_groups for f in forms),
        "having": any(h.value is not None for f in forms for h in f.having),
        "having mean": any(h.value is None for f in forms for h in f.having),
        "bucket": any(g.bucket for f in forms for g in f.groups),
        "ratio": any(m.over for m in measures),
        "difference": any(m.minus for m in measures),
        "span": any(m.until for m in measures),
        "none": any(p.absent for p in presences),
        "every": any(p.every for p in presences),
        "so many": any(p.count for p in presences),
        "missing": any(p.operator == "is null" for p in predicates),
        "but": any(p.operator in ("<>", "not in") for p in predicates),
    }
    wanted = {kind for kind in kinds if kind != "span"}  # no table of the cinema has two dates
    assert {kind for kind in wanted if not kinds[kind]} == set()


def test_the_same_seed_makes_the_same() -> None:
    database = database_of(NAME)
    one, other = (list(generate(database, random.Random(7), 30)) for _ in range(2))
    assert one == other
    assert one != list(generate(database, random.Random(8), 30))


@pytest.mark.parametrize(
    ("key", "sign", "words"),
    [
        (">=", ">=", r"at least|or more|no fewer|no less|not (less|under|below)|and (up|above|more)"
                     r"|or (above|over|higher)|from|min|\+|at the least|upwards"),
        (">", ">", r"more than|over|above|greater|exceed|bigger|higher|beyond|excess|larger"),
        ("<", "<", r"less than|under|below|lower|smaller|fewer"),
        ("<=", "<=", r"at most|up to|no more|not (more|over|above|exceeding)|max|or (less|under|below|lower)"
                     r"|and below"),
    ],
)  # fmt: skip
def test_words_for_limits_match_their_operators(key: str, sign: str, words: str) -> None:
    for phrase in phrases()[key]:
        said = phrase.replace("{v}", "5")
        assert re.search(words, said) or said.startswith(f"{sign} "), said
        if key in (">", "<"):
            assert not re.search(r"\b(or|and) |at |not |no |min|max|=", said), said


def test_limits_in_questions_are_those_of_the_form() -> None:
    """A number's limit is said by a phrase of its own operator."""
    parts = Parts(database_of(NAME), random.Random(3))
    films = next(t for t in parts.tables if t.name == "films")
    for _ in range(300):
        condition = parts._number(films)
        (predicate,) = condition.predicates
        digits = [k.format(v=r"\S+") for k in phrases()[predicate.operator] if "+" not in k]
        own = [p for entry in phrases()["compared"] for p in entry.get(predicate.operator, ())]
        digits += [p.format(v=r"\S+") for p in own] + [r"\S+\+"]
        assert any(re.search(d, condition.after) for d in digits), condition

"""Which word a choice teaches, and which it does not; which readings hold later; words as texts of a file."""

from datetime import datetime
from typing import Any

import pytest

from mirror.language.learning import of_other_data, of_results
from mirror.language.learning.own_words_text import said_words, text_of_word, words_of_database, words_of_results
from mirror.query.other_data.form_text import asked_of
from mirror.query.spec import Filter, Metric, Order, QuerySpec
from mirror.schema.own_words import CURVES, RESULTS, OwnWord
from mirror.schema.profile import Profile
from tests.mirror.language.reading.library import DATABASE

NOW = datetime(2025, 6, 15)
CRIME = {"measure": ["count(books)"], "where": ["books.genre = 'crime'"]}
LONG = {"of": "books", "show": ["books.title"], "where": ["books.pages > 300"]}


@pytest.mark.parametrize(
    ("question", "form", "taught"),
    [
        ("how many punters per city", {"measure": ["count(members)"], "by": ["members.city"]}, "members"),
        ("average dosh by genre", {"measure": ["avg(books.price)"], "by": ["books.genre"]}, "books.price"),
        ("total dosh per member", {"measure": ["sum(loans.fee)"], "by": ["members"]}, "loans.fee"),
        ("how many whodunit books", CRIME, "books.genre = 'crime'"),
        # Two unsaid parts: the table and the value.
        ("how many whodunits", CRIME, None),
        # What turns the meaning round is no name of the value.
        ("how many unwhodunit books", {**CRIME, "where": ["books.genre <> 'crime'"]}, None),
        ("how many books without crime", {**CRIME, "where": ["books.genre <> 'crime'"]}, None),
        # A word beside a number may be its unit.
        ("books with more than 300 leaves", LONG, None),
        # All of the reading is said by other words.
        ("average zorb price by genre", {"measure": ["avg(books.price)"], "by": ["books.genre"]}, None),
        # Two words that name nothing.
        ("zorb zork by genre", {"measure": ["avg(books.price)"], "by": ["books.genre"]}, None),
        # No word that names nothing.
        ("average price by genre", {"measure": ["avg(books.pages)"], "by": ["books.genre"]}, None),
        # With the word the question would still be read otherwise.
        ("average dosh by genre", {"measure": ["max(books.price)"], "by": ["books.genre"]}, None),
    ],
)
def test_the_word_that_a_choice_over_other_data_teaches(
    question: str, form: dict[str, Any], taught: str | None
) -> None:
    own = of_other_data.taught_word(question, asked_of(form, DATABASE), DATABASE, NOW)
    assert (own and text_of_word(own)) == taught


@pytest.mark.parametrize("word", ["without", "excluding", "unlike", "kg", "dozen", "ab", "x2"])
def test_negations_units_and_short_words_are_never_learnt(word: str) -> None:
    form = asked_of({"measure": ["avg(books.price)"], "by": ["books.genre"]}, DATABASE)
    assert of_other_data.taught_word(f"average {word} by genre", form, DATABASE, NOW) is None


@pytest.mark.parametrize(
    ("question", "where", "holds"),
    [
        ("loans in 2024", ["loans.lent >= '2024-01-01'", "loans.lent < '2025-01-01'"], True),
        ("loans in march 2024", ["loans.lent >= '2024-03-01'", "loans.lent < '2024-04-01'"], True),
        ("loans since 2024-03-02", ["loans.lent >= '2024-03-02'"], True),
        ("loans that came back", ["loans.returned is not null"], True),
        ("loans last month", ["loans.lent >= '2025-05-01'", "loans.lent < '2025-06-01'"], False),
        ("loans in march", ["loans.lent >= '2025-03-01'", "loans.lent < '2025-04-01'"], False),
        ("loans older than 2 years", ["loans.lent < '2023-06-15'"], False),
        ("recent loans", ["loans.lent >= '2025-05-15'"], False),
    ],
)
def test_what_is_told_from_the_present_does_not_hold_later(question: str, where: list[str], holds: bool) -> None:
    form = asked_of({"of": "loans", "show": ["loans.id"], "where": where}, DATABASE)
    assert of_other_data.holds_later(question, form, NOW) is holds


# -- results -----------------------------------------------------------------------------------------------------------

MEMORY = QuerySpec("groups", (Metric("memory_mb", "avg"),), ("method",))


@pytest.mark.parametrize(
    ("question", "spec", "taught"),
    [
        ("average tardiness by method", QuerySpec("groups", (Metric("latency_us", "avg"),), ("method",)), "latency_us"),
        ("memory by gizmo", MEMORY, "method"),
        (
            "memory by method on bookish",
            QuerySpec("groups", MEMORY.metrics, ("method",), filters=(Filter("dataset", "=", ("frappe",)),)),
            "dataset = frappe",
        ),
        ("average zorb memory by method", MEMORY, None),
        ("zorb zork by method", MEMORY, None),
        ("memory by method", QuerySpec("groups", (Metric("auc", "avg"),), ("method",)), None),
        ("average tardiness by method", QuerySpec("groups", (Metric("latency_us", "median"),), ("method",)), None),
        (
            "snappiest method",
            QuerySpec("best", (Metric("latency_us"),), ("method",), order=(Order("latency_us"),)),
            None,
        ),
        ("memory at 64 gizmos by method", MEMORY, None),
    ],
)
def test_the_word_that_a_choice_over_the_results_teaches(
    profile: Profile, question: str, spec: QuerySpec, taught: str | None
) -> None:
    own = of_results.taught_word(question, spec, profile, NOW)
    assert (own and own.name) == taught


def test_results_told_from_the_present_do_not_hold_later() -> None:
    timed = QuerySpec("rows", filters=(Filter("started_at", ">=", ("2025-06-14",)),))
    assert of_results.holds_later("memory by gizmo", MEMORY, NOW)
    assert not of_results.holds_later("what ran yesterday", timed, NOW)
    assert not of_results.holds_later("the newest of it", timed, NOW)
    assert of_results.holds_later("what ran since 2025-06-14", timed, NOW)


# -- texts -------------------------------------------------------------------------------------------------------------


def test_words_are_texts_and_what_is_gone_or_wrong_is_passed_over(profile: Profile) -> None:
    own = {"punters": "members", "dosh": "books.price", "whodunit": "books.genre = 'crime'"}
    texts = (
        *("books.nope", "x y z", "books.genre = 'nope'", "month of loans.lent", "books.price > 3", "nope", ""),
        *("books.genre =", "books.price = 10", "'; DROP TABLE books --"),
    )
    wrong = {f"wrong{i}": text for i, text in enumerate(texts)}
    words = words_of_database({**own, **wrong}, DATABASE)
    assert {w.word: text_of_word(w) for w in words} == own
    named = {"heft": "memory_mb", "clicky": "dataset = frappe", "fall": f"{CURVES}.loss"}
    gone = {"a": "nope", "b": "dataset = nope", "c": f"{CURVES}.nope", "d": "", "e": "compression = 0.1"}
    found = words_of_results({**named, **gone}, Profile(distinct=profile.distinct, curves=("loss",)))
    assert {w.word: w.name for w in found} == named


def test_a_learnt_word_is_found_in_any_of_its_forms() -> None:
    words = (OwnWord("punters", "members"), OwnWord("heft", RESULTS, "memory_mb"))
    assert said_words("each punter's city", words) == (words[0],)
    assert said_words("HEFT of punters", words) == words
    assert said_words("left", words) == ()

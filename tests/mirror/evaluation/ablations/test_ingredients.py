"""Each ingredient, switched off, changes how a question that needs it is read; on again, nothing of that is left."""

import math
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from mirror.answer import policy
from mirror.data.process.sandbox import Sandbox
from mirror.evaluation.ablations.ingredients import (
    EVERYWHERE,
    INGREDIENTS,
    OTHER,
    RESULTS,
    NoIngredientError,
    ingredient,
    noting,
    without,
)
from mirror.evaluation.ablations.unused_forms import FORMS
from mirror.language.neural import results_items
from mirror.language.ranking import candidates, results_decision, results_readings
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.language.reading import covers, reading
from mirror.query.other_data.form import Asked, ColumnRef, GroupBy, Measure, Predicate
from mirror.schema.database import Column, ForeignKey
from mirror.schema.profile import Profile
from tests.mirror.language.reading.library import DATABASE

NOW = datetime(2025, 6, 15)
LOANS = DATABASE.relation("loans")
COUNTED = replace(LOANS, columns=(*LOANS.columns, Column("qty", "integer", low=1, high=9)))
LIBRARY = replace(DATABASE, relations=(*DATABASE.relations[:2], COUNTED))

# Ingredient of other data -> a question that needs it.
NEEDED_BY = {
    "stems": "how many member",
    "typos": "how many membres",
    "spelled-numbers": "members with more than three loans",
    "times": "loans in 2024",
    "likeness": "how many members",
    "partial-names": "members by birth",
    "values": "members in Bern",
    "partial-values": "fees of Carlsen",
    "synonyms": "how many rentals",
    "abbreviations": "total quantity of loans",
    "adjectives": "the oldest member",
    "measure-words": "how long is Red Sand",
    "first-reader": "how many members",
    "second-reader": "how many members",
    "ranker": "how many members",
    "coverage": "members with both fees",
    "showing-first": "fees of crime books",
    "compared-rows": "how many members",
}
# Ingredient of the results -> a question that needs it, where the words alone tell.
OF_RESULTS = {
    "stems": "latencies of the trainings",
    "typos": "average latncy by method",
    "spelled-numbers": "latency at batch size sixteen thousand three hundred eighty-four",
    "times": "average latency since 2026-11-01",
    "catalogue-synonyms": "footprint by method",
}
# What is tried of the readings of a question.
WEIGHED = ("likeness", "ranker", "showing-first")
METHODS = {"method": ("dense", "double_hash", "hashed")}
PROFILE = Profile(
    distinct={**METHODS, "benchmark": ("lookup",)},
    distinct_by_benchmark={"lookup": METHODS},
    filled_metrics={"lookup": frozenset(("latency_us", "memory_mb"))},
)
# Form -> a question that the reader with the words reads so.
SAID = {
    "spans-of-time": "number of loans by month in 2025",
    "ratios": "what share of members are students",
    "counted-if": "what share of members are students",
    "differences": "how many more loans in 2025 than in 2024",
    "time-between": "how long are books lent on average",
    "of-groups": "average number of loans per member",
    "first-places": "which genre has the most books",
    "later-places": "the second most expensive book",
    "above-mean": "books that cost more than average",
    "absence": "books that were never lent",
    "presence": "members with more than 2 loans",
    "group-limits": "genres with more than 1 book",
}


def told(question: str) -> tuple[str, list[tuple[str, float]]]:
    """What becomes of a question about the library, and its readings with their chances."""
    found = candidates.candidates(question, LIBRARY, NOW, lambda built: ((1,),))
    known = covers.covers_of(question, LIBRARY, NOW)
    decision = policy.decide(found, known[0].skipped if known else ())
    return decision.kind, [(repr(c.asked), c.chance) for c in found]


def test_there_is_a_question_for_every_ingredient() -> None:
    assert {i.name for i in INGREDIENTS if set(OTHER) <= set(i.of)} == NEEDED_BY.keys() | FORMS.keys()
    assert {i.name for i in INGREDIENTS if set(RESULTS) <= set(i.of)} == {*OF_RESULTS, *WEIGHED}
    assert len({i.name for i in INGREDIENTS}) == len(INGREDIENTS)
    assert all(set(i.of) in (set(OTHER), set(RESULTS), set(EVERYWHERE)) for i in INGREDIENTS)


@pytest.mark.parametrize(("name", "question"), NEEDED_BY.items())
def test_off_other_data_are_read_otherwise_and_on_as_before(name: str, question: str) -> None:
    before = told(question)
    with without(ingredient(name)):
        assert told(question) != before
    assert told(question) == before


def test_without_stems_a_singular_no_longer_names_a_table() -> None:
    assert told("how many member")[0] == "answer"
    with without(ingredient("stems")):
        assert told("how many member")[0] != "answer"


def test_without_values_no_condition_is_read_of_a_city() -> None:
    (_, [(first, _), *_]) = told("members in Bern")
    assert "Bern" in first
    with without(ingredient("values")):
        assert all("Bern" not in asked for asked, _ in told("members in Bern")[1])


def test_without_the_network_only_words_are_left_and_the_other_way_round() -> None:
    question = "total fee by city"
    with without(ingredient("second-reader")):
        found = candidates.candidates(question, LIBRARY, NOW, lambda built: None)
        assert found
        assert all(c.second is None for c in found)
    with without(ingredient("first-reader")):
        found = candidates.candidates(question, LIBRARY, NOW, lambda built: None)
        assert found
        assert all(c.first is None for c in found)


def test_without_the_ranker_the_cheapest_words_come_first() -> None:
    with without(ingredient("ranker")):
        found = candidates.candidates("average price of crime books", LIBRARY, NOW, lambda built: None)
    costs = [c.first.cost if c.first else 4.0 for c in found]
    assert len(costs) > 1
    assert costs == sorted(costs)


@pytest.mark.parametrize(("form", "question"), SAID.items())
def test_a_form_that_is_off_is_read_by_neither_reader(form: str, question: str) -> None:
    def forms() -> list[bool]:
        found = candidates.candidates(question, LIBRARY, NOW, lambda built: None)
        return [FORMS[form](c.asked) for c in found]

    assert FORMS[form](reading.readings(question, LIBRARY, NOW)[0].asked)
    assert any(forms())
    with without(ingredient(form)):
        assert not any(forms())
    assert any(forms())


def test_forms_that_no_question_above_has() -> None:
    one, other = ColumnRef("loans", "fee"), ColumnRef("books", "price")
    key = ForeignKey("loans", ("member_id",), "members", ("id",))
    counted = Measure("count", "loans")
    plain = Asked("loans", (counted,))
    with_form = {
        "top-per-group": replace(plain, per=1),
        "products": Asked("loans", (Measure("sum", "loans", (one, other)),)),
        "two-columns": replace(plain, conditions=(Predicate(one, ">", (other,)),)),
        "roles": replace(plain, groups=(GroupBy("members", role=key),)),
        "ways": replace(plain, via=("books",)),
    }
    assert with_form.keys() | SAID.keys() == FORMS.keys()
    for form, asked in with_form.items():
        assert [name for name, holds in FORMS.items() if holds(asked)] == [form]
    assert not any(holds(plain) for holds in FORMS.values())


@pytest.mark.parametrize(
    "question", ["how many membres", "loans in 2024", "fees of Carlsen", "books that were never lent", "price by genre"]
)
def test_what_a_question_did_not_meet_changes_nothing(question: str) -> None:
    """The run copies these answers; here they are really asked for."""
    met: set[str] = set()
    with noting(met):
        before = told(question)
    seldom = [i for i in INGREDIENTS if i.seldom and set(OTHER) <= set(i.of)]
    for one in [i for i in seldom if i.name not in met]:
        with without(one):
            assert told(question) == before, one.name


def test_most_questions_meet_few() -> None:
    met: set[str] = set()
    with noting(met):
        told("how many books")
    assert met.isdisjoint(("values", "partial-values", "typos", "times", "absence", "ratios"))
    with noting(met):
        told("how many boks in 2024")
    assert {"typos", "times"} <= met


def words_of(question: str) -> Any:
    """What the network sees of a question over the results."""
    items = results_items.results_items(question, PROFILE, NOW)
    return items.tokens, items.literals, items.relations.tolist()


@pytest.mark.parametrize(("name", "question"), OF_RESULTS.items())
def test_off_words_of_results_are_read_otherwise_and_on_as_before(name: str, question: str) -> None:
    before = words_of(question)
    with without(ingredient(name)):
        assert words_of(question) != before
    assert words_of(question) == before


def test_off_the_readings_of_results_are_weighed_otherwise(box: Sandbox) -> None:
    question = "average latency by method in lookup"

    def read() -> list[ResultsCandidate]:
        return results_readings.results_readings(question, box, NOW)

    before = read()
    with without(ingredient("likeness")):
        assert {c.read.score for c in read()} != {c.read.score for c in before}
    with without(ingredient("ranker")):
        assert all(c.chance == pytest.approx(math.exp(c.features["score"])) for c in read())
    unlikely = [replace(c, chance=0.5) for c in before]
    assert results_decision.answered_at_once(unlikely) is None
    with without(ingredient("showing-first")):
        assert results_decision.answered_at_once(unlikely) == unlikely[0]
    assert read() == before


def test_an_unknown_name_lists_those_that_there_are() -> None:
    with pytest.raises(NoIngredientError, match=r"'stem': name one of stems, typos"):
        ingredient("stem")

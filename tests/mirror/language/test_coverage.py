"""No word that was read is dropped: the answer holds it, or the question is refused with the word."""

from copy import deepcopy
from dataclasses import replace

import pytest

from mirror.answer.answering import ask
from mirror.data.process.sandbox import Sandbox
from mirror.language.grammar import coverage, grammar
from mirror.language.grammar.shapes import kind_of, spec_of
from mirror.query.errors import Refusal
from mirror.query.spec import Filter, QuerySpec
from mirror.schema.profile import Profile

pytestmark = pytest.mark.usefixtures("grammar_first")  # what becomes of its reading is tested


def spec(question: str, profile: Profile) -> QuerySpec:
    return grammar.parse(question, profile)


def told(question: str, box: Sandbox) -> str:
    answer = ask(question, sandbox=box, use_model=False)
    assert answer.status == "answered", answer.summary
    return answer.summary


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("how many times is hashed the best in auc", "how many times"),
        ("top 5 by auc sorted by memory", "sorted by memory"),
        ("average number of trials per method", "average"),
        ("as a line chart and as a bar chart: auc by compression", "line chart"),
        ("pareto front of memory and auc with the median", "median"),
        ("which methods are not faster than dense in lookup", "not faster"),
        ("how many trials were measured for latency", "latency"),
    ],
)
def test_what_the_spec_does_not_hold_is_refused_by_its_word(question: str, word: str, profile: Profile) -> None:
    with pytest.raises(Refusal, match=f"“{word}”"):
        spec(question, profile)


@pytest.mark.parametrize(
    ("question", "lost"),
    [
        ("top 5 methods by AUC", {"limit": None}),
        ("AUC by method on frappe", {"filters": ()}),
        ("AUC by method on frappe", {"dimensions": ()}),
        ("median latency by method in lookup", {"metrics": ()}),
        ("how many different methods are there", {"distinct": None}),
        ("smallest memory without losing quality", {"within": None}),
        ("auc by method sorted by memory", {"order": ()}),
    ],
)
def test_a_shape_that_loses_a_slot_is_caught(question: str, lost: dict[str, object], profile: Profile) -> None:
    slots = grammar.slots_of(question, profile)
    read = deepcopy(slots)
    made = spec_of(slots)
    coverage.check(read, made)
    with pytest.raises(Refusal, match="cannot take in"):
        coverage.check(read, replace(made, **lost))  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["not by method", "not on"])
def test_a_negation_leaves_something_out(word: str, profile: Profile) -> None:
    with pytest.raises(Refusal, match="not clear what “not” leaves out"):
        spec(f"latency {word}", profile)


def test_a_denied_comparative_of_two_methods_is_told_by_their_numbers(profile: Profile) -> None:
    assert spec("why is hashed not faster than dense in lookup", profile).explain
    assert kind_of(spec("is hashed faster than dense or not", profile)) in ("verdicts", "groups", "relative")


@pytest.mark.parametrize(
    "question",
    [
        "compare auc of hashed at 0.1 with small_dim at 0.5",
        "is compression 0.1 hashed better than compression 0.5 small_dim in auc",
        "auc of hashed on frappe vs small_dim on ml-206k",
    ],
)
def test_two_sides_with_values_of_their_own_are_not_crossed(question: str, profile: Profile) -> None:
    with pytest.raises(Refusal, match="of their own"):
        spec(question, profile)


@pytest.mark.parametrize("question", ["hashed vs small_dim auc at 0.1", "auc at 0.1 of hashed and small_dim"])
def test_a_value_for_both_sides_is_one_filter(question: str, profile: Profile) -> None:
    assert Filter("compression", "=", (0.1,)) in spec(question, profile).filters


@pytest.mark.parametrize(
    ("question", "against"),
    [
        ("auc of hashed 0.1 relative to hashed 0.5", Filter("compression", "=", (0.5,))),
        ("is hashed at 0.1 better than hashed at 0.5 in auc", Filter("compression", "=", (0.5,))),
        ("is dim 64 slower than dim 16 for dense in lookup", Filter("embedding_dim", "=", (16,))),
    ],
)
def test_of_one_method_two_values_are_compared(question: str, against: Filter, profile: Profile) -> None:
    asked = spec(question, profile)
    assert (asked.shape, asked.against) == ("relative", against)


def test_smaller_than_a_method_has_it_as_the_reference(profile: Profile) -> None:
    asked = spec("which methods are smaller than small_dim on frappe", profile)
    assert (asked.against, asked.claim) == (Filter("method", "=", ("small_dim",)), "better")


def test_several_ends_of_an_axis(profile: Profile) -> None:
    batch_sizes = sorted(profile.values("batch_size", "lookup"), key=float)
    for question, expected in (
        ("dense latency at the two largest batch sizes in lookup", batch_sizes[-2:]),
        ("dense latency at the smallest 2 batch sizes in lookup", batch_sizes[:2]),
        ("dense latency at the maximum batch size in lookup", batch_sizes[-1:]),
    ):
        found = next(f for f in spec(question, profile).filters if f.column == "batch_size")
        assert sorted(found.values, key=float) == expected


@pytest.mark.parametrize("question", ["hashed has the best auc, right?", "is hashed the best in auc"])
def test_a_claim_of_one_method_ranks_it_among_all(question: str, profile: Profile) -> None:
    asked = spec(question, profile)
    assert asked.shape == "best"
    assert not any(f.column == "method" for f in asked.filters)
    assert "hashed among all methods" in asked.notes
    assert any(f.column == "method" for f in spec("the best auc of hashed", profile).filters)


@pytest.mark.parametrize("word", ["halving", "weighted", "trimmed"])
def test_no_word_is_corrected_to_one_that_says_nothing(word: str, profile: Profile) -> None:
    with pytest.raises(Refusal, match=f"“{word}”"):
        spec(f"{word} latency of dense", profile)


def test_a_typo_within_a_phrase_is_corrected(profile: Profile) -> None:
    asked = spec("standart deviation of latency by method", profile)
    assert asked.metrics[0].aggregate == "stddev"


def test_how_big_a_gap_is_asks_for_no_memory(profile: Profile) -> None:
    assert [m.column for m in spec("how big is the AUC gap between hashed and dense", profile).metrics] == ["auc"]
    assert [m.column for m in spec("how big is hashed", profile).metrics] == ["memory_mb"]


def test_both_comparatives_of_two_methods_are_shown(profile: Profile) -> None:
    asked = spec("hashed or small_dim: which has better auc at 0.1 and which is smaller", profile)
    assert {m.column for m in asked.metrics} == {"auc", "memory_mb"}
    asked = spec("how much faster is hashed than dense in lookup and how much memory does it take", profile)
    assert {m.column for m in asked.metrics} == {"latency_us", "memory_mb"}


def test_two_methods_lead_and_machines_part_their_pairs(profile: Profile) -> None:
    asked = spec("does hashed beat dense on both machines", profile)
    assert asked.against == Filter("method", "=", ("dense",))
    assert "machine" in asked.dimensions


def test_an_empty_claim_is_told_as_one(box: Sandbox) -> None:
    assert told("which methods beat dense on auc at 0.1 on frappe", box).startswith("None is better than dense in AUC")


def test_failures_are_ranked_and_told_apart(profile: Profile) -> None:
    asked = spec("which method has the most failures", profile)
    assert asked.limit == 1
    assert asked.order[0].descending
    assert "machine" in spec("why did trials fail by machine", profile).dimensions
    assert spec("how often did each method fail", profile).dimensions == ("method",)


def test_one_thing_is_counted_at_a_time(profile: Profile) -> None:
    with pytest.raises(Refusal, match="counted at a time"):
        spec("how many different dims and batch sizes are there", profile)

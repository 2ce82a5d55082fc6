"""Forms over the results as lines of actions, and back."""

import math
import random
from dataclasses import replace

import pytest

from mirror.language.neural.action_language import Action, Inexpressible, State
from mirror.language.neural.items import MOST_TOKENS, Items
from mirror.language.neural.results_actions import ResultsReader, ResultsWriter, _end_of, _in_unit_of, bare_of
from mirror.language.neural.results_grammar import RESULTS_LANGUAGE
from mirror.language.neural.results_items import MOST_COLUMNS, MOST_LITERALS, MOST_UNSAID, results_items
from mirror.language.neural.results_numbers import BYTES, TIME, NumberSaid
from mirror.language.neural.results_reader import network_readings
from mirror.query.spec import Filter, Metric, Order, QuerySpec
from tests.mirror.language.neural.results_questions import NOW, PROFILE, QUESTIONS, form_of


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_written_is_read_again(question: str) -> None:
    spec = form_of(question)
    items = results_items(question, PROFILE, NOW)
    line = ResultsWriter(spec, items, PROFILE).line()
    assert bare_of(ResultsReader(line, items, PROFILE).asked()) == bare_of(spec)
    state, there = State(), RESULTS_LANGUAGE.there(RESULTS_LANGUAGE.classes(items))
    for action in line:
        assert action.word in RESULTS_LANGUAGE.allowed(state, there)
        state = RESULTS_LANGUAGE.step(state, action.word)


def _walk(items: Items, rng: random.Random) -> list[Action]:
    """Any line that is allowed."""
    classes = RESULTS_LANGUAGE.classes(items)
    there = RESULTS_LANGUAGE.there(classes)
    state, line = State(), [Action("")]
    while line[-1].word != "end":
        word = rng.choice(RESULTS_LANGUAGE.allowed(state, there))
        kind = RESULTS_LANGUAGE.pointer_at.get(word)
        line.append(Action(word, -1 if kind is None else rng.choice(classes[:, kind].nonzero()[0].tolist())))
        state = RESULTS_LANGUAGE.step(state, word)
    return line[1:]


@pytest.mark.parametrize("question", ["?", "how many", *QUESTIONS[:30:6]])
def test_every_line_comes_to_an_end_and_is_read(question: str) -> None:
    rng = random.Random(question)
    items = results_items(question, PROFILE, NOW)
    for _ in range(60):
        line = _walk(items, rng)
        assert len(line) <= RESULTS_LANGUAGE.most_actions
        try:
            ResultsReader(line, items, PROFILE).asked()
        except Inexpressible:
            continue


def test_numbers_that_are_not_said_are_not_written_and_values_may_be_meant() -> None:
    spec = QuerySpec("best", (Metric("auc", "avg"),), order=(Order("auc", True),))
    items = results_items("best AUC", PROFILE, NOW)

    def line(condition: Filter) -> list[Action]:
        return ResultsWriter(replace(spec, filters=(condition,)), items, PROFILE).line()

    for condition in (Filter("memory_mb", "<", (17,)), Filter("method", "=", ("no such method",))):
        with pytest.raises(Inexpressible):
            line(condition)
    meant = Filter("direction", "=", ("forward",))  # "without gradients"
    assert ResultsReader(line(meant), items, PROFILE).asked().filters == (meant,)


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("under 0.5 MB", 0.5), ("half a gigabyte", 500), ("0.1ms", 100), ("95 % pruned", 0.05), ("at 5%", 0.05),
        ("20x smaller", 0.05), ("a tenth of it", 0.1), (".05 kept", 0.05), ("1M rows", 1_000_000), ("bs=64", 64),
        ("1/4 of it", 0.25), ("0,1 kept", 0.1), ("batch 64,512", 512), ("d16", 16), ("1e-3 away", 0.001),
        ("twenty tables", 20), ("3 GB/s", 3), ("2k ids", 2000), ("10,000 rows", 10_000),
    ],
)  # fmt: skip
def test_numbers_are_known_as_they_are_meant(said: str, number: float) -> None:
    literals = results_items(said, PROFILE, NOW).literals
    assert number in [k.value for k in literals if isinstance(k, NumberSaid)]


def test_items_are_bounded() -> None:
    for question in ("hashed 0.5 since monday " * 10_000, "x" * 100_000, "1" * 100_000, ""):
        items = results_items(question, PROFILE, NOW)
        assert len(items.tokens) <= MOST_TOKENS
        assert len(items.columns) <= MOST_COLUMNS
        assert len(items.literals) <= MOST_LITERALS + MOST_UNSAID


@pytest.mark.parametrize(
    "text", ["", "?", "x" * 10_000, "auc " * 10_000, "ａｕｃ ‮ '; DROP TABLE trials; --", "1" * 5_000, "∞ NaN -0"]
)
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(network_readings(results_items(text, PROFILE, NOW), PROFILE), list)


def test_the_network_that_ships_reads_plain_questions() -> None:
    for text in ("mean AUC of each method", "how many trials are there per data set", "memory against AUC"):
        readings = network_readings(results_items(text, PROFILE, NOW), PROFILE)
        assert bare_of(form_of(text)) in [bare_of(r.asked) for r in readings], text


def test_readings_that_differ_in_order_alone_are_one() -> None:
    items = results_items("hashed and dense, latency at dim 32 in lookup", PROFILE, NOW)
    found = network_readings(items, PROFILE, 4)
    said = {
        (r.asked.shape, r.asked.metrics, r.asked.dimensions, r.asked.order,
         frozenset((f.column, f.operator, frozenset(f.values)) for f in r.asked.filters))
        for r in found
    }  # fmt: skip
    assert len(said) == len(found) > 1
    assert [r.score for r in found] == sorted((r.score for r in found), reverse=True)
    assert sum(math.exp(r.score) for r in found) < 1.0001


def test_numbers_are_in_the_unit_of_their_column() -> None:
    ms, mb = NumberSaid("number", 0, 2, 5000, None, TIME), NumberSaid("number", 0, 2, 10, None, BYTES)
    assert _in_unit_of("latency_us", ms) == 5000
    assert _in_unit_of("duration_s", ms) == 0.005
    assert _in_unit_of("bytes_moved", mb) == 10_000_000
    for wrong in ("bandwidth_gb_s", "batch_size"):
        with pytest.raises(Inexpressible):
            _in_unit_of(wrong, mb)


def test_ends_are_of_the_benchmarks_that_can_answer() -> None:
    by = {"lookup": {"embedding_dim": (16, 256)}, "training": {"embedding_dim": (16, 64)}}
    held = replace(PROFILE, distinct={**PROFILE.distinct, "embedding_dim": (16, 64, 256)}, distinct_by_benchmark=by)
    assert _end_of("embedding_dim", "max", (), held, ["auc"]) == 64
    assert _end_of("embedding_dim", "max", (), held, []) == 256
    lookups = (Filter("benchmark", "=", ("lookup",)),)
    assert _end_of("embedding_dim", "max", lookups, held, ["memory_mb"]) == 256

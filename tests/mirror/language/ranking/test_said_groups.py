"""Readings that do not group by what a question says in so many words give way to those that do."""

import math
from collections.abc import Iterator
from datetime import datetime

import pytest
from measured_records import record, stored

from mirror.data.process.sandbox import Sandbox
from mirror.language.neural.items import Items
from mirror.language.neural.results_items import results_items
from mirror.language.neural.results_reader import ResultsReading
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.language.ranking.said_groups import heeding
from mirror.query.spec import Filter, Metric, QuerySpec

NOW = datetime(2026, 11, 20, 15, 24)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    axes = {"operator": "softmax", "working_set": "in_l3", "direction": "forward", "output": "fresh", "threads": 1}
    of = [
        record("memory_ops", method, {**axes, "seed": 0}, {"latency_us": 1.0}, "eager") for method in ("eager", "gir")
    ]
    with Sandbox(stored(of, tmp_path_factory.mktemp("said"))) as sandbox:
        yield sandbox


def items(question: str, box: Sandbox) -> Items:
    return results_items(question, box.schema(), NOW)


def candidate(chance: float, *dimensions: str, filters: tuple[Filter, ...] = ()) -> ResultsCandidate:
    spec = QuerySpec("groups", (Metric("avg", "latency_us"),), dimensions, filters=filters)
    return ResultsCandidate(spec, spec, ResultsReading(spec, math.log(chance), ()))


def chances(found: list[ResultsCandidate]) -> dict[tuple[str, ...], float]:
    return {c.asked.dimensions: round(math.exp(c.read.score), 3) for c in found}


@pytest.mark.parametrize(
    "question", ["latency by operator", "latency per operator", "latency by each operator", "which operator is slow"]
)
def test_those_that_heed_it_get_the_chance_of_the_others(question: str, box: Sandbox) -> None:
    found = [candidate(0.5, "method"), candidate(0.3, "operator"), candidate(0.1, "operator", "threads")]
    assert chances(heeding(found, items(question, box))) == {("operator",): 0.675, ("operator", "threads"): 0.225}


@pytest.mark.parametrize("question", ["latency of the operator", "latency by something", "latency", "by", "latency by"])
def test_all_stay_where_nothing_is_said(question: str, box: Sandbox) -> None:
    found = [candidate(0.5, "method"), candidate(0.3, "operator")]
    assert heeding(found, items(question, box)) == found


def test_all_stay_where_none_or_all_of_them_heed_it(box: Sandbox) -> None:
    found = [candidate(0.5, "method"), candidate(0.3, "threads")]
    assert heeding(found, items("latency by operator", box)) == found
    assert heeding(found[:1], items("latency by method", box)) == found[:1]
    assert heeding([], items("latency by method", box)) == []


def test_what_is_compared_with_is_used_too(box: Sandbox) -> None:
    of_one = candidate(0.3, "method", filters=(Filter("operator", "in", ("softmax",)),))
    found = [candidate(0.5, "method"), of_one]
    assert [c.asked for c in heeding(found, items("latency by operator softmax", box))] == [of_one.asked]


def test_a_metric_is_no_group(box: Sandbox) -> None:
    found = [candidate(0.5, "method"), candidate(0.3, "operator")]
    assert heeding(found, items("methods by latency", box)) == found


def test_one_reading_in_two_benchmarks_counts_once(box: Sandbox) -> None:
    heeds, other = candidate(0.3, "operator"), candidate(0.6, "method")
    found = heeding([heeds, heeds, other], items("latency by operator", box))
    assert [round(math.exp(c.read.score), 3) for c in found] == [0.9, 0.9]

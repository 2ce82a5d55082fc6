"""When two readings of a question are the same query, and what is said when they are not."""

from dataclasses import replace

import pytest

from mirror.language.train.data.spec_text import asked_of
from mirror.query.agreement import Agreement, agreement
from mirror.query.complete import complete
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import ChartWish, Filter, Metric, Order, QuerySpec

SPEC = QuerySpec(
    "groups",
    (Metric("latency_us", "avg"), Metric("memory_mb", "avg")),
    dimensions=("method", "batch_size"),
    filters=(Filter("benchmark", "=", ("lookup",)), Filter("method", "in", ("dense", "hashed"))),
)
POINTS = QuerySpec(
    "points",
    (Metric("memory_mb"), Metric("auc")),
    dimensions=("method", "dataset", "compression", "seed"),
    filters=(Filter("compression", "=", (0.1,)),),
)
RANKING = QuerySpec(
    "ranking", (Metric("latency_us", "avg"),), ("method", "batch_size"), order=(Order("latency_us"),), limit=5
)
CHANGE = QuerySpec("change", (Metric("latency_us"),), ("method",), source="history", split="2026-11-01", claim="worse")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SPEC, SPEC),
        (SPEC, replace(SPEC, notes=("a note",), chart=ChartWish("bar", log_x=True))),
        (SPEC, replace(SPEC, filters=SPEC.filters[::-1])),
        (SPEC, replace(SPEC, filters=(*SPEC.filters, SPEC.filters[0]))),
        (SPEC, replace(SPEC, filters=(Filter("benchmark", "in", ("lookup",)), SPEC.filters[1]))),
        (SPEC, replace(SPEC, filters=(SPEC.filters[0], Filter("method", "in", ("hashed", "dense"))))),
        (SPEC, replace(SPEC, dimensions=SPEC.dimensions[::-1])),
        (SPEC, replace(SPEC, dimensions=(*SPEC.dimensions, "benchmark"))),
        (SPEC, replace(SPEC, metrics=(Metric("latency_us"), Metric("memory_mb")))),
        (SPEC, replace(SPEC, keep_baseline=True)),
        (SPEC, replace(SPEC, order=(Order("method"), Order("batch_size")))),
        (POINTS, replace(POINTS, metrics=POINTS.metrics[::-1])),
        (POINTS, replace(POINTS, filters=(Filter("compression", "in", (0.1,)),))),
        (
            replace(POINTS, filters=(Filter("seed", "=", (1,)),)),
            replace(POINTS, filters=(Filter("seed", "=", (1.0,)),)),
        ),
        (
            replace(SPEC, filters=(Filter("started_at", ">=", ("2026-11-01",)),)),
            replace(SPEC, filters=(Filter("started_at", ">=", ("2026-11-01T00:00:00",)),)),
        ),
        (
            replace(SPEC, filters=(Filter("method", "<>", ("dense",)),)),
            replace(SPEC, filters=(Filter("method", "not in", ("dense",)),)),
        ),
        (RANKING, replace(RANKING, order=(Order("latency_us"), Order("method")))),
        (replace(RANKING, shape="best"), replace(RANKING, shape="best", limit=None)),
        (CHANGE, replace(CHANGE, split="2026-11-01T00:00:00")),
        (CHANGE, replace(CHANGE, metrics=(Metric("latency_us", "median"),))),
        (CHANGE, replace(CHANGE, order=(Order("ratio_latency_us", True),))),
    ],
)
def test_spellings_of_one_query(one, other):
    assert agreement(one, other) == Agreement(True)
    assert agreement(other, one) == Agreement(True)


def with_filter(spec: QuerySpec, *filters: Filter) -> QuerySpec:
    return replace(spec, filters=(*spec.filters, *filters))


@pytest.mark.parametrize(
    ("model", "built_in", "sentence"),
    [
        (POINTS, replace(POINTS, keep_baseline=True), "also keep dense"),
        (replace(POINTS, keep_baseline=True), POINTS, "not keep dense as reference"),
        (SPEC, replace(SPEC, source="history"), "read all trials, superseded ones too, not the newest trials"),
        (SPEC, with_filter(SPEC, Filter("device", "=", ("cpu",))), "keep only device = cpu"),
        (with_filter(SPEC, Filter("device", "=", ("cpu",))), SPEC, "not ask for device = cpu"),
        (
            POINTS,
            replace(POINTS, filters=(Filter("compression", "<=", (0.1,)),)),
            "keep compression ≤ 0.1, not compression = 0.1",
        ),
        (
            POINTS,
            replace(POINTS, filters=(Filter("compression", "=", (0.5,)),)),
            "keep compression = 0.5, not compression = 0.1",
        ),
        (SPEC, replace(SPEC, metrics=(*SPEC.metrics, Metric("auc", "avg"))), "also show mean AUC"),
        (SPEC, replace(SPEC, metrics=SPEC.metrics[:1]), "not show mean memory"),
        (SPEC, replace(SPEC, metrics=SPEC.metrics[::-1]), "take mean memory for the leading metric"),
        (
            SPEC,
            replace(SPEC, metrics=(Metric("latency_us", "max"), SPEC.metrics[1])),
            "show highest latency, not mean latency",
        ),
        (SPEC, replace(SPEC, dimensions=(*SPEC.dimensions, "seed")), "also group by seed"),
        (SPEC, replace(SPEC, dimensions=("method",)), "not group by batch size"),
        (POINTS, replace(POINTS, dimensions=(*POINTS.dimensions, "batch_size")), "also show batch size"),
        (RANKING, replace(RANKING, limit=3), "show the first 3"),
        (replace(SPEC, limit=3), SPEC, "show all rows"),
        (RANKING, replace(RANKING, order=(Order("latency_us", True),)), "sort by latency, highest first"),
        (SPEC, replace(SPEC, order=(Order("memory_mb"),)), "sort by memory, lowest first"),
        (replace(SPEC, order=(Order("memory_mb"),)), SPEC, "not sort the rows"),
        (RANKING, replace(RANKING, partitions=("batch_size",)), "compare anew for each batch size"),
        (replace(RANKING, partitions=("batch_size",)), RANKING, "compare over all of them together"),
        (CHANGE, replace(CHANGE, split="2026-11-08"), "compare before and since 2026-11-08 UTC"),
        (CHANGE, replace(CHANGE, claim="better"), "answer what is better"),
        (CHANGE, replace(CHANGE, claim=None), "not answer what is worse"),
        (SPEC, replace(SPEC, verdicts=True), "show verdicts"),
        (SPEC, replace(SPEC, within=0.001), "keep only an AUC at most 0.001 below dense"),
        (replace(SPEC, within=0.001), SPEC, "keep every AUC"),
        (
            QuerySpec("count", dimensions=("method",)),
            QuerySpec("count", dimensions=("method",), distinct="dataset"),
            "count different data set, not trials",
        ),
        (
            QuerySpec("relative", (Metric("auc", "avg"),), ("method",), against=Filter("method", "=", ("hashed",))),
            QuerySpec("relative", (Metric("auc", "avg"),), ("method",), against=Filter("method", "=", ("dense",))),
            "compare with dense",
        ),
    ],
)
def test_what_differs_is_said_in_plain_words(model, built_in, sentence):
    assert agreement(model, built_in) == Agreement(False, f"The built-in reader would {sentence}.")
    assert agreement(built_in, model).same is False


def test_another_shape_comes_first():
    told = agreement(RANKING, SPEC)
    assert told.same is False
    assert told.sentence.startswith("The built-in reader would show one row per group, not rank the groups, keep only ")


def test_of_many_differences_the_first_are_told():
    told = agreement(QuerySpec("count", source="failures"), CHANGE)
    assert told.sentence.startswith(
        "The built-in reader would read all trials, superseded ones too, not the trials that are "
    )
    assert told.sentence.endswith(" more.")


def test_hostile_values_stay_on_one_line():
    told = agreement(SPEC, with_filter(SPEC, Filter("sweep", "=", ("a\n\x1b[31m\u202eb" + "c" * 500,))))
    assert told.sentence.isprintable()
    assert len(told.sentence) < 120


def test_where_the_built_in_reader_has_no_reading_nothing_is_compared():
    refused = agreement(SPEC, Refusal("The results say nothing about “foo”."))
    assert refused.same is None
    assert refused.sentence.startswith("The built-in reader does not understand this question")
    asked = agreement(SPEC, Ambiguity("lookup or training: which\n benchmark is meant?", ("a", "b")))
    assert asked == Agreement(
        None, "The built-in reader would have asked back: lookup or training: which benchmark is meant?"
    )


FORMS = (
    {"shape": "points", "metrics": ["memory_mb", "auc"], "where": ["compression = 0.1"]},
    {"shape": "best", "metrics": ["auc"], "by": ["method"], "where": ["memory_mb < 5"], "order": "auc desc"},
    {"shape": "groups", "metrics": ["auc"], "by": ["compression"], "where": ["method = 'hashed'"], "chart": "line"},
    {"shape": "ranking", "metrics": ["latency_us"], "where": ["benchmark = 'lookup'"], "order": "latency_us asc",
     "limit": 5},
    {"shape": "groups", "metrics": ["latency_us"], "by": ["method", "batch_size"]},
    {"shape": "count", "of": "failures", "where": ["status <> 'skipped'"]},
    {"shape": "best", "metrics": ["latency_us"], "by": ["method"], "where": ["batch_size = 2048"],
     "order": "latency_us desc"},
)  # fmt: skip


def test_queries_agree_with_themselves_and_with_no_other(profile):
    specs = [complete(asked_of(form), profile, "") for form in FORMS]
    for i, one in enumerate(specs):
        for j, other in enumerate(specs):
            told = agreement(one, other)
            assert told.same is (i == j), (FORMS[i], FORMS[j], told)
            assert bool(told.sentence) is (i != j)

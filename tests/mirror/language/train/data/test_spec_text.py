"""A QuerySpec as short texts: there and back, and what is wrong in one sentence."""

import pytest

from mirror.data.process.sandbox import Sandbox
from mirror.evaluation.fixture_trials import build
from mirror.evaluation.fixtures import NOW, fixtures
from mirror.evaluation.questions import load
from mirror.language.ranking.results_readings import likeliest
from mirror.language.train.data.spec_text import asked_of, text_of
from mirror.query.check import SpecError
from mirror.query.spec import ChartWish, Filter, Metric, Order, QuerySpec

SPECS = [
    (
        QuerySpec(
            "ranking",
            (Metric("auc", "avg"),),
            ("method",),
            filters=(Filter("compression", "<=", (0.2,)), Filter("dataset", "=", ("criteo",))),
            order=(Order("auc", True),),
            limit=3,
        ),
        {
            "shape": "ranking",
            "metrics": ["auc"],
            "by": ["method"],
            "where": ["compression <= 0.2", "dataset = 'criteo'"],
            "order": "auc desc",
            "limit": 3,
        },
    ),
    (
        QuerySpec("groups", (Metric("value", "avg", "loss"),), ("step",), source="curves", last=True,
                  filters=(Filter("metric", "=", ("loss",)), Filter("method", "in", ("hashed", "it's, (odd)")))),
        {"shape": "groups", "of": "curves", "metrics": ["loss"], "by": ["step"], "last": True,
         "where": ["method in ('hashed', 'it''s, (odd)')"]},
    ),
    (
        QuerySpec("relative", (Metric("latency_us", "avg"),), ("method",), against=Filter("method", "=", ("dense",)),
                  inverse=True, claim="better"),
        {"shape": "relative", "metrics": ["latency_us"], "by": ["method"], "against": "method = 'dense'",
         "inverse": True, "claim": "better"},
    ),
    (
        QuerySpec("change", (Metric("latency_us"),), source="history", split="2026-11-16",
                  filters=(Filter("padding_idx", "=", (-1,)), Filter("compression", "not in", (1.0, 1e-05)))),
        {"shape": "change", "of": "history", "metrics": ["latency_us"], "since": "2026-11-16",
         "where": ["padding_idx = -1", "compression not in (1.0, 1e-05)"]},
    ),
    (
        QuerySpec("points", (Metric("memory_mb"), Metric("auc")), within=0.0,
                  chart=ChartWish("scatter", log_x=True)),
        {"shape": "points", "metrics": ["memory_mb", "auc"], "auc_within": 0.0, "chart": "scatter, log x"},
    ),
    (
        QuerySpec("groups", (Metric("latency_us", "max"), Metric("auc")), averaged=("dataset",),
                  filters=(Filter("is_baseline", "=", (True,)),), order=(Order("max_latency_us"), Order("auc", True))),
        {"shape": "groups", "metrics": ["max(latency_us)", "raw(auc)"], "averaged": ["dataset"],
         "where": ["is_baseline = true"], "order": "max_latency_us asc, auc desc"},
    ),
    (QuerySpec("groups", filters=(Filter("benchmark", "=", ("lookup",)),)),
     {"shape": "groups", "where": ["benchmark = 'lookup'"]}),
]  # fmt: skip

WRONG = [
    ({}, "shape is None"),
    ({"shape": "pie"}, "one of points, groups"),
    ({"shape": "count", "per": "method"}, "no key 'per'"),
    ({"shape": "groups", "metrics": ["acu"]}, "the nearest is auc"),
    ({"shape": "groups", "metrics": ["mode(auc)"]}, "one of avg, min"),
    ({"shape": "count", "where": ["dataset = criteo"]}, "single quotes"),
    ({"shape": "count", "where": ["dataset in 'criteo'"]}, "in brackets"),
    ({"shape": "count", "where": ["compression is small"]}, "no condition"),
    ({"shape": "count", "where": ["seed = 1, 2"]}, "no value that can be read"),
    ({"shape": "count", "where": [3]}, "must hold texts"),
    ({"shape": "count", "limit": "3"}, "whole number"),
    ({"shape": "count", "verdicts": "yes"}, "true or false"),
    ({"shape": "best", "metrics": ["auc"], "order": "auc"}, "like auc desc"),
    ({"shape": "best", "metrics": ["auc"]}, "order is missing"),
    ({"shape": "points", "metrics": ["auc"], "chart": "line, bar"}, "keep one"),
    ({"shape": "points", "metrics": ["auc"], "chart": "pie"}, "one of scatter"),
]


@pytest.mark.parametrize(("spec", "mapping"), SPECS)
def test_there_and_back(spec: QuerySpec, mapping: dict) -> None:
    assert text_of(spec) == mapping
    assert asked_of(mapping) == spec


@pytest.mark.parametrize(("mapping", "told"), WRONG)
def test_what_is_wrong_is_told_in_a_sentence(mapping: dict, told: str) -> None:
    with pytest.raises(SpecError) as error:
        asked_of(mapping)
    assert told in str(error.value)
    assert str(error.value).endswith(".")


def test_a_list_may_be_one_text() -> None:
    assert asked_of({"shape": "groups", "metrics": "auc", "by": "method"}) == asked_of(
        {"shape": "groups", "metrics": ["auc"], "by": ["method"]}
    )


def test_what_the_open_questions_ask_comes_back_the_same(tmp_path) -> None:
    fixture = fixtures("categories")[0]
    read = 0
    with Sandbox(str(build(fixture, tmp_path))) as sandbox:
        for question in load("categories"):
            spec = None if question.held_out else likeliest(question.ask, sandbox, NOW)
            if spec is None:
                continue
            read += 1
            assert asked_of(text_of(spec)) == QuerySpec(**{**vars(spec), "notes": ()}), question.id
    assert read > 50

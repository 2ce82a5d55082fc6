"""Queries over the results as questions to click."""

import pytest

from mirror.language.train.data.results_wordings import results_wordings
from mirror.query.in_words import question_of
from mirror.query.spec import Filter, Metric, Order, QuerySpec

AUC, MEMORY = Metric("auc", "avg"), Metric("memory_mb", "avg")
LOWEST = QuerySpec("best", (MEMORY,), ("method",), filters=(Filter("auc", ">=", (0.8,)),), order=(Order("memory_mb"),))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (QuerySpec("groups", (AUC,), ("method",)), "Show the mean AUC by method"),
        (
            LOWEST,
            "Show the lowest mean memory (MB) by method where AUC ≥ 0.8",
        ),
        (QuerySpec("count", dimensions=("method",), distinct="method"), "List the different method"),
        (
            QuerySpec("rows", source="history", order=(Order("started_at", True),), limit=5),
            "List the trials, repeats too, the newest first, only the first 5",
        ),
        (QuerySpec("points", (Metric("memory_mb"), Metric("auc"))), "Show memory (MB) against AUC of single trials"),
        (
            QuerySpec("relative", (MEMORY,), ("method",), against=Filter("method", "=", ("dense",))),
            "Show the mean memory (MB) compared with method = dense by method",
        ),
    ],
)  # fmt: skip
def test_a_query_is_said(spec: QuerySpec, said: str) -> None:
    assert question_of(spec) == said


def test_different_queries_are_said_differently() -> None:
    said: dict[str, QuerySpec] = {}
    for wording in results_wordings():
        assert said.setdefault(question_of(wording.asked), wording.asked) == wording.asked

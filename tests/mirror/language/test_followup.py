"""Follow-up questions: each case names the question before, the follow-up, and the parts of the spec it decides."""

from datetime import datetime
from typing import Any

import pytest

from mirror.data.process.sandbox import Sandbox
from mirror.language.followup import followup
from mirror.language.grammar import grammar
from mirror.query.complete import complete
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import ChartWish, Filter, Metric, QuerySpec
from mirror.query.sql import compile_sql
from mirror.schema.profile import Profile
from mirror.schema.result_columns import result_table
from mirror.table.table import Table

NOW = datetime(2026, 11, 20, 15, 24)  # a Friday
Parts = dict[str, Any]

HASHED = "AUC by compression for hashed"
TRADE_OFF = "memory vs AUC at compression 0.1"
BEST = "which method has the best AUC under 5 MB?"
TOP = "top 5 fastest lookups"
BATCHES = "average latency by method and batch size"
COMPARED = "compare hashed and dense at dim 16"
FAILED = "how many trials failed?"
COUNTED = "how many trials by method"
WHY = "why did trials fail?"
WORSE = "did latency get worse since 2026-11-10"
FASTER = "is hashed faster than dense at batch size 512?"
LOSS = "loss over training for hashed"
COURSE = "latency of hashed over time"
SAVED = "how much memory does hashed save compared to dense"
FRONT = "pareto front of memory and AUC"
BOXES = "box plot of AUC by method"
NEWEST = "latest 10 trials of hashed"


def eq(column: str, *values: Any) -> Filter:
    return Filter(column, "=" if len(values) == 1 else "in", values)


def but(column: str, *values: Any) -> Filter:
    return Filter(column, "<>" if len(values) == 1 else "not in", values)


def under(column: str, value: float) -> Filter:
    return Filter(column, "<", (value,))


METHOD = eq("method", "hashed")
LOOKUP = eq("benchmark", "lookup")
TRAINING = eq("benchmark", "training")


def parts(spec: QuerySpec) -> Parts:
    return {
        "shape": spec.shape,
        "source": spec.source,
        "metrics": [m.alias for m in spec.metrics],
        "filters": set(spec.filters),
        "dimensions": list(spec.dimensions),
        "partitions": list(spec.partitions),
        "order": [(o.column, o.descending) for o in spec.order],
        "limit": spec.limit,
        "chart": spec.chart.type,
        "log": (spec.chart.log_x, spec.chart.log_y),
        "split": spec.split,
        "claim": spec.claim,
        "within": spec.within,
        "against": spec.against,
        "averaged": list(spec.averaged),
        "explain": spec.explain,
        "notes": " | ".join(spec.notes),
    }


def asked(question: str, profile: Profile) -> QuerySpec:
    return grammar.parse(question, profile, NOW)


def follow(before: QuerySpec, question: str, profile: Profile) -> QuerySpec:
    spec = followup.read(question, before, profile, NOW)
    assert spec is not None, f"“{question}” is no follow-up"
    return spec


def check(spec: QuerySpec, expected: Parts) -> None:
    found = parts(spec)
    notes = expected.get("notes", "")
    assert notes in found["notes"]
    assert {k: found[k] for k in expected if k != "notes"} == {k: v for k, v in expected.items() if k != "notes"}


FILTERS: list[tuple[str, str, Parts]] = [
    (TRADE_OFF, "and for 0.5?", {"filters": {eq("compression", 0.5)}, "notes": "compression 0.5 instead of 0.1"}),
    (TRADE_OFF, "and for 0.05?", {"filters": {eq("compression", 0.05)}, "notes": "compression 0.05 instead of 0.1"}),
    (TRADE_OFF, "0.02?", {"filters": {eq("compression", 0.02)}}),
    (TRADE_OFF, "0.5 instead of 0.1", {"filters": {eq("compression", 0.5)}}),
    (TRADE_OFF, "also for 0.5", {"filters": {eq("compression", 0.1, 0.5)}, "notes": "compression 0.1 and 0.5"}),
    (TRADE_OFF, "0.5 too", {"filters": {eq("compression", 0.1, 0.5)}}),
    (TRADE_OFF, "what about frappe", {"filters": {eq("compression", 0.1), eq("dataset", "frappe")}}),
    (TRADE_OFF, "only hashed", {"filters": {eq("compression", 0.1), METHOD}, "notes": "method hashed only"}),
    (TRADE_OFF, "hashed only", {"filters": {eq("compression", 0.1), METHOD}}),
    (TRADE_OFF, "without dense", {"filters": {eq("compression", 0.1), but("method", "dense")}}),
    (TRADE_OFF, "drop dense and hashed", {"filters": {eq("compression", 0.1), but("method", "dense", "hashed")}}),
    (TRADE_OFF, "for all compressions", {"filters": set(), "notes": "any compression instead of compression 0.1"}),
    (TRADE_OFF, "clear the filters", {"filters": set()}),
    (TRADE_OFF, "where memory is under 5 MB", {"filters": {eq("compression", 0.1), under("memory_mb", 5)}}),
    (TRADE_OFF, "compression between 0.05 and 0.5", {"filters": {
        Filter("compression", ">=", (0.05,)), Filter("compression", "<=", (0.5,))}}),
    (HASHED, "how about qr", {"filters": {eq("method", "quotient_remainder")}, "dimensions": ["compression"]}),
    (HASHED, "same for dim 64 and 128", {"filters": {METHOD, eq("embedding_dim", 64, 128)}}),
    (HASHED, "and on the gpu?", {"filters": {METHOD, eq("device", "cuda")}}),
    (HASHED, "just training", {"filters": {METHOD, TRAINING}}),
    (HASHED, "plus dense", {"filters": {eq("method", "hashed", "dense")}}),
    (HASHED, "compare with dense", {"filters": {eq("method", "hashed", "dense")}}),
    (HASHED, "replace hashed by dense", {"filters": {eq("method", "dense")}, "notes": "dense instead of hashed"}),
    (HASHED, "exclude failures", {"filters": {METHOD}, "notes": "left out already"}),
    (HASHED, "drop the method filter", {"filters": set()}),
    (HASHED, "all but frappe", {"filters": {METHOD, but("dataset", "frappe")}}),
    (HASHED, "everything except frappe", {"filters": {METHOD, but("dataset", "frappe")}}),
    (TOP, "backward too", {"filters": {LOOKUP, eq("direction", "forward", "forward_backward")}}),
    (TOP, "all directions", {"partitions": ["direction"], "filters": {LOOKUP}}),
    (HASHED, "at the highest compression", {"filters": {METHOD, eq("compression", 0.02)}}),
    (HASHED, "onlyy on movielens, please", {"filters": {METHOD, eq("dataset", "ml-206k")}}),
    (HASHED, "What does it look like for frappe?", {"filters": {METHOD, eq("dataset", "frappe")}}),
    (BEST, "under 1 MB", {"filters": {under("memory_mb", 1)}, "notes": "memory < 1 MB instead of memory < 5 MB"}),
    (BEST, "above 2 MB", {"filters": {under("memory_mb", 5), Filter("memory_mb", ">", (2,))}}),
    (BEST, "above 10 MB", {"filters": {Filter("memory_mb", ">", (10,))}}),
    (BEST, "drop the memory limit", {"filters": set()}),
    (BEST, "same but on frappe", {"filters": {under("memory_mb", 5), eq("dataset", "frappe")}}),
    (TOP, "any dim", {"filters": {LOOKUP}}),
    (TOP, "and for batch 64?", {"filters": {LOOKUP, eq("batch_size", 64)}, "limit": 5}),
    (TOP, "only dim 64, without hashed", {"filters": {LOOKUP, eq("embedding_dim", 64), but("method", "hashed")}}),
    (TOP, "not dense, on frappe", {"filters": {LOOKUP, but("method", "dense"), eq("dataset", "frappe")}}),
    (COMPARED, "and qr?", {
        "filters": {eq("method", "quotient_remainder", "dense"), eq("embedding_dim", 16)},
        "notes": "method quotient_remainder instead of hashed, beside dense"}),
    (COMPARED, "add small_dim", {"filters": {eq("method", "hashed", "dense", "small_dim"), eq("embedding_dim", 16)}}),
    (COMPARED, "qr instead of hashed", {
        "filters": {eq("method", "quotient_remainder", "dense"), eq("embedding_dim", 16)}}),
    (COMPARED, "only hashed", {"filters": {METHOD, eq("embedding_dim", 16)}}),
    (COMPARED, "at 64", {"filters": {eq("method", "hashed", "dense"), eq("embedding_dim", 64)}}),
    (COMPARED, "drop the dim filter", {"filters": {eq("method", "hashed", "dense")}}),
    (FAILED, "only frappe", {"source": "failures", "filters": {but("status", "skipped"), eq("dataset", "frappe")}}),
    (FAILED, "exclude timeouts", {"filters": {but("status", "skipped", "timeout")}}),
    (FAILED, "and skipped?", {"filters": {eq("status", "skipped")}}),
    (FASTER, "and qr?", {"filters": {eq("batch_size", 512), eq("method", "quotient_remainder", "dense")}}),
    (LOSS, "at the end", {"source": "curves", "dimensions": [], "filters": {eq("metric", "loss"), METHOD}}),
    (LOSS, "and dense?", {"source": "curves", "filters": {eq("metric", "loss"), eq("method", "dense")}}),
    (WORSE, "only hashed", {"shape": "change", "split": "2026-11-10", "filters": {METHOD}}),
    (SAVED, "and qr?", {"shape": "relative", "filters": {eq("method", "quotient_remainder", "dense")}}),
    (SAVED, "against small_dim", {
        "filters": {eq("method", "hashed", "small_dim")}, "against": eq("method", "small_dim")}),
    (FRONT, "on frappe", {"shape": "front", "filters": {eq("dataset", "frappe")}}),
]  # fmt: skip

DIMENSIONS: list[tuple[str, str, Parts]] = [
    (HASHED, "by dim instead", {"dimensions": ["embedding_dim"], "notes": "by dim instead of compression"}),
    (HASHED, "by dim", {"dimensions": ["embedding_dim"]}),
    (HASHED, "also by batch size", {"dimensions": ["compression", "batch_size"]}),
    (HASHED, "and by batch size", {"dimensions": ["compression", "batch_size"]}),
    (HASHED, "per data set too", {"dimensions": ["compression", "dataset"]}),
    (HASHED, "split by machine", {"dimensions": ["compression", "machine"]}),
    (HASHED, "break it down by data set", {"dimensions": ["compression", "dataset"]}),
    (HASHED, "group by method", {"dimensions": ["method"], "filters": set()}),
    (HASHED, "by data set, only frappe", {"dimensions": ["dataset"], "filters": {METHOD, eq("dataset", "frappe")}}),
    (HASHED, "don't group by compression", {"dimensions": [], "averaged": ["compression"]}),
    (HASHED, "don't average over data sets", {"dimensions": ["compression", "dataset"], "averaged": []}),
    (HASHED, "average over data sets", {"dimensions": ["compression"], "averaged": ["dataset"]}),
    (HASHED, "regardless of dim", {"averaged": ["embedding_dim"]}),
    (BATCHES, "by dim instead of batch size", {"dimensions": ["method", "embedding_dim"]}),
    (BATCHES, "not by batch size", {"dimensions": ["method"], "averaged": ["batch_size"]}),
    (BATCHES, "drop the batch size", {"dimensions": ["method"]}),
    (COMPARED, "by dim", {"dimensions": ["embedding_dim"], "filters": {eq("method", "hashed", "dense")}}),
    (TRADE_OFF, "by data set", {"shape": "points", "dimensions": ["dataset"]}),
    (BEST, "per data set", {"partitions": ["dataset"], "dimensions": ["dataset", "method"]}),
    (TOP, "per batch size", {"partitions": ["batch_size"], "limit": 5}),
    (FAILED, "by method", {"shape": "count", "source": "failures", "dimensions": ["method"]}),
    (COUNTED, "by data set instead", {"shape": "count", "dimensions": ["dataset"]}),
    (WHY, "by method", {"shape": "count", "source": "failures", "dimensions": ["method"]}),
    (WORSE, "by dim", {"shape": "change", "dimensions": ["method", "embedding_dim"]}),
    (LOSS, "by data set", {"dimensions": ["step", "dataset"]}),
    (COURSE, "by batch size", {"dimensions": ["started_at", "batch_size"]}),
    (SAVED, "by data set", {"shape": "relative", "dimensions": ["method", "dataset"]}),
    (FRONT, "per data set", {"partitions": ["dataset"], "dimensions": ["dataset", "method"]}),
]

METRICS: list[tuple[str, str, Parts]] = [
    (HASHED, "memory instead", {"metrics": ["memory_mb"], "notes": "memory instead of AUC"}),
    (HASHED, "memory?", {"metrics": ["memory_mb"]}),
    (HASHED, "and the logloss?", {"metrics": ["logloss"]}),
    (HASHED, "and memory too", {"metrics": ["auc", "memory_mb"], "notes": "memory as well"}),
    (HASHED, "add memory", {"metrics": ["auc", "memory_mb"]}),
    (HASHED, "can I see memory as well?", {"metrics": ["auc", "memory_mb"]}),
    (BEST, "show its memory", {"shape": "best", "metrics": ["auc", "memory_mb"], "order": [("auc", True)]}),
    (HASHED, "and its memory", {"metrics": ["auc", "memory_mb"]}),
    (HASHED, "p99 instead of the median", {"metrics": ["latency_p99_us"]}),
    (HASHED, "what about throughput?", {"metrics": ["samples_per_s"]}),
    (HASHED, "median", {"metrics": ["median_auc"], "notes": "median instead of mean"}),
    (HASHED, "max instead of the mean", {"metrics": ["max_auc"]}),
    (BATCHES, "without latency but with memory", {"metrics": ["memory_mb"]}),
    (TRADE_OFF, "latency instead of memory", {"shape": "points", "metrics": ["latency_us", "auc"]}),
    (TRADE_OFF, "latency too", {"shape": "points", "metrics": ["memory_mb", "auc", "latency_us"]}),
    (TRADE_OFF, "just the AUC", {"shape": "groups", "metrics": ["auc"], "filters": {eq("compression", 0.1)}}),
    (TRADE_OFF, "swap the axes", {"metrics": ["auc", "memory_mb"]}),
    (BEST, "memory instead", {"shape": "best", "metrics": ["memory_mb"], "order": [("memory_mb", False)]}),
    (BEST, "show memory too", {"shape": "best", "metrics": ["auc", "memory_mb"], "order": [("auc", True)]}),
    (TOP, "throughput instead", {"metrics": ["samples_per_s"], "order": [("samples_per_s", True)], "limit": 5}),
    (COMPARED, "drop the memory", {"metrics": ["auc", "latency_us"]}),
    (COUNTED, "AUC instead", {"shape": "groups", "metrics": ["auc"], "dimensions": ["method"]}),
    (WORSE, "p99 instead", {"shape": "change", "metrics": ["latency_p99_us"], "claim": "worse"}),
    (LOSS, "live dimensions too", {"filters": {eq("metric", "loss", "live_dimensions"), METHOD}}),
    (COURSE, "p99 instead", {"source": "history", "metrics": ["latency_p99_us"], "dimensions": ["started_at"]}),
    (SAVED, "AUC instead", {"shape": "relative", "metrics": ["auc"]}),
    (FRONT, "latency instead of memory", {"shape": "front", "metrics": ["latency_us", "auc"]}),
    (BOXES, "logloss instead", {"shape": "points", "metrics": ["logloss"], "chart": "box"}),
    (FASTER, "memory instead", {"metrics": ["memory_mb"], "claim": None}),
]

SHAPES: list[tuple[str, str, Parts]] = [
    (BEST, "the worst", {"shape": "best", "order": [("auc", False)], "filters": {under("memory_mb", 5)}}),
    (BEST, "top 3", {"shape": "ranking", "limit": 3, "order": [("auc", True)]}),
    (BEST, "show all", {"shape": "groups", "limit": None, "dimensions": ["method"], "order": [("auc", True)]}),
    (BEST, "the best machine", {"dimensions": ["machine"]}),
    (BEST, "which of these is the fastest?", {"metrics": ["latency_us", "auc"], "order": [("latency_us", False)]}),
    (TOP, "top 10 instead", {"shape": "ranking", "limit": 10, "order": [("latency_us", False)]}),
    (TOP, "10 instead", {"limit": 10, "filters": {LOOKUP}}),
    (TOP, "and the slowest?", {"shape": "ranking", "limit": 5, "order": [("latency_us", True)]}),
    (TOP, "bottom 3", {"limit": 3, "order": [("latency_us", True)]}),
    (TOP, "reverse the order", {"order": [("latency_us", True)]}),
    (TOP, "everything", {"shape": "groups", "limit": None}),
    (HASHED, "the worst", {"shape": "best", "order": [("auc", False)], "dimensions": ["compression"]}),
    (HASHED, "top 3", {"shape": "ranking", "limit": 3, "filters": {METHOD}}),
    (BATCHES, "which method is best?", {"shape": "best", "partitions": ["batch_size"]}),
    (TRADE_OFF, "only the best AUC", {"shape": "best", "order": [("auc", True)], "filters": {eq("compression", 0.1)}}),
    (TRADE_OFF, "top 3 by AUC", {"shape": "ranking", "limit": 3, "order": [("auc", True)]}),
    (TRADE_OFF, "pareto front", {"shape": "front", "filters": {eq("compression", 0.1)}}),
    (COUNTED, "top 3", {"shape": "count", "limit": 3, "order": [("trials", True)]}),
    (FAILED, "which method has the most?", {"dimensions": ["method"], "limit": 1, "order": [("trials", True)]}),
    (FAILED, "why?", {"shape": "rows", "source": "failures"}),
    (WHY, "how many?", {"shape": "count", "source": "failures", "dimensions": []}),
    (WHY, "first 10", {"shape": "rows", "limit": 10}),
    (HASHED, "how many per data set?", {"shape": "count", "dimensions": ["dataset"], "filters": {METHOD}}),
    (HASHED, "and the failures?", {"source": "failures", "filters": {METHOD, but("status", "skipped")}}),
    (HASHED, "over training", {"source": "curves", "filters": {eq("metric", "auc"), METHOD}}),
    (HASHED, "relative to dense", {"shape": "relative", "against": eq("method", "dense")}),
    (COMPARED, "why?", {"explain": True, "dimensions": ["method"]}),
    (WORSE, "the worst", {"order": [("ratio_latency_us", True)], "limit": 1}),
    (WORSE, "better?", {"claim": "better"}),
    (NEWEST, "latest 20", {"shape": "rows", "limit": 20, "filters": {METHOD}}),
    (HASHED, "sort by memory", {"metrics": ["auc", "memory_mb"], "order": [("memory_mb", False)]}),
    (HASHED, "sorted by memory, largest first", {"order": [("memory_mb", True)]}),
    (HASHED, "descending", {"order": [("auc", True)]}),
    (HASHED, "best first", {"order": [("auc", True)]}),
    (BEST, "show all sorted by memory", {"shape": "groups", "order": [("memory_mb", False)]}),
    (TOP, "sort by memory", {"metrics": ["memory_mb", "latency_us"], "order": [("memory_mb", False)], "limit": 5}),
    (HASHED, "without losing quality", {"within": 0.001, "filters": {METHOD}}),
    (TRADE_OFF, "within 0.01 of dense", {"within": 0.01}),
]  # fmt: skip

CHARTS: list[tuple[str, str, Parts]] = [
    (HASHED, "as bars", {"shape": "groups", "chart": "bar", "filters": {METHOD}}),
    (HASHED, "as a table", {"chart": "table"}),
    (HASHED, "make it a line chart", {"chart": "line"}),
    (HASHED, "as a box plot", {"shape": "points", "chart": "box", "metrics": ["auc"]}),
    (BOXES, "as bars", {"shape": "groups", "chart": "bar"}),
    (HASHED, "log scale", {"log": (True, True)}),
    (HASHED, "log scale on the y axis", {"log": (False, True)}),
    ("memory vs AUC as a scatter on a log scale", "linear", {"chart": "scatter", "log": (False, False)}),
    ("AUC by method as bars", "not as bars", {"chart": None}),
    (HASHED, "only dense, as bars", {"chart": "bar", "filters": {eq("method", "dense")}}),
    (COUNTED, "only frappe and as bars", {"chart": "bar", "filters": {eq("dataset", "frappe")}}),
]

TIMES: list[tuple[str, str, Parts]] = [
    (HASHED, "since monday", {"shape": "groups", "filters": {METHOD, Filter("started_at", ">=", ("2026-11-16",))}}),
    (HASHED, "last week only", {"shape": "points", "source": "history", "filters": {
        METHOD, Filter("started_at", ">=", ("2026-11-09",)), Filter("started_at", "<", ("2026-11-16",))}}),
    (HASHED, "over time", {"shape": "points", "source": "history", "dimensions": ["started_at", "compression"]}),
    (HASHED, "has it changed since monday?", {"shape": "change", "split": "2026-11-16", "filters": {METHOD}}),
    (FAILED, "since yesterday", {"source": "failures", "filters": {
        but("status", "skipped"), Filter("started_at", ">=", ("2026-11-19",))}}),
    (COUNTED, "last week", {"shape": "count", "source": "history"}),
    (WORSE, "since monday", {"split": "2026-11-16", "claim": "worse"}),
    (COURSE, "since monday", {
        "dimensions": ["started_at"], "filters": {METHOD, Filter("started_at", ">=", ("2026-11-16",))}}),
    ("AUC by method since monday", "for all time", {"shape": "groups", "filters": set()}),
    ("AUC by method since monday", "since last week", {"filters": {Filter("started_at", ">=", ("2026-11-09",))}}),
]  # fmt: skip

CASES = [*FILTERS, *DIMENSIONS, *METRICS, *SHAPES, *CHARTS, *TIMES]


@pytest.mark.parametrize(("question", "then", "expected"), CASES, ids=[f"{q} – {t}" for q, t, _ in CASES])
def test_a_follow_up_changes_the_question_before(question: str, then: str, expected: Parts, profile: Profile) -> None:
    spec = follow(asked(question, profile), then, profile)
    check(spec, expected)
    assert spec.notes


def test_what_follows_can_be_run(profile: Profile, box: Sandbox) -> None:
    """Whatever can be completed is a statement that runs; most of the cases are."""
    ran = 0
    for question, then, _ in CASES:
        spec = follow(asked(question, profile), then, profile)
        try:
            sql = compile_sql(complete(spec, profile, then))
        except (Refusal, Ambiguity):  # the seeded results lack some of what is asked for
            continue
        box.run(sql)
        ran += 1
    assert ran > len(CASES) * 0.8


@pytest.mark.parametrize(
    ("question", "chain", "expected"),
    [
        (
            TRADE_OFF,
            ["and for 0.5?", "only frappe", "without dense"],
            {"shape": "points", "filters": {eq("compression", 0.5), eq("dataset", "frappe"), but("method", "dense")}},
        ),
        (
            HASHED,
            ["and dense too", "by data set instead", "as bars"],
            {"filters": {eq("method", "hashed", "dense")}, "dimensions": ["dataset"], "chart": "bar"},
        ),
        (
            BEST,
            ["top 3", "the worst", "show all"],
            {"shape": "groups", "order": [("auc", False)], "limit": None, "filters": {under("memory_mb", 5)}},
        ),
        (
            TOP,
            ["top 10 instead", "only dim 64", "p99 instead"],
            {"limit": 10, "metrics": ["latency_p99_us"], "filters": {LOOKUP, eq("embedding_dim", 64)}},
        ),
        (
            FAILED,
            ["by method", "only frappe", "why?"],
            {"shape": "rows", "source": "failures", "filters": {but("status", "skipped"), eq("dataset", "frappe")}},
        ),
        (
            COUNTED,
            ["AUC instead", "top 3", "on frappe"],
            {"shape": "ranking", "metrics": ["auc"], "limit": 3, "filters": {eq("dataset", "frappe")}},
        ),
        (
            WORSE,
            ["since monday", "only hashed", "p99 instead"],
            {"shape": "change", "split": "2026-11-16", "metrics": ["latency_p99_us"], "filters": {METHOD}},
        ),
        (
            LOSS,
            ["and dense too", "by data set", "only frappe"],
            {
                "source": "curves",
                "dimensions": ["step", "dataset"],
                "filters": {eq("metric", "loss"), eq("method", "hashed", "dense"), eq("dataset", "frappe")},
            },
        ),
        (
            COURSE,
            ["since monday", "p99 instead", "any time"],
            {"source": "history", "metrics": ["latency_p99_us"], "filters": {METHOD}},
        ),
        (
            TRADE_OFF,
            ["average instead", "by data set too", "sort by memory descending"],
            {"shape": "groups", "metrics": ["memory_mb", "auc"], "order": [("memory_mb", True)]},
        ),
        (
            "latency by batch size for hashed in lookup",
            ["at dim 64", "dim 16 as well", "for all dims"],
            {"filters": {METHOD, LOOKUP}, "dimensions": ["batch_size"]},
        ),
        (
            SAVED,
            ["AUC instead", "at compression 0.1", "and qr?"],
            {
                "shape": "relative",
                "metrics": ["auc"],
                "filters": {eq("method", "quotient_remainder", "dense"), eq("compression", 0.1)},
            },
        ),
    ],
)
def test_chains(question: str, chain: list[str], expected: Parts, profile: Profile) -> None:
    spec = asked(question, profile)
    for then in chain:
        spec = follow(spec, then, profile)
    check(spec, expected)


@pytest.mark.parametrize(
    "question",
    [
        "which method has the best AUC?",
        "and which method has the best AUC?",
        "ok, so which method has the best AUC?",
        "latency by method in lookup",
        "AUC of qr at compression 0.1",
        "only show the AUC by method, and show it for frappe",
        "how many trials failed?",
        "compare hashed and dense at dim 16",
        "drop dense and show the AUC by method on frappe",
        "did latency get worse since monday for hashed?",
        "AUC by compression without dense on movielens",
        "latency not under 100 us in lookup",
        "DROP TABLE trials",
        "'; DELETE FROM results; --",
        "delete all failed runs",
        "price per hour",
        "Welche Methode ist am schnellsten?",
        "thanks!",
        "",
        "?",
    ],
)
def test_a_question_of_its_own_is_no_follow_up(question: str, profile: Profile) -> None:
    for before in (HASHED, TRADE_OFF, BEST, FAILED):
        assert followup.read(question, asked(before, profile), profile, NOW) is None


@pytest.mark.parametrize(
    ("question", "then", "words"),
    [
        (TRADE_OFF, "and for purple?", ("purple", "Known are the metrics AUC")),
        (TRADE_OFF, "only 7 bananas", ("bananas",)),
        (HASHED, "drop the batch size filter", ("no filter on batch size",)),
        (HASHED, "without hashed", ("Nothing would be left", "method hashed")),
        (HASHED, "drop the AUC", ("Nothing would be left",)),
        (HASHED, "dense instead of qr", ("quotient_remainder was not asked for", "method hashed")),
        (TRADE_OFF, "also for 0.07", ("No trial has compression = 0.07", "0.02")),
        (TRADE_OFF, "memory above 5 MB and below 3 MB", ("memory", "at once")),
        (HASHED, "without compression between 0.1 and 0.5", ("range",)),
        (HASHED, "show all", ("shown already",)),
        (BEST, "sort by memory", ("show all sorted by memory",)),
        (FAILED, "memory instead", ("A failed trial has no memory",)),
        (FAILED, "at 2 threads", ("Failed trials are not told apart by threads",)),
        (FAILED, "the most", ("by method",)),
        (WORSE, "and memory too", ("one metric", "memory instead")),
        (WORSE, "how many?", ("not counted",)),
        (LOSS, "the best", ("cannot be ranked",)),
        (LOSS, "since monday", ("Training curves are not told apart by start time",)),
        (BEST, "last week", ("ranking",)),
        (SAVED, "without hashed", ("Nothing would be left to compare with dense",)),
        (FRONT, "and latency too", ("two metrics",)),
        (HASHED, "for all time", ("no certain time",)),
        (HASHED, "swap the axes", ("axes",)),
        (WHY, "the best", ("no ranking",)),
        (HASHED, "more", ("“more”", "show all")),
        (HASHED, "drop the outliers", ("no result",)),
    ],
)
def test_nonsense_is_refused_with_what_is_known(
    question: str, then: str, words: tuple[str, ...], profile: Profile
) -> None:
    with pytest.raises(Refusal) as refused:
        followup.read(then, asked(question, profile), profile, NOW)
    for word in words:
        assert word in str(refused.value)


@pytest.mark.parametrize(
    ("question", "then"),
    [
        (TRADE_OFF, "latency instead"),
        (TRADE_OFF, "the best"),
        (COMPARED, "top 3"),
        (TOP, "and for 64?"),
        (FRONT, "throughput instead"),
    ],
)
def test_a_question_back_offers_follow_ups(question: str, then: str, profile: Profile) -> None:
    before = asked(question, profile)
    with pytest.raises(Ambiguity) as back:
        followup.read(then, before, profile, NOW)
    assert 2 <= len(back.value.choices) <= 3
    for choice in back.value.choices:
        spec = follow(before, choice, profile)
        assert parts(spec) != parts(before)


def test_the_benchmark_of_the_question_before_stays_where_several_could_answer(profile: Profile) -> None:
    spec = follow(asked(HASHED, profile), "memory instead", profile)
    assert TRAINING in spec.filters
    assert "training as before" in spec.notes
    with pytest.raises(Ambiguity):
        complete(asked("memory by compression for hashed", profile), profile, "memory by compression for hashed")


def test_a_limit_on_what_is_shown_keeps_the_usual_direction(profile: Profile) -> None:
    """A question with such a limit searches all directions; a follow-up stays with what the one before was about."""
    spec = follow(asked("latency by method in lookup", profile), "only under 500 us", profile)
    assert eq("direction", "forward") in spec.filters
    assert "forward as before" in spec.notes


def test_typos_in_the_marks_are_corrected_and_told(profile: Profile) -> None:
    spec = follow(asked(HASHED, profile), "memory insetad", profile)
    assert spec.metrics == (Metric("memory_mb", "avg"),)
    assert "read “insetad” as “instead”" in spec.notes


def test_notes_of_the_question_before_are_not_repeated(profile: Profile) -> None:
    before = asked("AUC of hashd at 0.1 by data set", profile)
    assert any("hashd" in n for n in before.notes)
    assert not any("hashd" in n for n in follow(before, "as bars", profile).notes)


def test_a_spec_of_a_language_model_can_be_followed(profile: Profile) -> None:
    """Such a spec holds what the grammar never makes: mixed aggregates, a chart wish, a limit of groups."""
    before = QuerySpec(
        "groups",
        (Metric("latency_us", "max"), Metric("memory_mb", "avg")),
        ("method", "batch_size"),
        filters=(LOOKUP, eq("device", "cpu")),
        limit=20,
        chart=ChartWish("heatmap"),
    )
    check(
        follow(before, "only hashed, by dim too", profile),
        {
            "metrics": ["max_latency_us", "memory_mb"],
            "limit": 20,
            "dimensions": ["method", "batch_size", "embedding_dim"],
        },
    )
    assert follow(before, "show all", profile).limit is None


# -- verdicts and machines -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "then", "expected"),
    [
        ("which methods are faster than dense?", "and slower?", {"claim": "slower", "order": [("speedup", False)]}),
        ("which methods are faster than dense?", "how many?", {"shape": "count", "filters": {eq("verdict", "faster")}}),
        (
            FASTER,
            "and qr?",
            {"filters": {eq("batch_size", 512), eq("method", "quotient_remainder")}, "claim": "faster"},
        ),
        (FASTER, "why?", {"explain": True, "metrics": ["latency_us"]}),
        (FASTER, "by how much?", {"claim": "faster", "notes": "the speedup tells"}),
        ("latency by machine in lookup", "only machine m2", {"filters": {LOOKUP, eq("machine", "laptop (m2)")}}),
        (BATCHES, "split by machine", {"dimensions": ["method", "batch_size", "machine"]}),
    ],
)
def test_verdicts_and_machines(question: str, then: str, expected: Parts, again: Sandbox) -> None:
    profile = again.schema()
    check(follow(asked(question, profile), then, profile), expected)


# -- outliers ------------------------------------------------------------------------------------------------------


def table_of(question: str, profile: Profile, box: Sandbox) -> tuple[QuerySpec, Table]:
    before = asked(question, profile)
    return before, box.run(compile_sql(complete(before, profile, question)))


def without_outliers(question: str, profile: Profile, box: Sandbox) -> tuple[Table, QuerySpec, Table]:
    """(result before, the follow-up, its result)."""
    before, table = table_of(question, profile, box)
    spec = followup.read("drop the outliers", before, profile, NOW, table)
    assert spec is not None
    return table, spec, box.run(compile_sql(complete(spec, profile, "drop the outliers")))


def test_outliers_among_trials_go_by_a_limit_on_the_metric(again: Sandbox) -> None:
    table, spec, left = without_outliers("latency of hashed in lookup over time", again.schema(), again)
    assert Filter("latency_us", "<", (2000,)) in spec.filters
    assert "without 2 outliers of latency" in parts(spec)["notes"]
    assert "3.20 ms" in parts(spec)["notes"]
    gone = {v for v in table.values("latency_us") if float(v) >= 2000}  # type: ignore[arg-type]
    assert set(left.values("latency_us")) == set(table.values("latency_us")) - gone
    assert len(table.rows) - len(left.rows) == 2


def test_outliers_among_groups_go_by_a_limit_that_is_told(profile: Profile, box: Sandbox) -> None:
    table, spec, left = without_outliers("latency by method in lookup", profile, box)
    assert "told apart by a limit on their trials: latency < 1.60 ms" in parts(spec)["notes"]
    assert "hashed" in parts(spec)["notes"]
    assert len(table.rows) - len(left.rows) == 3


def groups(*values: float) -> tuple[QuerySpec, Table]:
    spec = QuerySpec("groups", (Metric("latency_us", "avg"),), ("method",), filters=(LOOKUP,))
    rows = tuple((f"m{i}", value, 0.1, 3) for i, value in enumerate(values))
    return spec, result_table(("method", "latency_us", "stddev_latency_us", "n"), rows)


def test_a_dimension_that_tells_the_outlier_apart_leaves_it_out(profile: Profile) -> None:
    before, table = groups(10.0, 11.0, 12.0, 13.0, 90.0)
    spec = followup.read("without the outlier", before, profile, NOW, table)
    assert spec is not None
    assert set(spec.filters) == {LOOKUP, but("method", "m4")}
    assert "without 1 outlier of latency: m4 (90 µs)" in spec.notes


def test_outliers_on_both_sides(profile: Profile) -> None:
    before = QuerySpec("points", (Metric("auc"),), ("seed",))
    values = [0.5, 0.79, 0.8, 0.8, 0.81, 0.82, 0.99]
    table = result_table(("seed", "auc"), tuple(enumerate(values)))
    spec = followup.read("remove the outliers, as a box plot", before, profile, NOW, table)
    assert spec is not None
    limits = {f.operator: float(f.values[0]) for f in spec.filters}
    assert set(limits) == {"<", ">"}
    assert 0.5 < limits[">"] < 0.79
    assert 0.82 < limits["<"] < 0.99
    assert spec.chart.type == "box"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((10.0, 11.0, 12.0, 13.0), "No outlier: all 4 values of latency"),
        ((1.0, 90.0), "2 values of latency are too few"),
    ],
)
def test_no_outlier_is_said(values: tuple[float, ...], words: str, profile: Profile) -> None:
    before, table = groups(*values)
    with pytest.raises(Refusal, match=words):
        followup.read("drop the outliers", before, profile, NOW, table)


def test_outliers_of_a_change_are_not_told_apart_by_a_limit(profile: Profile) -> None:
    before = asked(WORSE, profile)
    rows = tuple((f"m{i % 2}", ratio) for i, ratio in enumerate((1.0, 1.1, 1.2, 1.1, 9.0)))
    table = result_table(("method", "ratio_latency_us"), rows)
    with pytest.raises(Refusal, match="No single value tells the outliers apart"):
        followup.read("drop the outliers", before, profile, NOW, table)

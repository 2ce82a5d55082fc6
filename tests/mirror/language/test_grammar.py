"""Words -> QuerySpec: each case names the parts of the spec that the question decides."""

import contextlib
from dataclasses import replace
from typing import Any

import pytest

from mirror.language.grammar import grammar
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import Filter, QuerySpec
from mirror.schema.profile import Profile

TRAINING = Filter("benchmark", "=", ("training",))
LOOKUP = Filter("benchmark", "=", ("lookup",))
FORWARD = Filter("direction", "=", ("forward",))


def eq(column: str, *values: Any) -> Filter:
    return Filter(column, "=" if len(values) == 1 else "in", values)


def summary(spec: QuerySpec) -> dict[str, Any]:
    return {
        "shape": spec.shape,
        "source": spec.source,
        "metrics": [m.column for m in spec.metrics],
        "filters": set(spec.filters),
        "dimensions": list(spec.dimensions),
        "partitions": list(spec.partitions),
        "order": [(o.column, o.descending) for o in spec.order],
        "limit": spec.limit,
        "chart": spec.chart.type,
        "baseline": spec.keep_baseline,
    }


CASES: list[tuple[str, dict[str, Any]]] = [
    (
        "memory vs AUC at compression 0.1",
        {
            "shape": "points",
            "metrics": ["memory_mb", "auc"],
            "filters": {TRAINING, eq("compression", 0.1)},
            "dimensions": ["method", "dataset", "seed", "compression"],
            "baseline": True,
        },
    ),
    (
        "memory vs AUC for every compression as a scatter",
        {"shape": "points", "chart": "scatter", "filters": {TRAINING}, "baseline": False},
    ),
    (
        "which method has the best AUC under 5 MB?",
        {
            "shape": "best",
            "metrics": ["auc"],
            "filters": {TRAINING, Filter("memory_mb", "<", (5,))},
            "partitions": ["dataset"],
            "dimensions": ["dataset", "method", "compression"],
            "order": [("auc", True)],
        },
    ),
    (
        "AUC by compression for hashed as a line chart",
        {
            "shape": "groups",
            "metrics": ["auc"],
            "dimensions": ["compression", "dataset"],
            "filters": {TRAINING, eq("method", "hashed")},
            "chart": "line",
        },
    ),
    (
        "top 5 fastest lookups",
        {
            "shape": "ranking",
            "limit": 5,
            "metrics": ["latency_us"],
            "order": [("latency_us", False)],
            "filters": {LOOKUP, FORWARD},
            "partitions": [],
            "dimensions": ["method", "embedding_dim", "batch_size", "compression"],
        },
    ),
    (
        "average latency by method and batch size",
        {
            "shape": "groups",
            "metrics": ["latency_us"],
            "filters": {LOOKUP, FORWARD},
            "dimensions": ["method", "batch_size", "embedding_dim", "compression"],
        },
    ),
    (
        "how many trials failed?",
        {"shape": "count", "source": "failures", "filters": {Filter("status", "<>", ("skipped",))}},
    ),
    ("how many trials were skipped?", {"shape": "count", "source": "failures", "filters": {eq("status", "skipped")}}),
    ("why did trials fail?", {"shape": "rows", "source": "failures"}),
    ("how many trials failed by method", {"shape": "count", "dimensions": ["method"]}),
    (
        "compare hashed and dense at dim 16",
        {
            "shape": "groups",
            "metrics": ["auc", "memory_mb", "latency_us"],
            "filters": {TRAINING, eq("method", "hashed", "dense"), eq("embedding_dim", 16)},
        },
    ),
    (
        "slowest method at batch size 2048",
        {
            "shape": "best",
            "order": [("latency_us", True)],
            "partitions": ["embedding_dim"],
            "filters": {LOOKUP, FORWARD, eq("batch_size", 2048)},
        },
    ),
    ("the 3 fastest lookups at batch size 64", {"limit": 3, "filters": {LOOKUP, FORWARD, eq("batch_size", 64)}}),
    (
        "memory vs auc 10x smaller except dense",
        {"filters": {TRAINING, eq("compression", 0.1), Filter("method", "<>", ("dense",))}, "baseline": False},
    ),
    ("AUC at compression 10 %", {"filters": {TRAINING, eq("compression", 0.1)}}),
    (
        "auc between 0.7 and 0.8 by method",
        {"filters": {TRAINING, Filter("auc", ">=", (0.7,)), Filter("auc", "<=", (0.8,))}},
    ),
    (
        "smallest memory with auc above 0.78",
        {"shape": "best", "metrics": ["memory_mb"], "filters": {TRAINING, Filter("auc", ">", (0.78,))}},
    ),
    ("auc by method at compression 0.1 and 0.5", {"filters": {TRAINING, eq("compression", 0.1, 0.5)}}),
    (
        "p99 latency by batch size for qr",
        {"metrics": ["latency_p99_us"], "filters": {LOOKUP, FORWARD, eq("method", "quotient_remainder")}},
    ),
    ("latency of lookups under 2 ms", {"filters": {LOOKUP, Filter("latency_us", "<", (2000,))}}),
    ("forward and backward latency by method", {"filters": {LOOKUP, eq("direction", "forward_backward")}}),
    (
        "throughput by batch size for dense and hashed",
        {"dimensions": ["batch_size", "method", "embedding_dim", "compression"]},
    ),
    ("auc without dense or hashed", {"filters": {TRAINING, Filter("method", "not in", ("dense", "hashed"))}}),
    (
        "AUC on movielens by method sorted by memory",
        {"filters": {TRAINING, eq("dataset", "ml-206k")}, "order": [("memory_mb", False)]},
    ),
    (
        "AVERGE latncy by metod and bach size",
        {"shape": "groups", "metrics": ["latency_us"], "filters": {LOOKUP, FORWARD}},
    ),
]


# Wordings that once read as something else, without a word to the person.
MISREAD: list[tuple[str, dict[str, Any]]] = [
    ("which method has the best AUC per data set?", {"partitions": ["dataset"]}),
    ("fastest method for each batch size", {"partitions": ["batch_size", "embedding_dim"]}),
    ("top 3 methods per data set by AUC", {"partitions": ["dataset"], "limit": 3, "metrics": ["auc"]}),
    ("which method has the highest speedup over dense for lookups?", {"filters": {LOOKUP, FORWARD}}),
    ("which lookups are faster than dense?", {"filters": {LOOKUP, Filter("speedup", ">", (1,))}}),
    ("is hashed faster than dense in lookup", {"filters": {LOOKUP, FORWARD, eq("method", "hashed", "dense")}}),
    ("compare hashed and dense at compression 0.1", {"baseline": True}),
    (
        "AUC by compression without dense on movielens",
        {"filters": {TRAINING, Filter("method", "<>", ("dense",)), eq("dataset", "ml-206k")}},
    ),
    (
        "latency of lookups by batch size except 512",
        {"filters": {LOOKUP, FORWARD, Filter("batch_size", "<>", (512,))}},
    ),
    ("lookups latency at batch_size != 512", {"filters": {LOOKUP, FORWARD, Filter("batch_size", "<>", (512,))}}),
    ("AUC except compression 1", {"filters": {TRAINING, Filter("compression", "<>", (1.0,))}}),
    ("AUC without compression", {"filters": {TRAINING, eq("compression", 1.0)}}),
    ("AUC at the smallest size", {"metrics": ["memory_mb", "auc"], "order": [("memory_mb", False)]}),
    ("which lookup method has the highest speed?", {"order": [("samples_per_s", True)]}),
    (
        "fastest lookup at the largest batch size",
        {"filters": {LOOKUP, FORWARD, eq("batch_size", 2048)}, "order": [("latency_us", False)]},
    ),
    ("best AUC at the highest compression", {"filters": {TRAINING, eq("compression", 0.02)}}),
    ("AUC of compressed methods", {"filters": {TRAINING, Filter("compression", "<", (1.0,))}}),
    ("how many parameters does hashed need in training?", {"metrics": ["memory_mb"], "shape": "groups"}),
    ("show results for hashed on frappe", {"shape": "groups", "metrics": ["auc", "memory_mb", "latency_us"]}),
    (
        "latency of lookups at batch size 64 and 1 thread",
        {"filters": {LOOKUP, FORWARD, eq("batch_size", 64), eq("threads", 1)}},
    ),
    ("for dim 16 lowest latency lookups", {"filters": {LOOKUP, FORWARD, eq("embedding_dim", 16)}, "limit": None}),
    ("latency for batch sizes 64,512", {"filters": {LOOKUP, FORWARD, eq("batch_size", 64, 512)}}),
    ("latency for batch sizes 64,512,2048", {"filters": {LOOKUP, FORWARD, eq("batch_size", 64, 512, 2048)}}),
    ("AUC at compression 1/2", {"filters": {TRAINING, eq("compression", 0.5)}}),
    (
        "AUC for compression 0.1 to 0.5",
        {"filters": {TRAINING, Filter("compression", ">=", (0.1,)), Filter("compression", "<=", (0.5,))}},
    ),
    (
        "latency of lookups for batch sizes from 64 to 512",
        {"filters": {LOOKUP, FORWARD, Filter("batch_size", ">=", (64,)), Filter("batch_size", "<=", (512,))}},
    ),
    ("best AUC with compression above 10x", {"filters": {TRAINING, Filter("compression", "<", (0.1,))}}),
    ("AUC at more than 10x compression", {"filters": {TRAINING, Filter("compression", "<", (0.1,))}}),
    ("embedding bag latency by method in lookup", {"filters": {LOOKUP, FORWARD}}),
    ("which method has the lowest error?", {"source": "results", "metrics": ["max_abs_error"]}),
    ("memory vs AUC at 0.1 compression", {"filters": {TRAINING, eq("compression", 0.1)}, "shape": "points"}),
    ("AUC at 10x compression", {"filters": {TRAINING, eq("compression", 0.1)}}),
    (
        "how fast is hashed in lookup?",
        {"metrics": ["latency_us"], "filters": {LOOKUP, FORWARD, eq("method", "hashed")}},
    ),
    ("latency not under 100 us in lookup", {"filters": {LOOKUP, Filter("latency_us", ">=", (100,))}}),
    ("latency under 2,000 us for lookups", {"filters": {LOOKUP, Filter("latency_us", "<", (2000,))}}),
    (
        "AUC of qr at compression 0.1.",
        {"filters": {TRAINING, eq("method", "quotient_remainder"), eq("compression", 0.1)}},
    ),
    ("latency by benchmark", {"filters": set()}),
    ("latency at the same batch size by method in lookup", {"filters": {LOOKUP, FORWARD}}),
]


@pytest.mark.parametrize(("question", "expected"), CASES + MISREAD, ids=[q for q, _ in CASES + MISREAD])
def test_reading(question: str, expected: dict[str, Any], profile: Profile) -> None:
    found = summary(grammar.read(question, profile))
    assert {key: found[key] for key in expected} == expected


def test_the_same_words_in_other_case_and_width_read_the_same(profile: Profile) -> None:
    plain = grammar.read("memory vs AUC at compression 0.1", profile)
    assert grammar.read("MEMORY  VS auc AT Compression ０.１ !!", profile) == plain


def test_a_corrected_typo_is_told(profile: Profile) -> None:
    assert any("hashd" in note for note in grammar.read("auc of hashd by compression", profile).notes)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("price per hour of hashed", ("price", "hour", "AUC", "memory")),
        ("Welche Methode ist am schnellsten?", ("welche", "AUC")),
        ("哪种方法最快", ("哪种方法最快",)),
        ("🦆🦆", ("AUC",)),
        ("auc under", ("under", "number")),
        ("top 100000 lookups", ("1,000",)),
        ("auc of failed trials", ("AUC",)),
        ("latency under 5 parsecs", ("parsecs",)),
        ("auc 0.7", ("under or above",)),
        ("auc and max_abs_error by method", ("AUC", "largest error")),
        ("loss by epoch", ("over training", "curves")),
        ("latency over training", ("latency", "step by step")),
        ("best loss over training", ("followed through training",)),
        ("how many trials without losing quality", ("as good as the baseline",)),
        ("p99 before and after commit 57e7d9e", ("code version", "since 2026-11-01", "FROM history")),
        ("latency since commit 57e7d9e", ("code version", "FROM history")),
        ("latency since the flood", ("since the flood", "since 2026-11-01")),
        ("latency changed", ("since monday",)),
        ("fastest method over time", ("ranking",)),
        ("is hashed faster", ("compared with what", "since monday")),
        ("latency on the gpu", ("No trial has device = cuda", "cpu")),
        ("verdict by method", ("No trial has a verdict",)),
        ("how many verdicts are unclear", ("No trial has a verdict",)),
        ("which method is significantly faster than dense", ("No trial has a verdict",)),
        ("latency with cold cache", ("No trial has cache mode = cold yet", "in lookup", "run caches")),
        ("latency with cold cache in training", ("No trial has cache mode = cold yet", "run caches")),
        ("latency of fbgemm", ("No trial has method = fbgemm_tbe yet", "run rivals")),
        ("which is faster, tbe or onnx?", ("No trial has method in fbgemm_tbe, onnxruntime yet", "run rivals")),
        ("memory of unhashed", ("unhashed",)),
        ("largest batch size with latency under 1 ms for lookups", ("latency by batch size",)),
        ("auc above 0.9 and below 0.8", ("AUC > 0.9", "< 0.8")),
        ("which memory is smaller", ("smaller",)),
        ("auc between 0.1", ("two numbers",)),
        ("AUC without seed", ("without seed",)),
        ("latency in lookup where dim is null", ("missing", "IS NULL")),
        ("latency in lookup where the method is not missing by method", ("missing", "IS NULL")),
        ("latency in lookup with batch size -64", ("“-64”", "below zero")),
        ("auc of trials with regret above -.1", ("“-.1”", "below zero")),
        ("top -5 methods by latency", ("“-5”", "below zero")),
    ],
)
def test_refusals_name_what_is_wrong_or_known(question: str, names: tuple[str, ...], profile: Profile) -> None:
    with pytest.raises(Refusal) as refused:
        grammar.read(question, profile)
    for name in names:
        assert name in str(refused.value)


@pytest.mark.parametrize(
    "question",
    ["best method", "average latency by method", "memory", "hashed", "fastest method", "best AUC and lowest memory"],
)
def test_questions_back_offer_choices_that_answer(question: str, profile: Profile) -> None:
    with pytest.raises(Ambiguity) as back:
        grammar.read(question, profile)
    assert 1 < len(back.value.choices) <= 3
    answered = 0
    for choice in back.value.choices:
        with contextlib.suppress(Ambiguity):  # a choice may narrow in two steps
            grammar.read(choice, profile)
            answered += 1
    assert answered


def test_no_results_yet() -> None:
    with pytest.raises(Refusal, match="no results yet"):
        grammar.read("auc by method", Profile())


def test_trials_from_before_an_axis_was_there_are_work_of_their_own(profile: Profile) -> None:
    """One trial with warm caches among those that say nothing of caches: neither is averaged with the other."""
    by_benchmark = {b: {**columns, "cache": ()} for b, columns in profile.distinct_by_benchmark.items()}
    by_benchmark["lookup"]["cache"] = ("warm",)
    mixed = replace(profile, distinct_by_benchmark=by_benchmark, partly_filled={"lookup": frozenset({"cache"})})
    question = "latency by batch size in lookup"
    assert "cache" not in grammar.read(question, profile).dimensions
    assert "cache" in grammar.read(question, mixed).dimensions
    assert "cache" not in grammar.read(f"{question} with warm caches", mixed).dimensions


def test_verdicts_against_another_baseline_do_not_tell_of_dense(profile: Profile) -> None:
    by_benchmark = {b: {**c, "verdict": ("faster",)} for b, c in profile.distinct_by_benchmark.items()}
    known = replace(profile, distinct={**profile.distinct, "verdict": ("faster",)}, distinct_by_benchmark=by_benchmark)
    question = "is hashed faster than dense in lookup"
    assert grammar.read(question, known).claim == "faster"
    assert grammar.read(question, replace(known, baselines={"lookup": ("dense", "small_dim")})).claim is None


@pytest.mark.parametrize(
    ("words", "method"),
    [
        ("fbgemm", "fbgemm_tbe"),
        ("TBE", "fbgemm_tbe"),
        ("ort", "onnxruntime"),
        ("onnx", "onnxruntime"),
        ("ONNX Runtime", "onnxruntime"),
        ("torch.compile", "inductor"),
        ("Inductor", "inductor"),
        ("zen", "zentorch"),
        ("jax", "jax"),
    ],
)
def test_rivals_have_other_names(words: str, method: str, profile: Profile) -> None:
    methods = (*profile.values("method"), method)
    measured = replace(profile, distinct={**profile.distinct, "method": methods})
    measured = replace(
        measured,
        distinct_by_benchmark={
            **profile.distinct_by_benchmark, "lookup": {**profile.distinct_by_benchmark["lookup"], "method": methods},
        },
    )  # fmt: skip
    assert eq("method", method) in grammar.read(f"latency of {words} by batch size in lookup", measured).filters


def test_a_method_that_was_not_measured_is_named_beside_those_that_were(profile: Profile) -> None:
    assert "no trial has method = jax yet" in grammar.read("latency of hashed, dense and jax in lookup", profile).notes
    with pytest.raises(Refusal, match=r"No trial has method = fbgemm_tbe yet.*run rivals"):
        grammar.read("is fbgemm faster than dense", profile)  # nothing is left to be compared


def test_significant_needs_verdicts_against_the_one_baseline(profile: Profile) -> None:
    by_benchmark = {b: {**c, "verdict": ("faster",)} for b, c in profile.distinct_by_benchmark.items()}
    known = replace(profile, distinct={**profile.distinct, "verdict": ("faster",)}, distinct_by_benchmark=by_benchmark)
    assert grammar.read("which method is significantly faster than dense", known).claim == "faster"
    with pytest.raises(Refusal, match="not dense alone"):
        grammar.read(
            "which method is significantly faster than dense",
            replace(known, baselines={"lookup": ("dense", "small_dim")}),
        )
    with pytest.raises(Refusal, match="significantly faster than dense"):
        grammar.read("is hashed significantly faster than small_dim in lookup", known)
    with pytest.raises(Refusal, match="significantly faster than dense"):
        grammar.read("is the throughput of hashed significantly faster than dense", known)


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("how many configurations are slower than dense", {eq("verdict", "slower")}),
        ("how many configurations of hashed are slower than dense", {eq("method", "hashed"), eq("verdict", "slower")}),
        ("how many configurations is dense slower than hashed", {eq("method", "hashed"), eq("verdict", "faster")}),
        ("how many verdicts are unclear", {eq("verdict", "unclear")}),
        ("how many are unclear for hashed", {eq("method", "hashed"), eq("verdict", "unclear")}),
        ("how many verdicts are the same", {eq("verdict", "same")}),
        ("how many verdicts were slower", {eq("verdict", "slower")}),
        ("how many trials with verdict faster", {eq("verdict", "faster")}),
    ],
)
def test_verdicts_are_counted(question: str, filters: set[Filter], profile: Profile) -> None:
    known = replace(profile, distinct={**profile.distinct, "verdict": ("faster", "slower", "unclear")})
    read = grammar.read(question, known)
    assert (read.shape, set(read.filters)) == ("count", filters)


def test_what_the_question_left_open_is_said_once(profile: Profile) -> None:
    spec = grammar.read("latency by method in lookup", profile)
    assert eq("direction", "forward") in spec.filters
    assert [note for note in spec.notes if "direction" in note] == ["direction as usual"]

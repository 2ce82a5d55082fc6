"""The sentences: right by hand on small results, and no number that the rows do not hold."""

import itertools
import random
import re
import statistics
from dataclasses import replace

import pytest
from result_tables import (
    AUC,
    BEST,
    BY_BATCH,
    BY_COMPRESSION,
    FASTEST,
    MEAN_AUC,
    MEAN_LATENCY,
    MEMORY,
    TRADE_OFF,
    best,
    by_batch,
    by_compression,
    fastest,
    trade_off,
)

from mirror.chart.choose import choose
from mirror.query.spec import Filter, Metric, Order, QuerySpec
from mirror.schema.result_columns import result_table
from mirror.sentence.summary import summarize
from mirror.table.table import Column, Table


def said(table, spec=None, failed=0):
    return summarize(table, spec, choose(table, spec), failed)


def table(columns: str, *rows: tuple) -> Table:
    return result_table(tuple(columns.split()), rows)


COMPARED = QuerySpec("groups", (MEAN_AUC, Metric("memory_mb", "avg")), ("method", "embedding_dim"))
PER_METHOD = QuerySpec("groups", (MEAN_LATENCY,), ("method",))

GOLDEN = {
    "courses of other ends": (
        table(
            "compression dataset auc n",
            *((0.02, "a", 0.7, 3), (0.5, "a", 0.72, 3), (1.0, "a", 0.75, 3), (0.5, "b", 0.6, 3), (1.0, "b", 0.65, 3)),
        ),
        BY_COMPRESSION,
        "AUC along compression, rises steadily from 0.7000 to 0.7500 on a (from compression 0.02 to compression 1); "
        "rises steadily from 0.6000 to 0.6500 on b (from compression 0.5 to compression 1). "
        "Rests on 15 trials in 5 rows.",
    ),
    "trade-off": (
        trade_off("frappe"),
        TRADE_OFF,
        "Highest AUC besides dense: hashed (0.7800 ± 0.0014, n = 2, 0.0100 lower than dense with 0.1x its memory). "
        "On the Pareto front: hashed and dense. Rests on 6 trials of 3 configurations.",
    ),
    "trade-off of two data sets": (
        trade_off("a", "b"),
        TRADE_OFF,
        "Highest AUC besides dense: hashed on a (0.7800 ± 0.0014, n = 2, 0.0100 lower than dense with 0.1x its "
        "memory); and hashed on b (0.7800 ± 0.0014, n = 2, 0.0100 lower than dense with 0.0909x its memory). "
        "On the Pareto front of every data set: hashed and dense. Rests on 12 trials of 6 configurations.",
    ),
    "trade-off without a baseline": (
        table("method memory_mb auc", ("a", 1.0, 0.7), ("b", 2.0, 0.8), ("c", 3.0, 0.8)),
        QuerySpec("points", (MEMORY, AUC), ("method",)),
        "Highest AUC: b and c (0.8000). On the Pareto front: a and b. 3 rows.",
    ),
    "trade-off, asked the other way round": (
        table("method auc memory_mb", ("a", 0.7, 1.0), ("b", 0.8, 2.0)),
        QuerySpec("points", (AUC, MEMORY), ("method",)),
        "Highest AUC: b (0.8000). On the Pareto front: a and b. 2 rows.",
    ),
    "course": (
        by_compression("frappe"),
        BY_COMPRESSION,
        "AUC, from compression 0.02 to compression 1, rises steadily from 0.7000 to 0.7500. "
        "Rests on 18 trials in 6 rows.",
    ),
    "course with a peak": (
        table("compression auc n", (0.1, 0.7, 3), (0.5, 0.8, 3), (1.0, 0.75, 3)),
        replace(BY_COMPRESSION, dimensions=("compression",)),
        "AUC, from compression 0.1 to compression 1, rises and falls from 0.7000 to 0.7500, "
        "best 0.8000 at compression 0.5. Rests on 9 trials in 3 rows.",
    ),
    "courses of two data sets": (
        by_compression("a", "b"),
        BY_COMPRESSION,
        "AUC, from compression 0.02 to compression 1, rises steadily from 0.7000 to 0.7500 on a; "
        "rises steadily from 0.7000 to 0.7500 on b. Rests on 36 trials in 12 rows.",
    ),
    "many courses": (
        table(
            "method batch_size latency_us n",
            *((m, b, k * b if k else 5.0, 3) for k, m in enumerate("abcd") for b in (1, 2, 4)),
        ),
        BY_BATCH,
        "Latency rises steadily along batch size in 3 of 4 lines, stays the same in 1. "
        "Lowest latency 1 µs (b, batch size 1); highest latency 12 µs (d, batch size 4). "
        "Rests on 36 trials in 12 rows.",
    ),
    "course in time": (
        table("day auc", ("2026-01-01T00:00:00", 0.8), ("2026-01-02T12:00:00", 0.7)),
        None,
        "AUC, from 2026-01-01 to 2026-01-02 12:00, falls steadily from 0.8000 to 0.7000. 2 rows.",
    ),
    "ranking": (
        fastest(),
        FASTEST,
        "dense at dim 16 has the lowest latency: 10.0 ± 0.4 µs (n = 3); next is hashed at dim 16 with 12.5 µs (1.25x). "
        "Rests on 7 trials in 3 rows.",
    ),
    "ranking with a tie": (
        table("method auc n", ("a", 0.8, 3), ("b", 0.8, 3), ("c", 0.7, 3)),
        QuerySpec("ranking", (MEAN_AUC,), ("method",), order=(Order("auc", True),), limit=3),
        "a and b share the highest AUC: 0.8000; next is c with 0.7000 (0.1000 lower). Rests on 9 trials in 3 rows.",
    ),
    "ranking, worst first": (
        table("method latency_us n", ("a", 30.0, 3), ("b", 10.0, 3)),
        replace(FASTEST, dimensions=("method",), order=(Order("latency_us", True),)),
        "a has the highest latency: 30 µs; next is b with 10 µs (0.333x). Rests on 6 trials in 2 rows.",
    ),
    "best per data set": (
        best(),
        BEST,
        "Highest AUC: hashed on frappe (0.9300 ± 0.0010, n = 3) and dense on synthetic (0.7800 ± 0.0020, n = 3). "
        "Rests on 6 trials in 2 rows.",
    ),
    "one best": (
        table("method compression auc stddev_auc n", ("hashed", 0.1, 0.78, 0.001, 3)),
        QuerySpec("best", (MEAN_AUC,), ("method", "compression")),
        "AUC 0.7800 ± 0.0010 (n = 3) for hashed at compression 0.1. Rests on 3 trials in 1 row.",
    ),
    "two methods": (
        table("method embedding_dim auc memory_mb n", ("dense", 16, 0.79, 10.0, 3), ("hashed", 16, 0.78, 1.0, 3)),
        COMPARED,
        "hashed against dense: AUC 0.0100 lower (0.7800 against 0.7900), memory 0.1x (1 MB against 10 MB). "
        "Rests on 6 trials in 2 rows.",
    ),
    "two methods in several places": (
        table(
            "method embedding_dim auc memory_mb n",
            ("dense", 8, 0.79, 10.0, 3), ("hashed", 8, 0.78, 1.0, 3),
            ("dense", 16, 0.80, 20.0, 3), ("hashed", 16, 0.81, 4.0, 3), ("hashed", 32, 0.81, 4.0, 3),
        ),
        COMPARED,
        "hashed against dense: AUC 0.0100 lower to 0.0100 higher in 2 pairs, memory 0.1x to 0.2x in 2 pairs. "
        "Rests on 15 trials in 5 rows.",
    ),
    "two methods, one of a single size": (
        table(
            "method compression auc memory_mb n",
            ("dense", 1.0, 0.80, 10.0, 3), ("hashed", 0.1, 0.75, 1.0, 3), ("hashed", 0.5, 0.79, 5.0, 3),
        ),
        COMPARED,
        "hashed against dense: AUC 0.0500 to 0.0100 lower in 2 pairs, memory 0.1x to 0.5x in 2 pairs. "
        "Rests on 9 trials in 3 rows.",
    ),
    "two methods of several sizes": (
        table(
            "method compression auc memory_mb n",
            ("a", 0.1, 0.80, 1.0, 3), ("b", 0.1, 0.75, 2.0, 3), ("a", 0.5, 0.79, 5.0, 3), ("b", 0.2, 0.78, 2.0, 3),
        ),
        COMPARED,
        "a against b: AUC 0.0500 higher (0.8000 against 0.7500), memory 0.5x (1 MB against 2 MB). "
        "Rests on 12 trials in 4 rows.",
    ),
    "a trade-off of different work has no winner": (
        table("method batch_size latency_us memory_mb", ("a", 1, 5.0, 2.0), ("b", 2, 1500.0, 1.0)),
        QuerySpec("points", (Metric("latency_us"), MEMORY), ("method", "batch_size")),
        "Latency from 5 µs to 1.50 ms and memory from 1 MB to 2 MB. 2 rows.",
    ),
    "failed trials": (
        table("trials", (2,)),
        QuerySpec("count", filters=(Filter("status", "<>", ("skipped",)),), source="failures"),
        "2 failed trials.",
    ),
    "groups": (
        table("method latency_us n", ("a", 30.0, 3), ("b", 10.0, 3), ("c", 1200.0, 1)),
        PER_METHOD,
        "Lowest latency 10 µs (b); highest latency 1.20 ms (c). Rests on 7 trials in 3 rows.",
    ),
    "groups of data sets are not ranked against each other": (
        table("method dataset latency_us n", *((m, d, k, 3) for m, k in (("x", 1), ("y", 2), ("z", 3)) for d in "ab")),
        replace(PER_METHOD, dimensions=("method", "dataset")),
        "Lowest latency: x on a (1 µs) and x on b (1 µs). Rests on 18 trials in 6 rows.",
    ),
    "a distribution": (
        table("latency_us", *((float(v),) for v in (1, 2, 3, 4, 5))),
        None,
        "Mean latency 3.0 ± 1.6 µs (n = 5), from 1 µs to 5 µs. 5 rows.",
    ),
    "a count": (table("trials", (1,)), QuerySpec("count"), "1 trial."),
    "counts": (
        table("method trials", ("a", 3), ("b", 7)),
        QuerySpec("count", dimensions=("method",)),
        "10 trials in 2 groups: most for b (7), fewest for a (3).",
    ),
    "equal counts": (
        table("method trials", ("a", 3), ("b", 3)),
        QuerySpec("count", dimensions=("method",)),
        "6 trials in 2 groups, 3 in each.",
    ),
    "whole trials": (trade_off("a"), QuerySpec("rows"), "6 rows."),
    "edited SQL without numbers": (table("method", ("a",), ("b",)), None, "2 rows, method: a and b."),
    "edited SQL with an alias": (
        table("method max_latency_us", ("a", 5.0), ("b", 7.0), ("c", 6.0)),
        None,
        "Lowest “highest latency” 5 µs (a); highest “highest latency” 7 µs (b). 3 rows.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GOLDEN)
def test_golden(case):
    result, spec, expected = GOLDEN[case]
    assert said(result, spec) == expected


def test_an_empty_result_says_so():
    spec = replace(TRADE_OFF, filters=(Filter("compression", "=", (0.3,)),))
    assert said(result_table(("auc",), ()), spec, failed=2) == (
        "No rows match compression = 0.3; 2 failed trials are not shown."
    )


@pytest.mark.parametrize("data_sets", ["a", "abc"])
def test_a_trade_off_takes_three_sentences_at_most(data_sets):
    text = said(trade_off(*data_sets), TRADE_OFF, failed=3)
    assert 2 <= len(re.findall(r"\.(?: |$)", text)) <= 3, text
    assert text.endswith("; 3 failed trials are not shown.")


@pytest.mark.parametrize(
    ("cost", "memory", "words"),
    [
        ("logloss", 0.5, "0.1000 higher than dense at a logloss 0.1000 lower)"),
        ("logloss", 0.6, "0.1000 higher than dense at the same logloss)"),
        ("memory_mb", 0.6, "0.1000 higher than dense at the same memory)"),
        ("memory_mb", 0.3, "0.1000 higher than dense with 0.5x its memory)"),
    ],
)
def test_what_the_best_costs_is_a_sentence(cost, memory, words):
    spec = QuerySpec("points", (Metric(cost), AUC), ("method",))
    assert words in said(table(f"method {cost} auc", ("dense", 0.6, 0.7), ("hashed", memory, 0.8)), spec)


@pytest.mark.parametrize(
    ("columns", "rows", "basis"),
    [
        (
            "method auc n", (("dense", 0.8, 3), ("hashed", 0.7, 2), ("fiited", None, 2)),
            "Rests on 5 trials in 3 rows; 1 row has no AUC.",
        ),
        (
            "method seed auc", (("dense", 0, 0.8), ("dense", 1, 0.7), ("hashed", 0, None), ("hashed", 1, None)),
            "Rests on 2 trials of 1 configuration; 2 trials have no AUC.",
        ),
        ("method auc", (("dense", 0.8), ("hashed", 0.7), ("fiited", None)), "3 rows; 1 row has no AUC."),
    ],
)  # fmt: skip
def test_rows_without_a_value_are_rows(columns, rows, basis):
    assert said(table(columns, *rows)).endswith(f" {basis}")


def test_trials_that_tie_share_the_first_place():
    spec = QuerySpec("points", (AUC,), ("method", "seed"), order=(Order("auc", True),), limit=3)
    rows = (("dense", 0, 0.8), ("hashed", 1, 0.8), ("hashed", 0, 0.7))
    told = "Dense at seed 0 and 1 more of the 3 listed share the highest AUC of a single trial: 0.8000"
    assert said(table("method seed auc", *rows), spec) == f"{told}; the last of 3 has 0.7000."
    assert said(table("method seed auc", *rows[:2]), spec) == f"{told.replace('3 listed', '2 listed')}."


def test_the_last_of_rows_that_were_not_all_read_is_not_told():
    spec = QuerySpec("rows", order=(Order("latency_us"),), limit=5000)
    read = table("method seed latency_us", ("dense", 0, 10.0), ("dense", 1, 20.0))
    assert said(read, spec) == "2 rows, by latency: dense at seed 0 with 10 µs first; the last of them 20 µs."
    tally = Column("rows of a row", "integer", role="tally")
    every = replace(read, columns=(*read.columns, tally), rows=((None, None, None, 5000),))
    text = said(replace(read, truncated=True, whole=every), spec)
    assert text == "5,000 rows, by latency: dense at seed 0 with 10 µs first."


def test_failed_trials_and_a_cut_result_are_said():
    text = said(replace(by_batch(), truncated=True), BY_BATCH, failed=1)
    assert text.endswith("in 6 rows; only the first 6 rows were read; 1 failed trial is not shown.")


def test_the_baseline_is_the_marked_one():
    rows = (("fast", False, 1.0, 0.7), ("slow", True, 2.0, 0.8))
    text = said(result_table(("method", "is_baseline", "memory_mb", "auc"), rows))
    assert "besides slow: fast (0.7000, 0.1000 lower than slow with 0.5x its memory)" in text


def test_a_baseline_of_other_work_is_no_reference():
    rows = (("dense", 16, 1.0, 0.7), ("hashed", 8, 2.0, 0.8), ("dense", 32, 1.0, 0.7))
    text = said(result_table(("method", "embedding_dim", "memory_mb", "auc"), rows), None)
    assert "than dense" not in text


def test_a_zero_has_no_ratio():
    rows = (("dense", 16, 0.8, 0.0, 3), ("hashed", 16, 0.7, 2.0, 3))
    text = said(result_table(("method", "embedding_dim", "auc", "memory_mb", "n"), rows), COMPARED)
    assert "memory 2 MB higher (2 MB against 0 MB)" in text


def test_text_from_data_stays_on_one_line():
    rows = (("<b>\nx\u202e", 1.0, 0.7), ("y", 2.0, 0.8))
    text = said(result_table(("method", "memory_mb", "auc"), rows))
    assert "<b> x" in text
    assert text.isprintable()


NUMBER = re.compile(r"(?<![\w.-])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
SCALES = (1.0, 1e3)  # µs to ms, MB to GB


def derivable(result: Table) -> list[float]:
    """Every number a summary may hold: values, means per group of names, differences, ratios, deviations and counts."""
    numeric = [c for c in result.names if c != "seed" and not any(isinstance(v, str) for v in result.values(c))]
    names = [c for c in result.names if c in ("method", "dataset", "compression")]
    numbers = {float(n) for n in range(len(result.rows) + 1)}
    for c in numeric:
        groups: dict[tuple, list[float]] = {}
        for key, value in zip(zip(*map(result.values, names), strict=True), result.values(c), strict=True):
            groups.setdefault(key, []).append(float(value))
        means = [statistics.fmean(g) for g in groups.values()] + [float(v) for v in result.values(c)]
        numbers |= {*means, sum(result.values(c))}
        numbers |= {statistics.stdev(g) for g in groups.values() if len(g) > 1}
        for a, b in itertools.permutations(means, 2):
            numbers |= {abs(a - b), a / b}
    return sorted(numbers)


def close(text: str, numbers: list[float]) -> bool:
    digits = len(text.partition(".")[2].partition("e")[0])
    value = float(text.replace(",", ""))
    return any(abs(value - n / s) <= 0.501 * 10.0**-digits for n in numbers for s in SCALES)


@pytest.mark.parametrize("seed", range(20))
def test_no_number_is_invented(seed):
    draws = random.Random(seed)
    methods, data_sets = ["dense", "hashed", "tiny"][: draws.randint(2, 3)], ["p", "q"][: draws.randint(1, 2)]
    points = result_table(
        ("method", "dataset", "compression", "seed", "memory_mb", "auc"),
        tuple(
            (m, d, c, s, draws.uniform(500, 90_000), draws.uniform(0.5, 1))
            for m in methods for d in data_sets for c in (0.1, 0.5) for s in (0, 1)
        ),
    )  # fmt: skip
    groups = result_table(
        ("method", "dataset", "compression", "latency_us", "n"),
        tuple((m, d, c, draws.uniform(1, 9000), 3) for m in methods for d in data_sets for c in (0.1, 0.2, 0.5)),
    )
    spec = QuerySpec("groups", (MEAN_LATENCY,), ("method", "dataset", "compression"))
    ranking = replace(spec, shape="ranking", order=(Order("latency_us"),), limit=99)
    for result, question in ((points, TRADE_OFF), (points, None), (groups, spec), (groups, None), (groups, ranking)):
        text = said(result, question)
        numbers = derivable(result)
        found = NUMBER.findall(text)
        assert found
        assert [n for n in found if not close(n, numbers)] == [], text


def test_the_check_for_invented_numbers_can_fail():
    assert not close("0.1234", derivable(trade_off("a")))


def test_winners_are_named_with_the_size_they_have():
    """A method with one size implies it; it is still a size, not none."""
    rows = [(b, m, c, f"m{b}", 10.0 * b, 1) for b in (1, 2) for m, c in (("dense", 1.0), ("hashed", 0.5))]
    partitions = ("batch_size", "method", "compression")
    spec = QuerySpec(
        "best", (MEAN_LATENCY,), (*partitions, "machine"), partitions=partitions, order=(Order("latency_us"),)
    )
    text = said(table("batch_size method compression machine latency_us n", *rows), spec)
    assert "m1 for hashed at batch size 1, compression 0.5 (10 µs)" in text


def test_different_values_of_each_verdict_are_counted_as_such() -> None:
    spec = QuerySpec("count", dimensions=("verdict",), distinct="method")
    found = said(table("verdict count_method", ("faster", 3), ("slower", 5)), spec)
    assert found == "From 3 to 5 different values of method in 2 groups."


def test_what_has_nothing_to_tell_is_told_by_its_rows() -> None:
    machines = QuerySpec("rows", source="machines", dimensions=("cpu",))
    assert "EPYC" in said(table("cpu", ("EPYC",), ("Xeon",)), machines)
    front = QuerySpec("front", (MEAN_AUC, Metric("memory_mb", "avg")), ("method",))
    assert said(table("method auc memory_mb", ("a", None, None)), front)

"""QuerySpec -> SQL: golden statements, and every one runs."""

from dataclasses import replace

import pytest

from mirror.data.process.sandbox import Sandbox
from mirror.query.complete import complete
from mirror.query.spec import Filter, Metric, Order, QuerySpec
from mirror.query.sql import compile_sql, condition, format_sql, literal

GOLDEN = {
    "points with the baseline kept": (
        QuerySpec(
            "points",
            (Metric("memory_mb"), Metric("auc")),
            ("method", "seed"),
            filters=(Filter("benchmark", "=", ("training",)), Filter("compression", "=", (0.1,))),
            keep_baseline=True,
        ),
        """SELECT method, seed, memory_mb, auc
FROM results
WHERE benchmark = 'training'
  AND (compression = 0.1 OR is_baseline)
  AND memory_mb IS NOT NULL
  AND auc IS NOT NULL""",
    ),
    "best of each data set": (
        QuerySpec(
            "best",
            (Metric("auc", "avg"),),
            ("dataset", "method"),
            partitions=("dataset",),
            filters=(Filter("memory_mb", "<", (5,)),),
            order=(Order("auc", True),),
        ),
        """SELECT dataset, method, avg(auc) AS auc, stddev_samp(auc) AS stddev_auc, count(*) AS n
FROM results
WHERE auc IS NOT NULL
GROUP BY dataset, method
HAVING avg(memory_mb) < 5
QUALIFY rank() OVER (PARTITION BY dataset ORDER BY avg(auc) DESC) = 1
ORDER BY dataset, auc DESC, method""",
    ),
    "ranking": (
        QuerySpec("ranking", (Metric("latency_us", "max"),), ("method",), order=(Order("latency_us"),), limit=5),
        """SELECT method, max(latency_us) AS max_latency_us, count(*) AS n
FROM results
WHERE latency_us IS NOT NULL
GROUP BY method
ORDER BY max_latency_us, method
LIMIT 5""",
    ),
    "groups sorted by a metric that has another name in the result": (
        QuerySpec("groups", (Metric("latency_us", "median"),), ("method",), order=(Order("latency_us"),)),
        """SELECT method, median(latency_us) AS median_latency_us, count(*) AS n
FROM results
WHERE latency_us IS NOT NULL
GROUP BY method
ORDER BY median_latency_us, method""",
    ),
    "best of everything": (
        QuerySpec("best", (Metric("auc", "avg"),), order=(Order("auc", True),)),
        """SELECT avg(auc) AS auc, stddev_samp(auc) AS stddev_auc, count(*) AS n
FROM results
WHERE auc IS NOT NULL
QUALIFY rank() OVER (ORDER BY avg(auc) DESC) = 1""",
    ),
    "a change of what is timed": (
        QuerySpec("change", (Metric("latency_us"),), ("method",), source="history", split="2026-11-09"),
        """SELECT method,
       median(latency_us) FILTER (WHERE started_at < '2026-11-09') AS before_latency_us,
       median(latency_us) FILTER (WHERE started_at >= '2026-11-09') AS since_latency_us,
       since_latency_us / nullif(before_latency_us, 0) AS ratio_latency_us,
       max(noise) AS max_noise,
       count(*) FILTER (WHERE started_at < '2026-11-09') AS n_before,
       count(*) FILTER (WHERE started_at >= '2026-11-09') AS n_since
FROM history
WHERE latency_us IS NOT NULL
GROUP BY method
ORDER BY ratio_latency_us DESC NULLS LAST, method""",
    ),
    "speedups with what is known of them": (
        QuerySpec("points", (Metric("speedup"),), ("method",), verdicts=True),
        """SELECT method, speedup, speedup_ci_low, speedup_ci_high, verdict
FROM results
WHERE speedup IS NOT NULL""",
    ),
    "the first of the trials": (
        QuerySpec("points", (Metric("auc"),), ("method", "seed"), order=(Order("auc", True),), limit=3),
        """SELECT method, seed, auc
FROM results
WHERE auc IS NOT NULL
ORDER BY auc DESC, trial_id
LIMIT 3""",
    ),
    "steps of curves in an order": (
        QuerySpec("rows", (Metric("value"),), ("step",), order=(Order("step"),), source="curves"),
        "SELECT step, value\nFROM curves\nWHERE value IS NOT NULL\nORDER BY step, trial_id, metric\nLIMIT 1000",
    ),
    "whole rows": (QuerySpec("rows", source="machines"), "SELECT *\nFROM machines\nLIMIT 1000"),
    "count": (
        QuerySpec("count", filters=(Filter("status", "<>", ("skipped",)),), source="failures"),
        "SELECT count(*) AS trials\nFROM failures\nWHERE status <> 'skipped'",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str, box: Sandbox) -> None:
    spec, sql = GOLDEN[name]
    assert compile_sql(spec) == sql
    box.run(sql)


MEMORY, BY_MEMORY = (Metric("memory_mb", "avg"),), (Order("memory_mb"),)
LOOKUPS = (Filter("benchmark", "=", ("lookup",)),)
IN_ORDER = {
    "groups": QuerySpec("groups", MEMORY, ("method", "embedding_dim"), filters=LOOKUPS, order=BY_MEMORY),
    "best": QuerySpec(
        "best", MEMORY, ("embedding_dim", "method"), ("embedding_dim",), filters=LOOKUPS, order=BY_MEMORY
    ),
    "ranking": QuerySpec("ranking", MEMORY, ("method", "batch_size"), filters=LOOKUPS, order=BY_MEMORY, limit=30),
    "count": QuerySpec("count", dimensions=("method", "embedding_dim"), filters=LOOKUPS, order=(Order("trials"),)),
    "front": QuerySpec(
        "front", (*MEMORY, Metric("latency_us", "avg")), ("batch_size", "method"), filters=LOOKUPS, claim="worse"
    ),
    "relative": QuerySpec(
        "relative", MEMORY, ("method", "compression", "batch_size"), ("batch_size",), order=(Order("ratio_memory_mb"),),
        filters=(*LOOKUPS, Filter("method", "<>", ("dense",))), against=Filter("method", "=", ("hashed",)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_ORDER)
def test_rows_that_tie_have_one_order(name: str, box: Sandbox) -> None:
    sql = compile_sql(IN_ORDER[name])
    *_, last = (line for line in sql.splitlines() if line.startswith("ORDER BY "))
    keys = last.removeprefix("ORDER BY ").replace(" DESC", "").split(", ")
    table = box.run(sql)
    leading = {row[table.names.index(keys[0])] for row in table.rows}
    assert len({tuple(row[table.names.index(k)] for k in keys) for row in table.rows}) == len(table.rows)
    assert len(leading) < len(table.rows), "some of the rows tie"


def test_what_others_are_compared_with_need_not_meet_their_condition(box: Sandbox) -> None:
    relative = IN_ORDER["relative"]
    small = compile_sql(replace(relative, filters=(*relative.filters, Filter("memory_mb", "<", (1.0,)))))
    assert "HAVING (avg(memory_mb) < 1.0 OR method = 'hashed')" in small
    chunked = compile_sql(replace(relative, filters=(*relative.filters, Filter("num_chunks", "=", (8,)))))
    assert "(num_chunks = 8 OR (method = 'hashed' AND num_chunks IS NULL))" in chunked
    for sql in (small, chunked):
        box.run(sql)


def test_the_first_is_the_best_and_ties_are_kept(box: Sandbox) -> None:
    spec = QuerySpec("best", (Metric("memory_mb", "avg"),), ("method",), order=(Order("memory_mb"),))
    spec = QuerySpec(**{**vars(spec), "filters": (Filter("benchmark", "=", ("lookup",)),)})
    rows = box.run(compile_sql(spec)).rows
    assert len(rows) == 4, "all four methods need the same memory in the seeded lookups"


def test_values_are_quoted() -> None:
    assert literal("it's") == "'it''s'"
    assert (
        condition(Filter("method", "in", ("a", "b'; DROP TABLE x; --"))) == "method IN ('a', 'b''; DROP TABLE x; --')"
    )
    assert literal(True) == "true"
    assert literal(0.1) == "0.1"


def test_long_lists_of_columns_are_broken_between_columns(box: Sandbox, profile: object) -> None:
    of_two = (Filter("method", "in", ("hashed", "dense")), Filter("embedding_dim", "=", (16,)))
    compared = QuerySpec("groups", dimensions=("method",), filters=of_two)
    sql = compile_sql(complete(compared, box.schema(), ""))
    assert max(map(len, sql.splitlines())) <= 100
    box.run(sql)


def test_format_keeps_the_meaning_and_survives_nonsense(box: Sandbox) -> None:
    sql = "select method,avg(auc) as auc from results where auc>0.5 group by method order by 1"
    tidy = format_sql(sql)
    assert "\n" in tidy
    assert box.run(tidy).rows == box.run(sql).rows
    assert format_sql("select ((( from") == "select ((( from"
    assert format_sql("") == ""


def test_the_first_of_counted_groups_are_those_of_the_order(box: Sandbox) -> None:
    by_size = QuerySpec(
        "count", dimensions=("batch_size",), filters=LOOKUPS, order=(Order("batch_size", True),), limit=2
    )
    assert [row[0] for row in box.run(compile_sql(by_size)).rows] == [2048, 512]
    sets = QuerySpec(
        "count", dimensions=("method",), distinct="dataset", order=(Order("count_dataset", True),), limit=1
    )
    assert "ORDER BY count(DISTINCT dataset) DESC" in compile_sql(sets)


def test_work_without_a_value_of_an_axis_has_its_baseline_too(box: Sandbox) -> None:
    spec = QuerySpec(
        "best",
        MEMORY,
        ("dataset", "optimizer", "method", "compression"),
        ("dataset", "optimizer"),
        filters=(Filter("benchmark", "=", ("training",)),),
        order=BY_MEMORY,
        within=0.05,
    )
    without = "SELECT count(*) FROM results WHERE benchmark = 'training' AND optimizer IS NULL"
    assert box.run(without).rows != ((0,),)
    assert {row[0] for row in box.run(compile_sql(spec)).rows} == {"frappe", "ml-206k", "synthetic"}

"""Which chart a result gets: golden specs, wishes, and what stays a table."""

from dataclasses import replace

import pytest
from result_tables import (
    AUC,
    BEST,
    BY_BATCH,
    BY_COMPRESSION,
    FASTEST,
    MEAN_AUC,
    MEMORY,
    TRADE_OFF,
    best,
    by_batch,
    by_compression,
    fastest,
    trade_off,
)

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.choose import choose, redrawn, tiles
from mirror.chart.draw.figure import draw
from mirror.query.spec import ChartWish, Filter, Metric, QuerySpec
from mirror.schema.result_columns import result_table
from mirror.table.table import Table

SCATTER = ChartSpec("scatter", x="memory_mb", y="auc", color="method", symbol="method", pareto=True)
LINE = ChartSpec("line", x="compression", y="auc", color="dataset", symbol="dataset", log_x=True)
BY_METHOD = QuerySpec("groups", (MEAN_AUC,), ("method",))


def table(columns: str, *rows: tuple) -> Table:
    return result_table(tuple(columns.split()), rows)


def samples(*methods: str, each: int) -> Table:
    return result_table(("method", "latency_us"), tuple((m, 10.0 + i % 7) for m in methods for i in range(each)))


GOLDEN = {
    "trade-off, one data set": (trade_off("frappe"), TRADE_OFF, SCATTER),
    "trade-off, several data sets": (trade_off("frappe", "ml"), TRADE_OFF, replace(SCATTER, facet="dataset")),
    "trade-off over two decades": (
        table("method memory_mb auc", ("dense", 500.0, 0.8), ("hashed", 1.0, 0.7)),
        QuerySpec("points", (MEMORY, AUC), ("method",)),
        replace(SCATTER, log_x=True),
    ),
    "trade-off with mixed work: no front": (
        table("method batch_size memory_mb auc", ("dense", 1, 5.0, 0.8), ("hashed", 2, 1.0, 0.7)),
        QuerySpec("points", (MEMORY, AUC), ("method", "batch_size")),
        replace(SCATTER, pareto=False),
    ),
    "metric by compression": (by_compression("frappe", "ml"), BY_COMPRESSION, LINE),
    "metric by compression, one data set": (
        by_compression("frappe"),
        BY_COMPRESSION,
        replace(LINE, color=None, symbol=None),
    ),
    "latency by method and batch size": (
        by_batch(),
        BY_BATCH,
        ChartSpec("line", x="batch_size", y="latency_us", color="method", symbol="method", log_x=True),
    ),
    "ranking": (fastest(), FASTEST, ChartSpec("bar", y="latency_us", color="method")),
    "ranking of methods": (
        table("method auc n", ("dense", 0.8, 3), ("hashed", 0.7, 3)),
        replace(FASTEST, metrics=(MEAN_AUC,), dimensions=("method",)),
        ChartSpec("bar", x="method", y="auc", color="method", dots=True),
    ),
    "best per data set": (best(), BEST, ChartSpec("bar", x="dataset", y="auc", color="method", dots=True)),
    "best per data set, tied": (
        table("dataset method auc n", ("a", "hashed", 0.9, 3), ("a", "dense", 0.9, 3), ("b", "dense", 0.7, 3)),
        BEST,
        ChartSpec("bar", y="auc", color="method"),
    ),
    "one row": (table("method auc n", ("dense", 0.8, 3)), BY_METHOD, ChartSpec("tiles")),
    "a count": (table("trials", (18,)), QuerySpec("count"), ChartSpec("tiles")),
    "counts per method": (
        table("method trials", ("dense", 3), ("hashed", 4)),
        QuerySpec("count", dimensions=("method",)),
        ChartSpec("bar", x="method", y="trials", color="method"),
    ),
    "counts per compression": (
        table("compression trials", (0.1, 3), (0.2, 4), (0.5, 9), (1.0, 2)),
        QuerySpec("count", dimensions=("compression",)),
        ChartSpec("bar", x="compression", y="trials"),
    ),
    "two names": (
        table("method dataset auc n", *((m, d, 0.7, 3) for m in ("dense", "hashed") for d in ("a", "b"))),
        QuerySpec("groups", (MEAN_AUC,), ("method", "dataset")),
        ChartSpec("bar", x="dataset", y="auc", color="method"),
    ),
    "two long lists of names": (
        table("op dataset auc n", *((f"o{i}", f"d{j}", 0.7, 3) for i in range(7) for j in range(7))),
        QuerySpec("groups", (MEAN_AUC,), ("op", "dataset")),
        ChartSpec("heatmap", x="op", y="dataset", color="auc"),
    ),
    "three names": (
        table(
            "method device dataset auc n",
            *((m, v, d, 0.7, 3) for m in ("dense", "hashed") for v in ("cpu", "cuda") for d in ("a", "b")),
        ),
        QuerySpec("groups", (MEAN_AUC,), ("method", "device", "dataset")),
        ChartSpec("bar", x="device", y="auc", color="method", facet="dataset"),
    ),
    "whole trials": (trade_off("frappe"), QuerySpec("rows"), ChartSpec("table")),
    "distribution per method": (
        samples("dense", "hashed", each=6),
        None,
        ChartSpec("box", x="method", y="latency_us", color="method"),
    ),
    "distribution of one number": (
        table("latency_us", *((float(i % 9),) for i in range(30))),
        None,
        ChartSpec("histogram", x="latency_us"),
    ),
    "edited SQL of a trade-off": (trade_off("frappe", "ml"), None, replace(SCATTER, facet="dataset")),
    "edited SQL of a course": (by_compression("frappe", "ml"), None, LINE),
    "edited SQL that starts with a parameter": (
        table("batch_size latency_us memory_mb", (1, 5.0, 1.0), (2, 6.0, 1.0), (4, 7.0, 2.0)),
        None,
        ChartSpec("line", x="batch_size", y="latency_us", metrics=("latency_us", "memory_mb"), log_x=True),
    ),
    "edited SQL along time": (
        table("day auc", ("2026-01-01", 0.7), ("2026-01-02", 0.8), ("2026-01-03", 0.8)),
        None,
        ChartSpec("line", x="day", y="auc"),
    ),
    "edited SQL of curves": (
        table("method metric step value", *((m, k, s, 0.5) for m in "ab" for k in ("auc", "loss") for s in (1, 2, 3))),
        None,
        ChartSpec("line", x="step", y="value", color="method", symbol="method", facet="metric"),
    ),
    "edited SQL of many numbers": (
        table("method a b c d e f g", ("a", 1, 1, 1, 1, 1, 1, 1), ("b", 2, 2, 2, 2, 2, 2, 2)),
        None,
        ChartSpec("table"),
    ),
    "edited SQL of text": (table("method", ("a",), ("b",)), None, ChartSpec("table")),
    "nothing to tell rows apart": (table("auc", (0.7,), (0.8,)), None, ChartSpec("table")),
}  # fmt: skip


@pytest.mark.parametrize("case", GOLDEN)
def test_golden(case):
    result, spec, expected = GOLDEN[case]
    chart = choose(result, spec)
    assert replace(chart, reason="") == expected
    assert chart.reason.endswith(".")
    assert (draw(result, chart) is None) == (chart.type in ("table", "tiles"))


def test_an_empty_result_names_the_filters_that_emptied_it():
    spec = replace(TRADE_OFF, filters=(Filter("compression", "=", (0.1,)), Filter("device", "in", ("cuda", "<b>"))))
    chart = choose(replace(trade_off("frappe"), rows=()), spec)
    assert chart == ChartSpec("table", reason="No rows match compression = 0.1 and device in cuda, <b>.")
    assert choose(result_table(("auc",), ()), None).reason == "No rows match."


def test_an_empty_metric_is_said():
    chart = choose(result_table(("method", "auc"), (("dense", None), ("hashed", None))), BY_METHOD)
    assert (chart.type, chart.reason) == ("table", "No row holds a number of AUC.")


def test_a_wish_comes_before_the_rules():
    assert choose(by_batch(), BY_BATCH, ChartWish("heatmap")).type == "heatmap"
    assert choose(by_batch(), BY_BATCH, ChartWish("table")).type == "table"
    assert choose(trade_off("frappe"), TRADE_OFF, ChartWish("box")).x == "method"


def test_bars_are_drawn_of_many_rows_that_nothing_names():
    chart = choose(result_table(("auc",), tuple((0.5 + i / 100,) for i in range(30))), None, ChartWish("bar"))
    assert (chart.type, chart.x, chart.y) == ("bar", None, "auc")


def test_a_scatter_of_one_metric_runs_along_a_parameter():
    chart = choose(by_compression("a"), BY_COMPRESSION, ChartWish("scatter"))
    assert (chart.type, chart.x, chart.y, chart.pareto) == ("scatter", "compression", "auc", False)


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        (ChartWish("scatter"), "A scatter needs two numeric columns"),
        (ChartWish("line"), "A line needs a numeric or time column on x"),
        (ChartWish("heatmap"), "A heatmap needs two columns that differ"),
        (ChartWish("tiles"), "Number tiles show one row; there are 2."),
        (ChartWish(log_y=True), "Bars start at zero, so they have no logarithmic axis."),
    ],
)
def test_a_wish_that_cannot_be_drawn_gets_the_best_chart_and_the_reason(wish, reason):
    chart = choose(table("method auc n", ("dense", 0.8, 3), ("hashed", 0.7, 3)), BY_METHOD, wish)
    assert (chart.type, chart.x, chart.log_y) == ("bar", "method", False)
    assert chart.reason.startswith(reason)


def test_wished_scales():
    chart = choose(trade_off("frappe"), TRADE_OFF, ChartWish(log_x=True))
    assert (chart.type, chart.log_x, chart.log_y) == ("scatter", True, False)


def test_two_values_make_a_line_only_where_it_is_wished():
    rows = table("method batch_size latency_us n", *((m, b, 1.0, 3) for m in ("a", "b") for b in (64, 128)))
    assert choose(rows, BY_BATCH).type == "bar"
    assert choose(rows, BY_BATCH, ChartWish("line")).x == "batch_size"


def test_what_is_left_out_is_said():
    rows = (*trade_off("frappe").rows, ("hashed", "frappe", 2, 0.1, 1.0, None))
    assert choose(replace(trade_off("frappe"), rows=rows), TRADE_OFF).reason == (
        "Memory against AUC, one point per trial. 1 row has no memory or no AUC to draw."
    )


def test_metrics_beyond_the_drawn_ones_are_in_the_table():
    spec = QuerySpec("groups", (MEAN_AUC, Metric("memory_mb", "avg")), ("compression", "dataset"))
    rows = table("compression dataset auc memory_mb", *((c, d, c, c) for c in (0.1, 0.2, 0.5) for d in "ab"))
    assert choose(rows, spec).reason == "AUC and memory along compression."
    apart = table(
        "compression method dataset auc memory_mb",
        *((c, m, d, c, c) for c in (0.1, 0.2, 0.5) for d in "ab" for m in ("dense", "hashed")),
    )
    chart = choose(apart, replace(spec, dimensions=("compression", "method", "dataset")))
    assert (chart.y, chart.facet, chart.metrics) == ("auc", "dataset", ())
    assert chart.reason == "AUC along compression. The table holds memory as well."


def test_tiles_hold_the_metrics_and_then_the_names():
    row = table("method compression auc memory_mb n", ("hashed", 0.1, 0.78, 1.0, 3))
    spec = QuerySpec("best", (MEAN_AUC, Metric("memory_mb", "avg")), ("method", "compression"))
    assert [(c.name, v) for c, v in tiles(row, spec)] == [
        ("auc", 0.78),
        ("memory_mb", 1.0),
        ("method", "hashed"),
        ("compression", 0.1),
    ]


def test_no_front_runs_across_data_sets():
    by_data_set = table("dataset memory_mb auc", ("a", 1.0, 0.7), ("b", 2.0, 0.8), ("c", 3.0, 0.9))
    chart = choose(by_data_set, QuerySpec("points", (MEMORY, AUC), ("dataset",)))
    assert (chart.color, chart.pareto) == ("dataset", False)
    assert "No Pareto front, since data set differs as well." in chart.reason


def test_what_a_change_brings_about_is_what_choosing_brings_about():
    rows = trade_off("frappe", "ml")
    chosen = choose(rows, TRADE_OFF)
    assert redrawn(chosen, rows, TRADE_OFF) == chosen
    one_panel = redrawn(replace(chosen, facet=None), rows, TRADE_OFF)
    assert (one_panel.pareto, one_panel.fronts) == (False, ())
    assert "No Pareto front, since data set differs as well." in one_panel.reason
    other_axis = redrawn(replace(chosen, x="seed"), rows, TRADE_OFF)
    assert (other_axis.pareto, other_axis.reason) == (
        False, "Seed against AUC, one point per trial. The table holds memory as well."
    )  # fmt: skip
    by_data_set = redrawn(replace(chosen, color="dataset", facet=None), rows, TRADE_OFF)
    assert (by_data_set.symbol, by_data_set.pareto) == ("dataset", False)
    boxes = redrawn(replace(chosen, type="box", x="method", color=None, facet=None), rows, TRADE_OFF)
    assert (boxes.symbol, boxes.pareto, boxes.reason) == (None, False, "How AUC is distributed.")
    assert redrawn(replace(chosen, type="table"), rows, TRADE_OFF).reason == "Shown as a table."


def test_a_redrawn_line_tells_its_lines_apart():
    columns = "batch_size method direction latency_us n"
    rows = table(
        columns, *((b, m, d, float(b), 3) for b in (1, 2, 4) for m in "ab" for d in ("forward", "forward_backward"))
    )
    line = redrawn(ChartSpec("line", x="batch_size", y="latency_us", color="method"), rows, None)
    assert (line.symbol, line.reason) == ("direction", "Latency along batch size.")
    panels = redrawn(ChartSpec("line", x="batch_size", y="latency_us", color="method", facet="direction"), rows, None)
    assert panels.symbol == "method"

"""Whether a chart that somebody asks for can be drawn, and what it leaves out."""

from dataclasses import replace

import pytest
from result_tables import by_batch, by_compression, fastest, trade_off

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.drawable import drawn_part, fits
from mirror.chart.left_out import left_out
from mirror.schema.result_columns import result_table
from mirror.table.table import plain_table

SCATTER = ChartSpec("scatter", x="memory_mb", y="auc", color="method")


@pytest.mark.parametrize(
    ("table", "chart"),
    [
        (trade_off("a"), SCATTER),
        (trade_off("a"), replace(SCATTER, log_x=True, log_y=True)),
        (trade_off("a"), ChartSpec("table")),
        (trade_off("a"), ChartSpec("box", x="method", y="auc", log_x=True, log_y=True)),
        (trade_off("a"), ChartSpec("histogram", x="auc")),
        (by_compression("a"), ChartSpec("line", x="compression", y="auc")),
        (by_batch(), ChartSpec("heatmap", x="batch_size", y="method", color="latency_us")),
        (by_batch(), ChartSpec("bar", x="batch_size", y="latency_us", color="method")),
        (fastest(), ChartSpec("bar", y="latency_us")),
    ],
)
def test_fits(table, chart):
    assert fits(chart, table) == ""


@pytest.mark.parametrize(
    ("table", "chart", "sentence"),
    [
        (trade_off(), SCATTER, "There are no rows to draw."),
        (trade_off("a"), ChartSpec("tiles"), "Number tiles show one row; there are 6."),
        (trade_off("a"), replace(SCATTER, color="nope\n"), "The result has no column nope."),
        (trade_off("a"), replace(SCATTER, x=None), "A scatter needs two numeric columns, on x and on y."),
        (trade_off("a"), replace(SCATTER, x="auc"), "A scatter needs two numeric columns, on x and on y."),
        (trade_off("a"), replace(SCATTER, x="method"), "A scatter needs two numeric columns, on x and on y."),
        (
            trade_off("a"),
            ChartSpec("line", x="method", y="auc"),
            "A line needs a numeric or time column on x and a numeric one on y.",
        ),
        (
            result_table(("step", "auc"), ((1, 0.5), (1, 0.6))),
            ChartSpec("line", x="step", y="auc"),
            "A line needs two points; all rows have the same step.",
        ),
        (
            result_table(("memory_mb", "auc"), ((1.0, None), (None, 0.6))),
            ChartSpec("scatter", x="memory_mb", y="auc"),
            "No row has memory and AUC to draw.",
        ),
        (
            trade_off("a"),
            ChartSpec("heatmap", x="dataset", y="method", color="auc"),
            "A heatmap shows one number per cell, but several rows share a data set and method.",
        ),
        (
            trade_off("a"),
            ChartSpec("bar", x="method", y="auc"),
            "Several rows share one bar: choose no column on x, or one that differs where method does not.",
        ),
        (
            fastest(),
            ChartSpec("bar", y="latency_us", log_y=True),
            "Bars start at zero, so they have no logarithmic axis.",
        ),
        (
            result_table(("day", "auc"), (("2026-01-01", 0.5), ("2026-01-02", 0.6))),
            ChartSpec("line", x="day", y="auc", log_x=True),
            "A logarithmic axis needs numbers; day holds none.",
        ),
    ],
)
def test_does_not_fit(table, chart, sentence):
    assert fits(chart, table) == sentence


def test_rows_without_a_place_are_left_out_and_counted():
    rows = (("a", 1.0, 0.5), ("b", 0.0, 0.6), ("c", None, 0.7), ("d", 2.0, float("nan")), ("e", float("inf"), 0.7))
    table = result_table(("method", "memory_mb", "auc"), rows)
    assert [r[0] for r in drawn_part(SCATTER, table).rows] == ["a", "b"]
    assert left_out(SCATTER, table) == "3 rows have no memory or no AUC to draw."
    assert [r[0] for r in drawn_part(replace(SCATTER, log_x=True), table).rows] == ["a"]


def test_panels_bars_and_colours_beyond_the_most_are_said():
    rows = tuple((f"m{i}", f"d{i}", float(i)) for i in range(50))
    table = result_table(("method", "dataset", "auc"), rows)
    chart = ChartSpec("bar", x="dataset", y="auc", color="method")
    assert left_out(chart, table) == (
        "The first 40 of 50 bars are drawn. Only 8 values of method have a colour, the rest is grey."
    )
    assert left_out(ChartSpec("box", y="auc", facet="dataset"), table) == (
        "6 of 50 panels by data set are drawn; add “on d6” for another."
    )
    assert left_out(ChartSpec("table"), table) == ""
    rows = tuple((f"m{i}", f"d{i % 2}", float(i)) for i in range(100))
    table = result_table(("method", "dataset", "auc"), rows)
    in_panels = left_out(ChartSpec("bar", x="method", y="auc", facet="dataset"), table)
    assert in_panels == "The first 40 of 100 bars are drawn."


def test_rows_that_a_logarithmic_axis_cannot_show_are_not_told_as_missing() -> None:
    table = plain_table(("x", "gain"), ((1.5, -2.0), (2.5, 0.0), (3.5, 5.0), (4.5, None)))
    told = left_out(ChartSpec("scatter", x="x", y="gain", log_y=True), table)
    assert told == "1 row has no x or no gain to draw. 2 rows are not above zero, which a logarithmic axis cannot show."

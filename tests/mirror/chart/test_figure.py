"""The figures: traces, axes, legends and escaped text. Their look is for eyes; this is their structure."""

import itertools
import json
from dataclasses import replace

import pytest
from result_tables import (
    BEST,
    BY_BATCH,
    BY_COMPRESSION,
    FASTEST,
    TRADE_OFF,
    best,
    by_batch,
    by_compression,
    fastest,
    trade_off,
)

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.choose import choose
from mirror.chart.draw import bins
from mirror.chart.draw.figure import draw
from mirror.chart.drawable import drawn_part
from mirror.schema.result_columns import result_table
from mirror.table.table import plain_table


def drawn(table, spec=None, columns=None):
    return draw(table, choose(table, spec), columns)


def named(figure, name):
    return [t for t in figure.data if t.name == name]


def in_legend(figure):
    return [t.name for t in sorted(figure.data, key=lambda t: t.legendrank or 0) if t.showlegend]


def test_a_scatter_has_a_trace_per_method_and_one_front():
    figure = drawn(trade_off("frappe"), TRADE_OFF)
    assert in_legend(figure) == ["dense", "hashed", "small_dim", "Pareto front"]
    assert len(figure.data) == 4
    assert figure.layout.xaxis.title.text == "Memory (MB)"
    assert figure.layout.yaxis.title.text == "AUC"
    (dense,) = named(figure, "dense")
    assert (list(dense.x), list(dense.y)) == ([10.0, 10.0], [0.791, 0.789])
    symbols = [t.marker.symbol for t in figure.data if t.mode == "markers"]
    assert len(set(symbols)) == 3


def test_the_front_steps_through_the_means_that_nothing_beats():
    (front,) = named(drawn(trade_off("frappe"), TRADE_OFF), "Pareto front")
    assert list(front.x) == [1.0, 10.0]
    assert list(front.y) == pytest.approx([0.78, 0.79])
    assert front.line.shape == "hv"


def test_the_front_turns_with_the_direction_of_x():
    table = result_table(("method", "speedup", "auc"), (("a", 1.0, 0.9), ("b", 2.0, 0.8), ("c", 1.5, 0.7)))
    (front,) = named(drawn(table), "Pareto front")
    assert (list(front.x), front.line.shape) == ([1.0, 2.0], "vh")


def test_no_front_where_no_direction_is_better():
    chart = replace(choose(trade_off("frappe"), TRADE_OFF), x="compression")
    assert named(draw(trade_off("frappe"), chart), "Pareto front") == []


def test_data_sets_get_panels_but_one_legend_entry_each():
    figure = drawn(trade_off("a", "b", "c"), TRADE_OFF)
    assert [a.text for a in figure.layout.annotations] == ["a", "b", "c"]
    assert len(named(figure, "hashed")) == 3
    assert in_legend(figure) == ["dense", "hashed", "small_dim", "Pareto front"]
    assert {t.xaxis for t in figure.data} == {"x", "x2", "x3"}


def test_a_phone_gets_one_column():
    wide, narrow = drawn(trade_off("a", "b", "c"), TRADE_OFF), drawn(trade_off("a", "b", "c"), TRADE_OFF, columns=1)
    assert wide.layout.xaxis.domain[1] < 0.5
    assert narrow.layout.xaxis3.domain == (0.0, 1.0)
    assert narrow.layout.height > 2 * wide.layout.height
    assert narrow.layout.xaxis.title.text is None
    assert narrow.layout.xaxis3.title.text == "Memory (MB)"


def test_at_most_six_panels():
    figure = drawn(trade_off(*"abcdefgh"), TRADE_OFF)
    assert [a.text for a in figure.layout.annotations] == list("abcdef")


def test_a_line_per_data_set_with_error_bars_and_labels_at_the_values():
    figure = drawn(by_compression("a", "b"), BY_COMPRESSION)
    assert in_legend(figure) == ["a", "b"]
    (line,) = named(figure, "a")
    assert list(line.x) == [0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    assert list(line.error_y.array) == [0.001] * 6
    assert figure.layout.xaxis.type == "log"
    assert list(figure.layout.xaxis.ticktext) == ["0.02", "0.05", "0.1", "0.2", "0.5", "1"]


def test_powers_of_two_are_labelled_as_they_are():
    axis = drawn(by_batch(), BY_BATCH).layout.xaxis
    assert (axis.type, list(axis.ticktext)) == ("log", ["64", "128", "256"])


def test_repeated_rows_are_points_and_the_line_is_their_mean():
    rows = tuple((b, s, b * 1.0 + s) for b in (1, 2, 4) for s in (0, 1))
    points, line = drawn(result_table(("batch_size", "seed", "latency_us"), rows)).data
    assert (points.mode, len(points.x)) == ("markers", 6)
    assert (line.mode, list(line.y)) == ("lines", [1.5, 2.5, 4.5])
    assert line.hovertext[0] == "mean of 2: <b>1.50 µs</b>"


def test_a_baseline_at_one_compression_gets_a_guide():
    table = by_compression("a")
    rows = (*(("hashed", *r) for r in table.rows), ("dense", 1.0, "a", 0.8, 0.001, 3))
    figure = drawn(result_table(("method", *table.names), rows))
    point, guide = named(figure, "dense")
    assert list(point.x) == [1.0]
    assert (list(guide.x), list(guide.y), guide.line.dash) == ([0.02, 1.0], [0.8, 0.8], "dot")


def test_lines_that_differ_in_more_are_not_joined():
    rows = tuple((m, d, z, b, 1.0 * b, 3) for m in ("a", "b") for d in (8, 16) for z in (0, 1) for b in (1, 2, 4, 8))
    columns = ("method", "embedding_dim", "zipf_s", "batch_size", "latency_us", "n")
    figure = drawn(result_table(columns, rows))
    assert len(figure.data) == 8
    assert all(len(t.x) == 4 for t in figure.data)


def test_bars_lie_in_the_order_of_the_ranking_and_start_at_zero():
    figure = drawn(fastest(), FASTEST)
    assert figure.layout.xaxis.rangemode == "tozero"
    assert list(figure.layout.yaxis.range) == [2.5, -0.5]
    assert list(figure.layout.yaxis.ticktext) == ["dense · dim 16", "hashed · dim 16", "dense · dim 64"]
    assert figure.layout.xaxis.title.text == "Latency (µs)"
    (dense,) = named(figure, "dense")
    assert (list(dense.x), list(dense.y), dense.orientation) == ([10.0, 40.0], [0, 2], "h")
    assert list(dense.text) == ["10 µs", "40 µs"]
    assert list(dense.error_x.array) == [0.4, 0.0]


def test_bars_without_a_ranking_show_the_better_first():
    table = result_table(("method", "latency_us", "n"), (("a", 2.0, 3), ("b", 3.0, 3), ("c", 1.0, 3)))
    assert list(drawn(table).layout.yaxis.ticktext) == ["c", "a", "b"]


def test_bars_of_two_dimensions_stand_in_groups_and_winners_do_not():
    rows = tuple((m, d, 1.0, 3) for m in ("dense", "hashed") for d in ("a", "b"))
    assert drawn(result_table(("method", "dataset", "memory_mb", "n"), rows)).layout.barmode == "group"
    winners = draw(best(), replace(choose(best(), BEST), dots=False))
    assert (winners.layout.barmode, winners.data[0].width) == ("overlay", 0.75)


def test_bars_of_a_parameter_stand_upright_in_its_order():
    figure = draw(by_compression("a"), ChartSpec("bar", x="compression", y="auc"))
    assert list(figure.layout.xaxis.ticktext) == ["0.02", "0.05", "0.1", "0.2", "0.5", "1"]
    assert figure.data[0].orientation == "v"
    assert figure.layout.yaxis.rangemode == "tozero"


def test_a_box_shows_every_row():
    rows = tuple((m, 10.0 + i) for m in ("dense", "hashed") for i in range(6))
    figure = drawn(result_table(("method", "latency_us"), rows))
    assert [t.type for t in figure.data] == ["box", "box"]
    assert {t.boxpoints for t in figure.data} == {"all"}
    assert len(figure.data[0].x) == 6
    assert not figure.layout.showlegend


def test_a_heatmap_leaves_cells_without_a_row_empty():
    table = result_table(("batch_size", "method", "latency_us"), ((1, "a", 5.0), (2, "a", 6.0), (2, "b", 7.0)))
    heat, _ = draw(table, ChartSpec("heatmap", x="batch_size", y="method", color="latency_us")).data
    assert [list(line) for line in heat.z] == [[5.0, 6.0], [None, 7.0]]
    assert heat.colorbar.title.text == "Latency (µs)"


def test_more_than_eight_methods_share_one_grey():
    rows = tuple((f"m{i:02d}", float(i + 1), 0.5) for i in range(12))
    figure = drawn(result_table(("method", "memory_mb", "auc"), rows))
    colors = [t.marker.color for t in figure.data if t.mode == "markers"]
    assert len(set(colors)) == 9
    assert colors.count("#8A8A8A") == 4


HOSTILE = "<b>x</b><script>alert(1)</script> $a$ %{y}\n‮"


@pytest.mark.parametrize("kind", ["scatter", "line", "bar", "box", "histogram", "heatmap"])
def test_text_from_data_shows_literally(kind):
    columns = ("method", "dataset", HOSTILE, "batch_size", "auc", "memory_mb")
    rows = tuple((f"{m}{HOSTILE}", f"{d}{HOSTILE}", "<i>", b, 0.1 * b, 1.0) for m in "ab" for d in "cd" for b in (1, 2))
    x = {"bar": None, "histogram": "auc", "scatter": "memory_mb", "line": "batch_size"}.get(kind, "method")
    chart = ChartSpec(kind, x=x, y="auc", color="method", symbol="dataset", facet="dataset")
    table = result_table(columns, rows)
    if kind == "heatmap":
        table = replace(table, rows=(rows[0], rows[7]))
        chart = ChartSpec("heatmap", x="method", y="dataset", color="auc")
    layout_and_data = json.loads(draw(table, chart).to_json())
    del layout_and_data["layout"]["template"]
    text = json.dumps(layout_and_data)
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    for raw in ("<script", "<b>x", "<i>", "$", "\\n", "\\u202e"):
        assert raw not in text
    assert "hovertemplate" not in text


def test_hover_tells_the_whole_row():
    (dense,) = named(drawn(trade_off("frappe"), TRADE_OFF), "dense")
    assert dense.hovertext[0].split("<br>") == [
        "method: <b>dense</b>",
        "data set: <b>frappe</b>",
        "seed: <b>0</b>",
        "compression: <b>1</b>",
        "memory: <b>10 MB</b>",
        "AUC: <b>0.7910</b>",
    ]


def test_a_table_and_tiles_have_no_figure():
    assert draw(trade_off("a"), ChartSpec("table")) is None
    assert draw(result_table(("auc",), ((0.7,),)), ChartSpec("tiles")) is None


def test_a_chart_that_does_not_fit_is_refused_in_the_words_of_fits():
    with pytest.raises(ValueError, match="A scatter needs two numeric columns"):
        draw(trade_off("a"), ChartSpec("scatter", x="method", y="auc"))


def test_rows_that_are_not_drawn_do_not_reach_the_figure():
    rows = (("a", 1.0, 0.5), ("b", None, 0.6), ("c", 2.0, float("nan")))
    figure = draw(result_table(("method", "memory_mb", "auc"), rows), ChartSpec("scatter", x="memory_mb", y="auc"))
    assert [list(t.x) for t in figure.data] == [[1.0]]


def test_speedup_has_a_line_at_the_baseline():
    rows = tuple((m, b, 1.5, 3) for m in ("a", "b") for b in (1, 2, 4))
    figure = drawn(result_table(("method", "batch_size", "speedup", "n"), rows))
    assert [s.y0 for s in figure.layout.shapes] == [1.0]


def test_long_names_that_begin_alike_stay_apart():
    rows = (("x" * 80 + "a", 1.0, 0.5), ("x" * 80 + "b", 2.0, 0.6))
    figure = drawn(result_table(("method", "memory_mb", "auc"), rows))
    assert len(in_legend(figure)) == 3


def test_boxes_of_a_colour_have_the_same_place_in_every_panel():
    rows = tuple((m, c, d, 0.5) for m in ("a", "b") for c in (0.1, 0.5, 1.0) for d in ("p", "q") for _ in range(2))
    table = result_table(("method", "compression", "dataset", "auc"), rows)
    figure = draw(table, ChartSpec("box", x="compression", y="auc", color="method", facet="dataset"))
    assert [t.offsetgroup for t in figure.data] == ["0", "1", "0", "1"]


def test_bars_that_stand_alone_are_not_moved_aside_and_a_factor_has_its_line():
    """Colours that take turns: a bar with an offset of its group would leave its label."""
    rows = tuple((m, b, r) for b, r in ((64, 2.0), (512, 1.5), (2048, 0.9)) for m in ("dense", "hashed"))
    table = result_table(("method", "batch_size", "ratio_latency_us"), rows)
    figure = draw(table, ChartSpec("bar", y="ratio_latency_us", color="method"))
    assert [t.offsetgroup for t in figure.data] == [None, None]
    (line,) = figure.layout.shapes
    assert (line.x0, line.x1) == (1.0, 1.0)
    grouped = draw(table, ChartSpec("bar", x="batch_size", y="ratio_latency_us", color="method"))
    assert len({t.offsetgroup for t in grouped.data}) == 2
    (line,) = grouped.layout.shapes
    assert (line.y0, line.y1) == (1.0, 1.0)


def test_a_speedup_has_whiskers_of_its_interval():
    columns = ("method", "speedup", "stddev_speedup", "speedup_ci_low", "speedup_ci_high")
    table = result_table(columns, (("hashed", 2.0, None, 1.5, 2.25), ("dense", 1.0, None, None, None)))
    traces = {t.name: t for t in draw(table, ChartSpec("bar", x="method", y="speedup", color="method")).data}
    assert (list(traces["hashed"].error_x.arrayminus), list(traces["hashed"].error_x.array)) == ([0.5], [0.25])
    assert list(traces["dense"].error_x.array) == [0.0]


def test_several_metrics_have_panels_with_their_own_scales_and_one_order():
    rows = (("a", 0.9, 5.0, 300.0), ("b", 0.8, 1.0, 100.0), ("c", 0.5, 3.0, None))
    table = result_table(("method", "auc", "memory_mb", "latency_us"), rows)
    figure = drawn(table)
    layout = figure.layout
    titles = [a.title.text for a in (layout.xaxis, layout.xaxis2, layout.xaxis3)]
    assert titles == ["AUC", "Memory (MB)", "Latency (µs)"]
    assert [a.ticktext for a in (layout.yaxis, layout.yaxis2)] == [("a", "b", "c")] * 2
    assert [a.showticklabels for a in (layout.yaxis, layout.yaxis2, layout.yaxis3)] == [None, False, False]
    latency = [v for t in figure.data if t.xaxis == "x3" for v in t.x]
    assert latency == [300.0, 100.0]
    phone = drawn(table, columns=1)
    assert [a.showticklabels for a in (phone.layout.yaxis, phone.layout.yaxis2)] == [None, None]


def test_lines_of_several_metrics_share_their_x_axis_and_keep_their_scales():
    rows = tuple((c, 0.5 + c, 10.0**k) for k, c in enumerate((0.1, 0.2, 0.5, 1.0)))
    figure = drawn(result_table(("compression", "auc", "latency_us", "n"), tuple((*r, 3) for r in rows)))
    layout = figure.layout
    assert (layout.yaxis.title.text, layout.yaxis2.title.text) == ("AUC", "Latency (µs)")
    assert (layout.yaxis.type, layout.yaxis2.type) == ("linear", "log")


def test_a_long_line_has_a_band_that_is_not_in_the_legend():
    rows = tuple((s, m, 1.0 + s, 0.5, 3) for s in range(1, 14) for m in ("a", "b"))
    figure = drawn(result_table(("step", "method", "latency_us", "stddev_latency_us", "n"), rows))
    bands = [t for t in figure.data if t.fill == "toself"]
    assert len(bands) == 2
    assert not any(t.showlegend for t in bands)
    assert (bands[0].y[0], bands[0].y[-1]) == (2.5, 1.5)
    assert all(t.error_y.array is None for t in figure.data)
    assert {t.mode for t in figure.data if t.showlegend} == {"lines+markers"}
    assert all(t.marker.opacity == 0 for t in figure.data if t.showlegend)  # to be clicked, not seen


def test_a_short_line_has_whiskers_and_no_band():
    rows = tuple((s, 1.0 + s, 0.5, 3) for s in range(1, 13))
    (line,) = drawn(result_table(("step", "latency_us", "stddev_latency_us", "n"), rows)).data
    assert (line.mode, len(line.error_y.array)) == ("lines+markers", 12)


def test_repeats_along_a_long_line_are_a_band_from_the_lowest_to_the_highest():
    rows = tuple((s, seed, 1.0 + s + seed) for s in range(1, 14) for seed in (0, 2))
    band, line = drawn(result_table(("step", "seed", "latency_us"), rows)).data
    assert (band.y[0], band.y[-1]) == (4.0, 2.0)
    assert line.y[0] == 3.0


def test_no_band_goes_below_zero_on_a_logarithmic_axis():
    rows = tuple((s, 10.0 ** (s / 4), 50.0, 3) for s in range(1, 14))
    figure = drawn(result_table(("step", "latency_us", "stddev_latency_us", "n"), rows))
    assert figure.layout.yaxis.type == "log"
    assert [t.fill for t in figure.data] == [None]


def test_ideal_courses_start_where_the_lines_do():
    rows = tuple((t, 1000.0 / t**0.5, 3) for t in (2, 4, 8))
    figure = drawn(result_table(("threads", "latency_us", "n"), rows))
    (ideal,) = named(figure, "ideal")
    first = 1000.0 / 2**0.5
    assert list(ideal.y) == pytest.approx([first, first / 2, first / 4])
    speedups = result_table(("threads", "speedup", "n"), ((1, 1.0, 3), (2, 1.9, 3), (4, 3.1, 3)))
    assert list(named(drawn(speedups), "ideal")[0].y) == [1.0, 2.0, 4.0]


def test_each_kind_of_work_has_a_front():
    rows = tuple(
        (m, d, d * k, 0.5 + 0.1 * k + d / 1000) for d in (8, 16) for k, m in enumerate(("dense", "hashed", "other"), 1)
    )
    table = result_table(("method", "embedding_dim", "memory_mb", "auc"), rows)
    fronts = named(drawn(table), "Pareto front")
    assert [list(f.x) for f in fronts] == [[8, 16, 24], [16, 32, 48]]
    assert [f.hovertext for f in fronts] == ["Pareto front · dim 8", "Pareto front · dim 16"]
    assert sum(bool(f.showlegend) for f in fronts) == 1


def test_a_histogram_counts_every_row_once():
    for values in ([float(i % 9) for i in range(100)], [1.5] * 10, [0.001, 1.0, 5.0, 1e4], [-5.0, 0.0, 5.0, 7.25]):
        figure = draw(
            result_table(("latency_us",), tuple((v,) for v in values)), ChartSpec("histogram", x="latency_us")
        )
        (bars,) = figure.data
        assert sum(bars.y) == len(values)
        assert bars.x[0] <= min(values)
        assert bars.x[-1] + bars.width[-1] >= max(values)
        assert figure.layout.yaxis.title.text == "Rows"
    assert bars.hovertext[0].endswith(": <b>1</b>")


def test_parallel_axes_have_the_better_end_up():
    rows = (("a", 0.9, 1.0, 10.0), ("b", 0.5, 1000.0, 20.0))
    table = result_table(("method", "auc", "memory_mb", "sample_count"), rows)
    chart = ChartSpec("parallel", color="method", metrics=("auc", "memory_mb", "sample_count"))
    figure = draw(table, chart)
    axes, a, b = figure.data
    assert list(axes.text) == ["0.5000", "0.9000", "", "1 GB", "1 MB", "", "10 samples", "20 samples", ""]
    assert (list(a.y), list(b.y)) == ([1.0, 1.0, 0.0, None], [0.0, 0.0, 1.0, None])
    assert list(figure.layout.xaxis.ticktext) == ["AUC", "Memory<br>(MB)<br>logarithmic", "Samples"]
    assert in_legend(figure) == ["a", "b"]


def test_dots_do_not_start_at_zero_and_bars_beside_them_do():
    figure = drawn(result_table(("method", "auc", "memory_mb", "n"), (("a", 0.9, 5.0, 3), ("b", 0.8, 1.0, 3))))
    assert figure.layout.xaxis.rangemode is None
    assert figure.layout.xaxis2.rangemode == "tozero"
    assert {t.type for t in figure.data if t.xaxis == "x"} == {"scatter"}
    assert {t.type for t in figure.data if t.xaxis == "x2"} == {"bar"}


def test_a_long_legend_makes_a_figure_taller_on_a_phone():
    rows = tuple((f"a rather long name {i}", float(i + 1), 0.5) for i in range(8))
    table = result_table(("method", "memory_mb", "auc"), rows)
    assert drawn(table, columns=1).layout.height > drawn(table).layout.height + 100


def test_seven_panels_are_the_six_with_the_most_rows():
    rows = tuple((f"d{d}", float(i), 0.5) for d in range(7) for i in range(1 if d == 2 else 3))
    figure = draw(
        result_table(("dataset", "memory_mb", "auc"), rows),
        ChartSpec("scatter", x="memory_mb", y="auc", facet="dataset"),
    )
    assert [a.text for a in figure.layout.annotations] == ["d0", "d1", "d3", "d4", "d5", "d6"]


def test_what_is_drawn_for_one_value_keeps_the_baseline():
    rows = tuple((m, c, float(b)) for b in (1, 2, 4) for m, c in (("dense", 1.0), ("hashed", 0.1), ("hashed", 0.5)))
    table = result_table(("method", "compression", "batch_size"), rows)
    chart = ChartSpec("line", x="batch_size", y="compression", color="method", only=(("compression", 0.1),))
    assert set(drawn_part(chart, table).values("compression")) == {1.0, 0.1}


def test_equal_points_of_several_series_all_show() -> None:
    rows = [(m, float(x), 0.5) for m, x in (("a", 1), ("b", 1), ("c", 1), ("a", 2))]
    table = result_table(("method", "memory_mb", "auc"), tuple(rows))
    figure = draw(table, ChartSpec("scatter", "memory_mb", "auc", "method"))
    sizes = {t.name: t.marker.size for t in figure.data if t.x[0] is not None}
    assert sizes["a"][0] > sizes["b"][0] > sizes["c"]  # the last lies on the others
    assert sizes["a"][1] == sizes["c"]


def test_the_front_goes_through_points_that_are_drawn() -> None:
    (front,) = named(drawn(trade_off("frappe"), TRADE_OFF), "Pareto front")
    assert front.mode == "lines+markers"


def test_a_title_has_room_of_its_own_and_is_escaped() -> None:
    table = trade_off("frappe")
    chart = choose(table, TRADE_OFF)
    plain, titled = draw(table, chart), draw(table, chart, title="<b>memory</b> $x$ " + "long " * 40)
    assert titled.layout.height > plain.layout.height
    assert titled.layout.margin.t > plain.layout.margin.t
    assert titled.layout.legend.y < plain.layout.legend.y
    assert titled.layout.title.text.startswith("&lt;b&gt;memory&lt;/b&gt; &#36;x&#36; long")
    assert len(titled.layout.title.text) < 150


def test_on_a_dark_page_nothing_is_black() -> None:
    figure = draw(trade_off("frappe"), choose(trade_off("frappe"), TRADE_OFF), dark=True)
    (dense,) = [t for t in figure.data if t.name == "dense"]
    assert dense.marker.color == "#F2F2F2"
    assert figure.layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert "#000000" not in json.dumps([t.to_plotly_json() for t in figure.data], default=list)


def test_bars_of_other_data_start_at_zero_however_alike_they_are() -> None:
    table = plain_table(("shop", "revenue"), [("a", 1000.0), ("b", 1010.0), ("c", 1020.0)])
    chart = choose(table, None)
    assert (chart.type, chart.dots) == ("bar", False)
    assert draw(table, chart).layout.xaxis.rangemode == "tozero"


def test_panels_side_by_side_are_drawn_however_long_the_labels_between_them_are() -> None:
    days = plain_table(("day", "sensor", "v"), [(i, s, 10.0**30 * (i + 1)) for i in range(4) for s in "abc"])
    assert len(draw(days, ChartSpec("line", x="day", y="v", facet="sensor")).data) >= 3
    names = [f"R&D, Sales & Marketing <{place}>" for place in ("EU", "US", "UK")]
    cells = [(name, month, region, 1.0) for name, region in zip(names, "xyz", strict=True) for month in "pq"]
    table = plain_table(("dept", "month", "region", "v"), cells)
    assert draw(table, ChartSpec("heatmap", x="month", y="dept", color="v", facet="region")).data


def test_intervals_of_large_numbers_have_a_width() -> None:
    for count, least in ((1001, 10), (21, 3)):
        values = [1.7e15 + k for k in range(count)]
        ends = bins.edges(values)
        assert all(a < b for a, b in itertools.pairwise(ends))
        assert len([m for m in bins.members(values, ends) if m]) > least
    assert bins.edges([0.1 * k for k in range(11)])[3] == 0.6

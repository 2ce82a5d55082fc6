"""Axes and labels that the panels share."""

from result_tables import by_compression, fastest

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.draw.panel import Style, hover, named, safe, title, value_axis
from mirror.schema.catalog import entry
from mirror.schema.result_columns import result_table
from mirror.table.table import Table


def numbers(*values: float) -> Table:
    return result_table(("latency_us",), tuple((v,) for v in values))


def test_titles_carry_units_once():
    assert title(entry("memory_mb")) == "Memory (MB)"
    assert title(entry("auc")) == "AUC"
    assert title(entry("threads")) == "Threads"


def test_log_axes_have_labels_at_one_two_five_and_then_at_powers_of_ten():
    assert list(value_axis(numbers(3, 40), "latency_us", log=True)["ticktext"]) == [
        "1",
        "2",
        "5",
        "10",
        "20",
        "50",
        "100",
        "200",
        "500",
    ]
    assert list(value_axis(numbers(3, 4e4), "latency_us", log=True)["ticktext"]) == [
        "1",
        "10",
        "100",
        "1,000",
        "10,000",
        "100,000",
    ]
    assert len(value_axis(numbers(1e-30, 1e30), "latency_us", log=True)["ticktext"]) <= 9


def test_a_log_axis_ignores_what_it_cannot_hold():
    assert "tickvals" not in value_axis(numbers(-1, 0), "latency_us", log=True)


def test_labels_at_the_values_are_thinned_out_to_the_room_that_there_is():
    table = result_table(("batch_size",), tuple((b,) for b in (1, 2, 3, 1000, 1024)))

    def ticks(room: int) -> list[float]:
        return value_axis(table, "batch_size", log=True, at_values=True, room=room)["tickvals"]

    assert ticks(700) == [1.0, 2.0, 3.0, 1024.0]
    assert ticks(200) == [1.0, 3.0, 1024.0]
    assert ticks(20) == [1024.0]


def test_many_values_on_a_linear_axis_are_left_to_plotly():
    table = result_table(("step",), tuple((float(i),) for i in range(20)))
    assert "tickvals" not in value_axis(table, "step", at_values=True)


def test_a_time_axis_is_a_date_axis():
    assert value_axis(result_table(("day",), (("2026-01-01",),)), "day")["type"] == "date"


def test_a_row_is_named_by_what_differs():
    style = Style(fastest(), ChartSpec("bar", y="latency_us"))
    assert style.row_label(fastest(), 2) == "dense · dim 64"
    same = result_table(("method", "auc"), (("dense", 0.1), ("dense", 0.2)))
    assert Style(same, ChartSpec("bar", y="auc")).row_label(same, 1) == "row 2"


def test_a_long_row_label_takes_two_lines():
    rows = (("quotient_remainder", "forward_backward", 64, 1.0), ("dense", "forward", 16, 2.0))
    table = result_table(("method", "direction", "embedding_dim", "latency_us"), rows)
    label = Style(table, ChartSpec("bar", y="latency_us")).row_label(table, 0)
    assert label == "quotient_remainder<br>forward_backward · dim 64"


def test_hover_leaves_out_what_does_not_apply_and_caps_wide_rows():
    assert hover(result_table(("method", "auc"), (("<a>", None),)), 0) == "method: <b>&lt;a&gt;</b>"
    wide = result_table(tuple(f"c{i}" for i in range(40)), (tuple(range(40)),))
    assert hover(wide, 0).split("<br>")[-1] == "and 16 more"


def test_text_is_escaped_cut_and_on_one_line():
    assert safe("<a href='x'>&\n$\u202e") == "&lt;a href='x'&gt;&amp; &#36;"
    assert len(safe("a" * 500)) == 60


def test_legend_ranks_follow_the_values():
    table = by_compression("b", "a")
    style = Style(table, ChartSpec("line", x="compression", y="auc", color="dataset"))
    assert style.legend("a")["legendrank"] < style.legend("b")["legendrank"]


def test_a_log_axis_over_little_is_left_to_plotly():
    """Its ticks 0.5 and 1 would both lie outside."""
    assert "tickvals" not in value_axis(result_table(("auc",), ((0.78,), (0.93,))), "auc", log=True)


def test_small_numbers_have_powers_and_no_prefix_beside_their_unit():
    assert value_axis(numbers(1e-5, 2e-5), "latency_us")["exponentformat"] == "power"
    assert value_axis(numbers(1e5, 2e6), "latency_us")["exponentformat"] == "SI"


def test_years_are_written_as_years():
    years = result_table(("year", "revenue"), tuple((y, 1.5) for y in (2023, 2024, 2025)))
    assert list(value_axis(years, "year", at_values=True)["ticktext"]) == ["2023", "2024", "2025"]
    assert not value_axis(years, "year")["separatethousands"]
    assert hover(years, 0).split("<br>")[0] == "year: <b>2023</b>"


def test_times_are_told_without_an_empty_clock():
    table = result_table(("day", "at"), (("2026-11-03T00:00:00", "2026-11-03T12:04:00"),))
    assert hover(table, 0) == "day: <b>2026-11-03</b><br>at: <b>2026-11-03 12:04:00</b>"


def test_long_names_keep_their_end():
    name = "Intel(R) Xeon(R) Processor, 2 cores (fe52)"
    assert named("machine", name, 29) == "Intel(R) Xeon(R) Pr…es (fe52)"
    assert named("machine", name) != named("machine", name.replace("fe52", "fea2"))


def test_a_row_is_not_named_by_what_it_does_not_have():
    table = result_table(
        ("method", "num_chunks", "auc"), (("fiited", 4, 0.5), ("fiited", 8, 0.6), ("dense", None, 0.7))
    )
    style = Style(table, ChartSpec("bar", y="auc"))
    assert [style.row_label(table, i) for i in range(3)] == ["fiited · chunks 4", "fiited · chunks 8", "dense"]


def test_threads_of_a_machine_are_not_told_twice():
    rows = (("a", "m1", 1, 0.5), ("a", "m2", 2, 0.6))
    table = result_table(("method", "machine", "threads", "auc"), rows)
    assert Style(table, ChartSpec("bar", y="auc")).row_label(table, 0) == "m1"
    several = result_table(table.names, (*rows, ("a", "m2", 4, 0.6)))
    assert Style(several, ChartSpec("bar", y="auc")).row_label(several, 1) == "m2 · threads 2"


def test_colours_and_symbols_have_entries_of_their_own_where_pairs_are_many():
    rows = tuple((m, s, 1.0, 0.5) for m in "abc" for s in ("x", "y", "z"))
    table = result_table(("method", "machine", "memory_mb", "auc"), rows)
    chart = ChartSpec("scatter", x="memory_mb", y="auc", color="method", symbol="machine")
    apart = Style(table, chart)
    assert [legend["name"] for legend, _, _ in apart.entries()] == ["a", "b", "c", "x", "y", "z"]
    assert apart.legend("a", "x") == apart.legend("a", "y")
    together = Style(result_table(table.names, rows[:8]), chart)
    assert together.entries() == []
    assert together.legend("a", "x")["name"] == "a · x"


def test_what_has_no_colour_shares_an_entry():
    table = result_table(("method", "auc"), tuple((f"m{i}", 0.5) for i in range(11)))
    style = Style(table, ChartSpec("bar", y="auc", color="method"))
    assert {style.legend(f"m{i}")["name"] for i in range(11) if style.is_other(f"m{i}")} == {"3 more"}


def test_most_lines_are_solid():
    rows = (*(("b", s, 0.5) for s in (1, 2, 3)), ("a", 1, 0.5))
    table = result_table(("machine", "step", "auc"), rows)
    style = Style(table, ChartSpec("line", x="step", y="auc", symbol="machine"))
    assert (style.dash("b"), style.dash("a")) == ("solid", "dash")

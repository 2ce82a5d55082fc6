"""Axes and labels that the panels share."""

from result_tables import by_compression, fastest

from mirror.panel import Style, hover, safe, title, value_axis
from mirror.query_spec import ChartSpec, Table


def numbers(*values: float) -> Table:
    return Table(("latency_us",), tuple((v,) for v in values))


def test_titles_carry_units_once():
    assert title("memory_mb") == "Memory (MB)"
    assert title("auc") == "AUC"
    assert title("threads") == "Threads"


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
    table = Table(("batch_size",), tuple((b,) for b in (1, 2, 3, 1000, 1024)))

    def ticks(room: int) -> list[float]:
        return value_axis(table, "batch_size", log=True, at_values=True, room=room)["tickvals"]

    assert ticks(700) == [1.0, 2.0, 3.0, 1024.0]
    assert ticks(200) == [1.0, 3.0, 1024.0]
    assert ticks(20) == [1024.0]


def test_many_values_on_a_linear_axis_are_left_to_plotly():
    table = Table(("step",), tuple((float(i),) for i in range(20)))
    assert "tickvals" not in value_axis(table, "step", at_values=True)


def test_a_time_axis_is_a_date_axis():
    assert value_axis(Table(("day",), (("2026-01-01",),)), "day")["type"] == "date"


def test_a_row_is_named_by_what_differs():
    style = Style(fastest(), ChartSpec("bar", y="latency_us"))
    assert style.row_label(fastest(), 2) == "dense · dim 64"
    same = Table(("method", "auc"), (("dense", 0.1), ("dense", 0.2)))
    assert Style(same, ChartSpec("bar", y="auc")).row_label(same, 1) == "row 2"


def test_a_long_row_label_takes_two_lines():
    rows = (("quotient_remainder", "forward_backward", 64, 1.0), ("dense", "forward", 16, 2.0))
    table = Table(("method", "direction", "embedding_dim", "latency_us"), rows)
    label = Style(table, ChartSpec("bar", y="latency_us")).row_label(table, 0)
    assert label == "quotient_remainder<br>forward_backward · dim 64"


def test_hover_leaves_out_what_does_not_apply_and_caps_wide_rows():
    assert hover(Table(("method", "auc"), (("<a>", None),)), 0) == "method: <b>&lt;a&gt;</b>"
    wide = Table(tuple(f"c{i}" for i in range(40)), (tuple(range(40)),))
    assert hover(wide, 0).split("<br>")[-1] == "and 16 more"


def test_text_is_escaped_cut_and_on_one_line():
    assert safe("<a href='x'>&\n$\u202e") == "&lt;a href='x'&gt;&amp; &#36;"
    assert len(safe("a" * 500)) == 60


def test_legend_ranks_follow_the_values():
    table = by_compression("b", "a")
    style = Style(table, ChartSpec("line", x="compression", y="auc", color="dataset"))
    assert style.legend("a")["legendrank"] < style.legend("b")["legendrank"]

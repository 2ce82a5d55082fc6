"""What lies close: axes with a single value, labels with too little room, equal points, trials along time."""

import pytest

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.draw.figure import draw
from mirror.schema.result_columns import result_table


def test_one_value_stands_in_the_middle_of_its_axis() -> None:
    """The two AUCs differ by how floats are added up; Plotly would label their last digits."""
    table = result_table(("compression", "auc"), ((0.5, 0.392), (0.5, 0.392 + 1e-15)))
    drawn = draw(table, ChartSpec("scatter", x="compression", y="auc"))
    assert drawn
    assert list(drawn.layout.xaxis.ticktext) == ["0.5"]
    assert list(drawn.layout.xaxis.range) == [0.25, 0.75]
    assert list(drawn.layout.yaxis.ticktext) == ["0.392"]


def test_bars_of_one_value_start_at_zero() -> None:
    table = result_table(("method", "memory_mb"), (("dense", 5.0), ("hashed", 5.0)))
    drawn = draw(table, ChartSpec("bar", x="method", y="memory_mb"))
    assert drawn
    assert drawn.layout.xaxis.range is None
    assert drawn.layout.xaxis.rangemode == "tozero"


@pytest.mark.parametrize(("bars", "labelled"), [(4, True), (25, False)])
def test_labels_of_upright_bars_never_run_into_each_other(bars: int, labelled: bool) -> None:
    table = result_table(("batch_size", "latency_us"), tuple((i + 1, 1234.5 + i) for i in range(bars)))
    drawn = draw(table, ChartSpec("bar", x="batch_size", y="latency_us"))
    assert drawn
    assert (drawn.data[0].text is not None) == labelled
    assert len(drawn.data[0].x) == bars, "none is lost"


def test_labels_below_dots_have_room_at_both_ends() -> None:
    table = result_table(("method", "auc"), (("dense", 0.79), ("hashed", 0.78)))
    drawn = draw(table, ChartSpec("bar", x="method", y="auc", dots=True))
    assert drawn
    low, high = drawn.layout.xaxis.range
    assert low < 0.78
    assert high > 0.79


def test_labels_of_an_axis_have_room_beside_the_panel_before() -> None:
    rows = tuple((b, "training", size, us) for b in ("a", "b", "c") for size, us in ((1, 20.0), (64, 300_000.0)))
    table = result_table(("dataset", "benchmark", "batch_size", "latency_us"), rows)
    drawn = draw(table, ChartSpec("line", x="batch_size", y="latency_us", facet="dataset", log_y=True))
    assert drawn
    gap = drawn.layout.xaxis2.domain[0] - drawn.layout.xaxis.domain[1]
    assert gap * 640 > len("100,000") * 8, "640 pixels is the narrowest place on a desk screen"


def test_along_time_lines_join_what_was_measured_again_and_nothing_else() -> None:
    once = tuple((f"2026-11-2{i}T10:00:00", "dense", i, 100.0 + i) for i in range(3))
    again = ("2026-11-25T10:00:00", "dense", 0, 90.0)
    names = ("started_at", "method", "seed", "latency_us")
    for rows, longest in ((once, 1), ((*once, again), 2)):
        drawn = draw(result_table(names, rows), ChartSpec("line", x="started_at", y="latency_us", color="method"))
        assert drawn
        assert max(len(trace.x) for trace in drawn.data) == longest


def test_equal_points_of_a_series_are_counted() -> None:
    rows = (("dense", 1.0, 0.8), ("dense", 1.0, 0.8), ("dense", 2.0, 0.8), ("hashed", 1.0, 0.7))
    table = result_table(("method", "memory_mb", "auc"), rows)
    drawn = draw(table, ChartSpec("scatter", x="memory_mb", y="auc", color="method"))
    assert drawn
    dense, hashed = drawn.data[0], drawn.data[1]
    assert list(dense.text) == ["", "×2", ""]
    assert dense.hovertext[0].startswith("one of 2 at this place")
    assert hashed.text is None

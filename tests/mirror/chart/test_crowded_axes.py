"""Axes with a single value, and labels of bars that have too little room."""

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

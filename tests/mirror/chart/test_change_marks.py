"""Marks of changes on a chart over commits, and the commits along x."""

import pytest

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.draw.change_marks import Mark, add_changes
from mirror.chart.draw.figure import draw
from mirror.table.table import plain_table

TABLE = plain_table(("place", "time", "name"), [(n, 5.0 if n < 4 else 6.0, "a") for n in range(1, 21)])
CHART = ChartSpec("line", x="place", y="time", color="name")
LABELS = [f"c{n}<br>2026-11-{n:02}" for n in range(1, 21)]
MARK = Mark(1, 3, 4, 5.5, True, "slower, <likely>", "a is slower.")


@pytest.mark.parametrize("dark", [False, True])
def test_a_change_lies_between_its_commits_and_says_how_likely_it_is(dark: bool) -> None:
    figure = draw(TABLE, CHART, dark=dark, finish=lambda f: add_changes(f, [MARK], LABELS))
    assert figure is not None
    marked = figure.data[-1]
    assert (marked.x, marked.y, marked.marker.symbol) == ((3.5,), (5.5,), ("triangle-up",))
    assert marked.text == ("1: slower, &lt;likely&gt;",)
    assert marked.customdata is None  # no trials are behind it
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].x1) == (3, 4)
    assert (marked.marker.color == "#666666") is not dark


def test_commits_are_named_as_far_as_there_is_room() -> None:
    for narrow, most in ((False, 8), (True, 3)):
        figure = draw(TABLE, CHART, columns=1 if narrow else None, finish=lambda f: add_changes(f, [], LABELS, narrow))  # noqa: B023
        assert figure is not None
        assert 2 <= len(figure.layout.xaxis.ticktext) <= most
        assert figure.layout.xaxis.ticktext[-1] == LABELS[-1]
        assert figure.layout.shapes == ()


def test_marks_without_room_have_numbers_alone() -> None:
    many = [Mark(n, n, n + 1, 5.0, False, "faster, likely", "") for n in range(1, 8)]
    for marks, narrow in ((many, False), ([MARK], True)):
        figure = draw(TABLE, CHART, finish=lambda f: add_changes(f, marks, LABELS, narrow))  # noqa: B023
        assert figure is not None
        assert figure.data[-1].text == tuple(str(m.number) for m in marks)

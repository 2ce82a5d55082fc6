"""What a chart over commits has beside its lines: the commits along x, and the changes with a word each."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from mirror.chart.draw.panel import GREY, safe
from mirror.chart.draw.traces import HOVER

_SIZE = 13
_BETWEEN = "rgba(128,128,128,0.16)"  # shows on a light page and on a dark one
_LABELS, _LABELS_ON_A_PHONE = 8, 3
_ROOM_OF_THE_LAST = 44  # pixels: Plotly hides a label that goes beyond the figure
_MOST_WORDS = 4  # changes that have room for words beside their numbers


@dataclass(frozen=True)
class Mark:
    """A change.

    Attributes:
        number: of its sentence.
        before, after: places on x between which it lies.
        value: where it is marked on y.
        up: whether the values are larger after it.
        words: short: what it is, how likely.
        text: the whole sentence.
    """

    number: int
    before: int
    after: int
    value: float
    up: bool
    words: str
    text: str


def add_changes(figure: go.Figure, marks: Sequence[Mark], labels: Sequence[str], narrow: bool = False) -> None:
    """Put commits along x and marks on a figure of lines whose x are 1, 2, 3 ...

    Args:
        figure: of one panel.
        marks: the changes.
        labels: of the places on x, from 1; a line break is `<br>`.
        narrow: it has no more room than on a phone.
    """
    places = _spread_out(len(labels), _LABELS_ON_A_PHONE if narrow else _LABELS)
    figure.update_xaxes(
        tickmode="array", tickvals=places, ticktext=[labels[p - 1] for p in places], tickangle=0,
        range=[0.7, len(labels) + 0.3],
    )  # fmt: skip
    figure.update_layout(margin_r=_ROOM_OF_THE_LAST)
    if not marks:
        return
    for mark in marks:
        figure.add_vrect(x0=mark.before, x1=mark.after, fillcolor=_BETWEEN, line_width=0, layer="below")
    wordy = len(marks) <= _MOST_WORDS and not narrow
    figure.add_trace(
        go.Scatter(
            x=[(m.before + m.after) / 2 for m in marks],
            y=[m.value for m in marks],
            mode="markers+text",
            marker={
                "symbol": ["triangle-up" if m.up else "triangle-down" for m in marks],
                "size": _SIZE,
                "color": GREY,
                "line": {"width": 1, "color": "white"},
            },
            text=[f"{m.number}: {safe(m.words)}" if wordy else str(m.number) for m in marks],
            # Towards the middle, so that words at the ends of the axis are not cut.
            textposition=[
                f"{'top' if m.up else 'bottom'} {'left' if m.after > len(labels) / 2 else 'right'}" for m in marks
            ],
            textfont={"size": 12},
            hovertext=[f"{m.number}: {safe(m.text)}" for m in marks],
            name="change",
            legendgroup="change",
            legendrank=1000,
            showlegend=True,
            **HOVER,
        )
    )


def _spread_out(count: int, most: int) -> list[int]:
    """At most so many of the places 1 ... count, evenly, the last among them."""
    step = max(1, -(-(count - 1) // max(1, most - 1)))
    return sorted(range(count, 0, -step))

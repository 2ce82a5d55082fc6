"""What is done to a whole figure at last: its title, and its colours on a dark page."""

from typing import Any

import plotly.graph_objects as go

from mirror.chart.draw.panel import GREY, safe
from mirror.table.numbers import cut_middle

_HEIGHT_OF_A_TITLE = 34  # pixels; the tools of Plotly, which come with the mouse, have their place beside it
_LONGEST_TITLE = 90
# What is dark on white would vanish on a dark page.
_ON_DARK = {
    "#000000": "#F2F2F2", "#222222": "#E6E6E6", GREY: "#A6A6A6", "#666666": "#A6A6A6", "#BBBBBB": "#5C6670",
    "#0072B2": "#4DA6E0", "#8A8A8A": "#9A9A9A", "white": "#11181F", "rgba(0,0,0,0.04)": "rgba(255,255,255,0.06)",
    "#0D0887": "#5A54E8", "#4C02A1": "#7E3AD6", "#7E03A8": "#A33CC8",
}  # fmt: skip


def add_title(figure: go.Figure, title: str) -> None:
    """A title over legend and panels."""
    height = figure.layout.height + _HEIGHT_OF_A_TITLE
    text = safe(cut_middle(title, _LONGEST_TITLE))
    figure.update_layout(
        height=height,
        title={"text": text, "x": 0, "xref": "container", "y": 1 - 6 / height, "yanchor": "top", "font_size": 13,
               "pad": {"l": 8}},
        margin_t=figure.layout.margin.t + _HEIGHT_OF_A_TITLE,
        legend_y=1 - _HEIGHT_OF_A_TITLE / height,
    )  # fmt: skip


def darken(figure: go.Figure) -> None:
    """Light text and marks, and no background: the page's own shows through."""
    figure.update_layout(
        template="plotly_dark", paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", font_color="#E6E6E6"
    )
    figure.update_xaxes(linecolor="#5C6670", gridcolor="#2B343D")
    figure.update_yaxes(linecolor="#5C6670", gridcolor="#2B343D")
    for trace in figure.data:
        trace.update(_lightened(trace.to_plotly_json()), overwrite=False)
    for shape in figure.layout.shapes:
        shape.line.color = _ON_DARK.get(shape.line.color, shape.line.color)


def _lightened(part: Any) -> Any:
    """The colours of a part of a figure that do not show on a dark page, each with one that does; nothing else."""
    found = {}
    for key, value in part.items():
        if isinstance(value, dict):
            if inner := _lightened(value):
                found[key] = inner
        elif isinstance(value, str) and "color" in key and value in _ON_DARK:
            found[key] = _ON_DARK[value]
    return found

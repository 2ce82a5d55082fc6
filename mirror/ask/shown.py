"""What an answer does besides holding data: it shows itself in a terminal and a notebook, and hands out its parts."""

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from mirror.ask.answer import Answer


class Shown:
    """For `Answer` alone. What it needs is loaded when it is used, since everything imports the class of answers."""

    def figure(self, columns: int | None = None) -> "go.Figure | None":
        """The chart as a Plotly figure, with panels side by side as told; None where there is none."""
        from mirror.chart.choose import figure

        answer = self._self()
        return figure(answer.table, answer.chart, columns) if answer.table and answer.chart else None

    def frame(self) -> "pd.DataFrame":
        """The rows as a pandas DataFrame; without rows and columns where there is no result."""
        from mirror.faces.notebook import frame

        return frame(self._self().table)

    def __repr__(self) -> str:
        from mirror.faces.notebook import text

        return text(self._self())

    def _repr_html_(self) -> str:
        from mirror.faces.notebook import html

        return html(self._self())

    def _ipython_display_(self) -> None:
        from mirror.faces.notebook import display

        display(self._self())

    def _self(self) -> "Answer":
        return cast("Answer", self)

"""A chart in words, for those who do not see it."""

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.drawable import drawn_part, panels
from mirror.table.table import Table
from mirror.table.wording import counted, join

_KINDS = {
    "scatter": "Scatter plot", "line": "Line chart", "bar": "Bar chart", "box": "Box plot", "histogram": "Histogram",
    "heatmap": "Heat map", "parallel": "Parallel coordinates",
}  # fmt: skip


def in_words(chart: ChartSpec, table: Table) -> str:
    """What a chart that can be drawn shows: its kind, its axes with units, what colours and panels tell.

    `Scatter plot of AUC against memory (MB), 246 rows; colour tells method; 6 panels by data set.`
    """
    shown = drawn_part(chart, table)
    places = [c for c in (chart.metrics or (chart.y,)) if c]
    text = _KINDS.get(chart.type, "Chart")
    if chart.type == "heatmap" and chart.color:
        places = [chart.color]
    if places:
        text += f" of {join(table.column(c).title for c in places)}"
    if chart.x and chart.type not in ("parallel",):
        text += (
            f" {'against' if chart.type == 'scatter' else 'by'} {table.column(chart.x).title}"
            if places
            else (f" of {table.column(chart.x).title}")
        )
    if chart.type == "heatmap" and chart.y:
        text += f" and {table.column(chart.y).title}"
    parts = [f"{text}, {counted(len(shown.rows), 'row')}"]
    if chart.color and chart.type != "heatmap":
        parts.append(f"colour tells {table.label(chart.color)}")
    if chart.symbol and chart.symbol != chart.color:
        parts.append(f"symbols tell {table.label(chart.symbol)}")
    if chart.facet:
        parts.append(f"{counted(len(panels(chart, shown)), 'panel')} by {table.label(chart.facet)}")
    return "; ".join(parts) + "."

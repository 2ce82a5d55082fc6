"""Whether a chart can be drawn from a table, and what it leaves out. Sentences for people."""

from dataclasses import replace

from mirror import catalog
from mirror.numbers import plain_text
from mirror.query_spec import ChartSpec, Table
from mirror.roles import distinct, is_number, is_numeric, is_temporal

MOST_COLORS = 8
MOST_FACETS = 6
MOST_BARS = 40
_NEEDS = {
    "scatter": "A scatter needs two numeric columns, on x and on y.",
    "line": "A line needs a numeric or time column on x and a numeric one on y.",
    "bar": "Bars need a numeric column.",
    "box": "A box plot needs a numeric column.",
    "histogram": "A histogram needs a numeric column.",
    "heatmap": "A heatmap needs two columns that differ, and a numeric one for the colour.",
}


def label(column: str | None) -> str:
    """The column's short words, safe to put into a sentence."""
    return plain_text(catalog.entry(column).label) if column else ""


def fits(chart: ChartSpec, table: Table) -> str:
    """Empty when the chart can be drawn from the table, else one sentence that says why not."""
    if chart.type == "table":
        return ""
    if not table.rows:
        return "There are no rows to draw."
    if chart.type == "tiles":
        return "" if len(table.rows) == 1 else f"Number tiles show one row; there are {len(table.rows):,}."
    for c in (chart.x, chart.y, chart.color, chart.symbol, chart.facet):
        if c is not None and c not in table.columns:
            return f"The result has no column {plain_text(c)}."
    return _fits_columns(chart, table) or _fits_scales(chart, table) or _fits_cells(chart, table)


def drawn_part(chart: ChartSpec, table: Table) -> Table:
    """The rows with a value in every place of the chart (above zero on a logarithmic axis)."""
    rows = list(table.rows)
    for c in _values(chart):
        at = table.columns.index(c)
        if is_numeric(table, c):
            positive = c in _log_columns(chart)
            rows = [r for r in rows if is_number(v := r[at]) and (v > 0 or not positive)]
        else:
            rows = [r for r in rows if r[at] is not None]
    # NaN differs from itself: as the name of a group it would never be found again.
    return replace(table, rows=tuple(tuple(None if v != v else v for v in r) for r in rows))


def left_out(chart: ChartSpec, table: Table) -> str:
    """What the rows hold and the chart does not show, in sentences; empty when it shows everything."""
    if chart.type in ("table", "tiles") or fits(chart, table):
        return ""
    sentences = []
    shown = drawn_part(chart, table)
    if missing := len(table.rows) - len(shown.rows):
        names = " or no ".join(label(c) for c in _values(chart))
        sentences.append(f"{missing:,} {'row has' if missing == 1 else 'rows have'} no {names} to draw.")
    if chart.facet and (facets := len(distinct(shown, chart.facet))) > MOST_FACETS:
        sentences.append(f"The first {MOST_FACETS} of {facets:,} panels by {label(chart.facet)} are drawn.")
    if chart.type == "bar" and not chart.facet:
        bars = len(distinct(shown, chart.x)) if chart.x else len(shown.rows)
        if bars > MOST_BARS:
            sentences.append(f"The first {MOST_BARS} of {bars:,} bars are drawn.")
    if chart.color and chart.type != "heatmap" and len(distinct(shown, chart.color)) > MOST_COLORS:
        sentences.append(f"Only {MOST_COLORS} values of {label(chart.color)} have a colour, the rest is grey.")
    return " ".join(sentences)


def is_unique(table: Table, columns: list[str]) -> bool:
    """Whether no two rows agree in all of the columns."""
    places = [table.columns.index(c) for c in columns]
    return len({tuple(r[p] for p in places) for r in table.rows}) == len(table.rows)


def _values(chart: ChartSpec) -> list[str]:
    """The columns whose value decides where a row is drawn; a category may be NULL."""
    if chart.type in ("scatter", "line"):
        places = [chart.x, chart.y]
    elif chart.type == "histogram":
        places = [chart.x]
    elif chart.type == "heatmap":
        places = [chart.color]
    else:
        places = [chart.y]
    return [c for c in places if c]


def _fits_columns(chart: ChartSpec, table: Table) -> str:
    needed = _NEEDS[chart.type]
    placed = _values(chart)
    if len(placed) < (2 if chart.type in ("scatter", "line") else 1) or len(set(placed)) < len(placed):
        return needed
    along = chart.x if chart.type == "line" else None
    if not all(is_numeric(table, c) or (c == along and is_temporal(table, c)) for c in placed):
        return needed
    if chart.type == "heatmap" and (not chart.x or not chart.y or len({chart.x, chart.y, chart.color}) < 3):
        return needed
    if chart.type == "line" and len(distinct(table, chart.x or "")) < 2:
        return f"A line needs two points; all rows have the same {label(chart.x)}."
    if not drawn_part(chart, table).rows:
        return f"No row has {' and '.join(label(c) for c in placed)} to draw."
    return ""


def _fits_scales(chart: ChartSpec, table: Table) -> str:
    if chart.log_y and chart.type == "bar":
        return "Bars start at zero, so they have no logarithmic axis."
    for column in _log_columns(chart):
        if not is_numeric(table, column):
            return f"A logarithmic axis needs numbers; {label(column)} holds none."
    return ""


def _log_columns(chart: ChartSpec) -> list[str]:
    """The columns on a logarithmic axis; `log_x` says nothing to charts whose x axis has categories."""
    x = chart.x if chart.log_x and chart.type in ("scatter", "line") else None
    y = chart.y if chart.log_y and chart.type in ("scatter", "line", "box") else None
    return [c for c in (x, y) if c]


def _fits_cells(chart: ChartSpec, table: Table) -> str:
    shown = drawn_part(chart, table)
    if chart.type == "heatmap" and not is_unique(shown, [c for c in (chart.x, chart.y) if c]):
        return f"A heatmap shows one number per cell, but several rows share a {label(chart.x)} and {label(chart.y)}."
    cell = [c for c in (chart.x, chart.color, chart.facet) if c]
    if chart.type == "bar" and chart.x and not is_unique(shown, cell):
        return (
            f"Several rows share one bar: choose no column on x, or one that differs where {label(chart.x)} does not."
        )
    return ""

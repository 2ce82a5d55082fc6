"""Whether a chart can be drawn from a table, and which part of the table it draws. Sentences for people."""

from collections import Counter
from dataclasses import replace

from db.plain_text import plain_text
from mirror.chart.chart_spec import ChartSpec
from mirror.query.roles import roles_of
from mirror.table.table import Table
from mirror.table.values import Value, is_number

MOST_COLORS = 8
MOST_FACETS = 6
MOST_BARS = 40
MOST_WHISKERS = 12  # along one line; above it they turn into hair, and a band tells the same
MOST_BANDS = 8  # in one panel; above it nothing tells it
MOST_METRICS = 6  # with a panel or an axis each
TWO_DECADES = 100.0  # largest / smallest from which on an axis is logarithmic
_ALIKE = 1.25  # largest / smallest up to which bars from zero look alike
_NEEDS = {
    "scatter": "A scatter needs two numeric columns, on x and on y.",
    "line": "A line needs a numeric or time column on x and a numeric one on y.",
    "bar": "Bars need a numeric column.",
    "box": "A box plot needs a numeric column.",
    "histogram": "A histogram needs a numeric column.",
    "heatmap": "A heatmap needs two columns that differ, and a numeric one for the colour.",
    "parallel": "Parallel coordinates need three numeric columns and two rows that hold all of them.",
}


def fits(chart: ChartSpec, table: Table) -> str:
    """Empty when the chart can be drawn from the table, else one sentence that says why not."""
    if chart.type == "table":
        return ""
    if not table.rows:
        return "There are no rows to draw."
    if chart.type == "tiles":
        return "" if len(table.rows) == 1 else f"Number tiles show one row; there are {len(table.rows):,}."
    columns = (chart.x, chart.y, chart.color, chart.symbol, chart.facet, *chart.metrics, *(c for c, _ in chart.only))
    for c in columns:
        if c is not None and c not in table.names:
            return f"The result has no column {plain_text(c)}."
    return _fits_columns(chart, table) or _fits_scales(chart, table) or _fits_cells(chart, table)


def narrowed(table: Table, only: tuple[tuple[str, Value], ...]) -> Table:
    """The rows that hold the values (see `ChartSpec.only`), and those that have none.

    A method that has one setting of its own, as the baseline that is not compressed, keeps it.
    """
    if not only:
        return table
    rival, implied = table.domain.rival, table.domain.implied
    methods = table.values(rival) if rival in table.names else [None] * len(table.rows)
    keep = [True] * len(table.rows)
    for column, wanted in only:
        values = table.values(column)
        settings = Counter(m for m, _ in {(m, v) for m, v in zip(methods, values, strict=True) if v is not None})
        chosen = rival in implied.get(column, ())
        own = {m for m, n in settings.items() if chosen and n == 1 and m is not None}
        keep = [k and (v is None or v == wanted or m in own) for k, v, m in zip(keep, values, methods, strict=True)]
    return table.kept(keep)


def panels(chart: ChartSpec, shown: Table) -> list[Value | None]:
    """The values of `facet` that get a panel, in their order: those with the most rows where they are too many."""
    values = shown.values(chart.facet or "").distinct
    often = Counter(shown.values(chart.facet or ""))
    kept = sorted(values, key=lambda v: (v is None, -often[v]))[:MOST_FACETS]
    return [v for v in values if v in kept]


def axes(chart: ChartSpec, table: Table) -> tuple[str, ...]:
    """The columns of the axes of parallel coordinates: as chosen, else all that are metrics."""
    return chart.metrics or roles_of(table).metrics[:MOST_METRICS]


def drawn_part(chart: ChartSpec, table: Table) -> Table:
    """The rows that are drawn: complete ones, of at most MOST_BARS boxes and as many on each side of a heatmap."""
    part = complete_part(chart, table)
    for c in crowded(chart, part):
        values = part.values(c)
        kept = {v for v, _ in sorted(Counter(values).items(), key=lambda item: -item[1])[:MOST_BARS]}
        part = part.kept(v in kept for v in values)
    return part


def crowded(chart: ChartSpec, part: Table) -> list[str]:
    """The columns that have more categories than boxes or the sides of a heatmap can show."""
    sides = {"box": (chart.x,), "heatmap": (chart.x, chart.y)}.get(chart.type, ())
    return [c for c in sides if c and len(set(part.values(c))) > MOST_BARS]


def complete_part(chart: ChartSpec, table: Table) -> Table:
    """The rows with a value in every place of the chart (above zero on a logarithmic axis)."""
    table = narrowed(table, chart.only)
    keep = [True] * len(table.rows)
    for c in axes(chart, table) if chart.type == "parallel" else placed(chart):
        values, positive = table.values(c), c in _log_columns(chart)
        if values.numeric:
            keep = [k and is_number(v) and (v > 0 or not positive) for k, v in zip(keep, values, strict=True)]
        else:
            keep = [k and v is not None for k, v in zip(keep, values, strict=True)]
    part = table.kept(keep)
    # NaN differs from itself: as the name of a group it would never be found again.
    return replace(part, rows=tuple(tuple(None if v != v else v for v in r) for r in part.rows))


def spans(table: Table, column: str | None, ratio: float, facet: str | None = None) -> bool:
    """Whether all numbers are above zero and, in some panel, the largest is at least `ratio` times the smallest."""
    if column is None or not table.values(column).numeric:
        return False
    parts: dict[Value | None, list[float]] = {}
    values, places = table.values(column), table.values(facet) if facet else [None] * len(table.rows)
    for value, place in zip(values, places, strict=True):
        if is_number(value):
            parts.setdefault(place, []).append(float(value))
    return all(min(p) > 0 for p in parts.values()) and any(max(p) / min(p) >= ratio for p in parts.values())


def hardly_differ(table: Table, column: str) -> bool:
    """Whether numbers above zero differ so little that bars from zero would look alike."""
    numbers = table.values(column).numbers if column in table.names else []
    return len(numbers) > 1 and numbers[0] > 0 and numbers[-1] / numbers[0] <= _ALIKE


def is_unique(table: Table, columns: list[str]) -> bool:
    """Whether no two rows agree in all of the columns."""
    places = [table.names.index(c) for c in columns]
    return len({tuple(r[p] for p in places) for r in table.rows}) == len(table.rows)


def placed(chart: ChartSpec) -> list[str]:
    """The columns whose value decides where a row is drawn; a category may be NULL."""
    if chart.type == "parallel":
        return list(chart.metrics)
    if chart.metrics:  # a row that lacks one of them has its place in the other panels
        return [chart.x] if chart.type == "line" and chart.x else []
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
    if chart.type == "parallel":
        numeric = [c for c in dict.fromkeys(axes(chart, table)) if table.values(c).numeric]
        whole = len(numeric) == len(axes(chart, table)) > 2
        return "" if whole and len(drawn_part(chart, table).rows) > 1 else needed
    columns = placed(replace(chart, metrics=()))
    if len(columns) < (2 if chart.type in ("scatter", "line") else 1) or len(set(columns)) < len(columns):
        return needed
    times = [chart.x] if chart.type == "line" and chart.x and table.values(chart.x).temporal else []
    if not all(table.values(c).numeric or c in times for c in (*columns, *chart.metrics)):
        return needed
    if chart.type == "heatmap" and (not chart.x or not chart.y or len({chart.x, chart.y, chart.color}) < 3):
        return needed
    shown = drawn_part(chart, table)
    if not shown.rows:
        return f"No row has {' and '.join(table.label(c) for c in columns)} to draw."
    if chart.type == "line" and len(shown.values(chart.x or "").distinct) < 2:
        return f"A line needs two points; all rows have the same {table.label(chart.x)}."
    return ""


def _fits_scales(chart: ChartSpec, table: Table) -> str:
    if chart.log_y and chart.type == "bar":
        return "Bars start at zero, so they have no logarithmic axis."
    for column in _log_columns(chart):
        if not table.values(column).numeric:
            return f"A logarithmic axis needs numbers; {table.label(column)} holds none."
    return ""


def _log_columns(chart: ChartSpec) -> list[str]:
    """The columns on a logarithmic axis; `log_x` says nothing to charts whose x axis has categories."""
    x = chart.x if chart.log_x and chart.type in ("scatter", "line") else None
    y = chart.y if chart.log_y and chart.type in ("scatter", "line", "box") else None
    return [c for c in (x, y) if c]


def _fits_cells(chart: ChartSpec, table: Table) -> str:
    shown = drawn_part(chart, table)
    if chart.type == "heatmap" and not is_unique(shown, [c for c in (chart.x, chart.y) if c]):
        shared = f"{table.label(chart.x)} and {table.label(chart.y)}"
        return f"A heatmap shows one number per cell, but several rows share a {shared}."
    cell = [c for c in (chart.x, chart.color, chart.facet) if c]
    if chart.type == "bar" and chart.x and not is_unique(shown, cell):
        named = table.label(chart.x)
        return f"Several rows share one bar: choose no column on x, or one that differs where {named} does not."
    return ""

"""Which chart shows a result: the first rule that fits; a wish comes before the rules where it can be drawn."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from db.columns import GROUP_AXES
from mirror import catalog
from mirror.configurations import has_direction, repeats
from mirror.drawable import MOST_COLORS, MOST_FACETS, fits, is_unique, label, left_out
from mirror.query_spec import ChartSpec, ChartType, ChartWish, QuerySpec, Table, Value
from mirror.roles import Roles, compared, differing, distinct, distinct_numbers, is_number, is_numeric, sort_roles
from mirror.wording import filter_in_words

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["choose", "figure", "fits", "left_out", "no_rows", "redrawn", "tiles"]

_MOST_TILES = 4
_MOST_CELLS_OF_BARS = 36  # above 6 x 6 a heatmap is easier to read than grouped bars
_REPEATS_OF_A_BOX = 5
_VALUES_OF_A_LINE = 3
# What must not share an axis: each value gets a panel of its own.
_OWN_PANEL = ("metric", "benchmark", "op", "dataset", "device", "direction", "machine")


def choose(table: Table, spec: QuerySpec | None, wish: ChartWish | None = None) -> ChartSpec:
    """The chart of a result.

    Without a spec (edited SQL) the use of each column follows from the catalogue and the values. `reason` says why
    this chart, why not the wished one, and what it leaves out.
    """
    if not table.rows:
        return ChartSpec("table", reason=no_rows(spec))
    wish = wish or (spec.chart if spec else ChartWish())
    roles = sort_roles(table, spec)
    chart = _first_that_fits(table, spec.shape if spec else None, roles, spec)
    if wish.type and wish.type != chart.type:
        wished = _build(wish.type, table, roles)
        problem = fits(wished, table)
        chart = replace(chart, reason=f"{problem} {chart.reason}") if problem else wished
    chart = _with_wished_scales(chart, table, wish)
    reason = f"{chart.reason} {left_out(chart, table)}".strip()
    return replace(chart, reason=reason[:1].upper() + reason[1:])


def redrawn(chart: ChartSpec, table: Table, spec: QuerySpec | None) -> ChartSpec:
    """A chart whose type, columns or scales a person has changed, with what follows from them as `choose` has it."""
    chart = _completed(chart, table, sort_roles(table, spec))
    reason = f"{chart.reason} {left_out(chart, table)}".strip()
    return replace(chart, reason=reason[:1].upper() + reason[1:])


def tiles(table: Table, spec: QuerySpec | None = None) -> list[tuple[str, Value | None]]:
    """(column, value) of the number tiles of a one-row result: the metrics, then what names the row; four at most."""
    roles = sort_roles(table, spec)
    named = [d for d in roles.dimensions if table.column(d)[0] is not None]
    return [(c, table.column(c)[0]) for c in (*roles.metrics, *named)][:_MOST_TILES]


def figure(table: Table, chart: ChartSpec, columns: int | None = None) -> "go.Figure | None":
    """The Plotly figure of a chart (mirror.figure.draw), or None for `table` and `tiles`."""
    from mirror.figure import draw  # here, since Plotly is slow to load

    return draw(table, chart, columns)


def no_rows(spec: QuerySpec | None) -> str:
    """The sentence for an empty result, with the filters that it had to pass."""
    if spec is None or not spec.filters:
        return "No rows match."
    return f"No rows match {' and '.join(filter_in_words(f) for f in spec.filters)}."


# -- rules -------------------------------------------------------------------------------------------------------------


def _first_that_fits(table: Table, shape: str | None, roles: Roles, spec: QuerySpec | None) -> ChartSpec:
    metrics = roles.metrics
    if shape == "rows":
        return ChartSpec("table", reason="Whole trials are listed as a table.")
    if not metrics:
        empty = [label(c) for c in spec.drawn if c in table.columns] if spec else []
        why = f"No row holds a number of {' or '.join(empty)}." if empty else "No column holds numbers to draw."
        return ChartSpec("table", reason=why)
    if len(table.rows) == 1:
        if len(metrics) <= _MOST_TILES:
            return ChartSpec("tiles", reason="One row: its numbers.")
        return ChartSpec("table", reason=f"One row with {len(metrics)} numbers is easiest to read as a table.")
    if shape is None and len(metrics) > _MOST_TILES:
        return ChartSpec("table", reason=f"The rows hold {len(metrics)} numbers: choose x and y to draw two of them.")
    for kind in _candidates(table, shape, roles):
        chart = _build(kind, table, roles, ranked=shape in ("best", "ranking"))
        if not fits(chart, table):
            return chart
    return ChartSpec("table", reason="No column names the rows or puts them in order, so there is no axis to draw on.")


def _candidates(table: Table, shape: str | None, roles: Roles) -> Iterable[ChartType]:
    """The kinds of chart, in the order in which they are tried."""
    keys = compared(table, roles)
    parameters, times = _parameters(table, roles), differing(table, roles.times)
    if shape in ("best", "ranking", "count", "change"):
        yield "bar"
    # Edited SQL that starts with a parameter or a time asks for a course, whatever else it selects.
    course = shape is None and table.columns[0] in (*parameters, *times)
    if len(roles.metrics) >= 2 and roles.raw and not course:
        yield "scatter"
    if roles.raw and not times and len(keys) <= 2 and repeats(table, keys) >= _REPEATS_OF_A_BOX:
        yield "box" if keys else "histogram"
    if len(parameters) >= 2 and len(keys) == 2 and len(distinct(table, parameters[1])) > MOST_COLORS:
        yield "heatmap"
    if parameters or times:
        yield "line"
    if len(roles.metrics) == 2 and len(table.rows) > 2:
        yield "scatter"
    if len(keys) == 2 and math.prod(len(distinct(table, k)) for k in keys) > _MOST_CELLS_OF_BARS:
        yield "heatmap"
    if keys:
        yield "bar"


def _build(kind: ChartType, table: Table, roles: Roles, ranked: bool = False) -> ChartSpec:
    """A chart of the kind with the columns that suit it best; `fits` says whether it can be drawn."""
    return _completed(_placed(kind, table, roles, ranked), table, roles)


def _placed(kind: ChartType, table: Table, roles: Roles, ranked: bool) -> ChartSpec:
    keys = compared(table, roles)
    y = roles.metrics[0] if roles.metrics else None
    if kind == "scatter":
        return _scatter(table, roles, keys)
    if kind == "line":
        return _line(table, roles, keys)
    if kind == "bar":
        return _bars(table, roles, keys, ranked)
    if kind == "box":
        x, color, facet = _slots(table, [k for k in keys if k != "dataset"] if len(keys) > 1 else keys)
        facet = "dataset" if "dataset" in keys and x != "dataset" else facet
        x = "machine" if "machine" in keys and "machine" not in (color, facet) else x  # boxes never hold two machines
        return ChartSpec("box", x=x, y=y, color=color, facet=facet)
    if kind == "histogram":
        return ChartSpec("histogram", x=y, color=_color(table, keys), facet="machine" if "machine" in keys else None)
    if kind == "heatmap":
        x = next(iter(_parameters(table, roles)), keys[0] if keys else None)
        return ChartSpec("heatmap", x=x, y=next((k for k in keys if k != x), None), color=y)
    return ChartSpec(kind)


def _scatter(table: Table, roles: Roles, keys: list[str]) -> ChartSpec:
    axes = [*roles.metrics[:2]]
    if len(axes) == 1:  # one metric along a parameter is a scatter as well
        axes = [*_parameters(table, roles)[:1], *axes]
    if len(axes) < 2:
        return ChartSpec("scatter", y=axes[0] if axes else None)
    x, y = axes
    keys = [k for k in keys if k != x]
    color = _color(table, keys)
    facet = next((k for k in _OWN_PANEL if k in keys and k != color), None)
    log_x, log_y = (_spans(table, c, 100, facet) for c in (x, y))
    return ChartSpec("scatter", x=x, y=y, color=color, facet=facet, log_x=log_x, log_y=log_y)


def _line(table: Table, roles: Roles, keys: list[str]) -> ChartSpec:
    times, parameters = differing(table, roles.times), _parameters(table, roles)
    # Trials carry their start beside what they measure; only a grouped time, or one that comes first, is the x axis.
    along_time = times and (not parameters or not roles.raw or table.columns[0] == times[0])
    few = [k for k in keys if k in roles.parameters]  # two values make a line only where it is wished
    x = next(iter(times if along_time else [*parameters, *times, *few]), None)
    y = roles.metrics[0] if roles.metrics else None
    keys = [k for k in keys if k != x]
    facet = "metric" if "metric" in keys else None
    color = _color(table, [k for k in keys if k != facet])
    rest = [k for k in keys if k not in (color, facet)]
    if facet is None:
        facet = next((k for k in [*_OWN_PANEL, *rest] if k in rest and len(distinct(table, k)) <= MOST_FACETS), None)
    numbers = distinct_numbers(table, x) if x else []
    doubling = len(numbers) >= _VALUES_OF_A_LINE and all(v > 0 and math.log2(v).is_integer() for v in numbers)
    log_x = doubling or (_is_axis(x) and _spans(table, x, 10, facet))
    return ChartSpec("line", x=x, y=y, color=color, facet=facet, log_x=log_x, log_y=_spans(table, y, 100, facet))


def _bars(table: Table, roles: Roles, keys: list[str], ranked: bool) -> ChartSpec:
    y = roles.metrics[0] if roles.metrics else None
    x, color, facet = _slots(table, keys)
    if ranked:
        facet = None
        others = [k for k in keys if k != "method"]
        name = others[0] if len(others) == 1 and others[0] in roles.names else None
        x = keys[0] if len(keys) == 1 else name
        color = "method" if "method" in roles.names else None  # who won is told even where it is always the same
        x = x if x and is_unique(table, [x]) else None
    elif len(keys) > 3 or not is_unique(table, [c for c in (x, color, facet) if c]):
        x, facet, color = None, None, "method" if "method" in keys else None
    return ChartSpec("bar", x=x, y=y, color=color, facet=facet)


# -- what follows from the places --------------------------------------------------------------------------------------


def _completed(chart: ChartSpec, table: Table, roles: Roles) -> ChartSpec:
    """The chart with the symbols, the Pareto front and the reason that its columns bring about."""
    keys = [k for k in compared(table, roles) if k not in (chart.x, chart.y, chart.color, chart.facet)]
    x, y = label(chart.x), label(chart.y)
    others = [m for m in roles.metrics if m not in (chart.x, chart.y, chart.color)]
    if chart.type == "scatter" and chart.x and chart.y:
        reason = f"{x} against {y}, one point per {'trial' if roles.raw else 'row'}."
        two_sided = has_direction(chart.x) and has_direction(chart.y)
        # Neither different work nor what has a panel of its own can be on one front, whatever its colour.
        apart = dict.fromkeys((*GROUP_AXES, *_OWN_PANEL))
        mixed = [k for k in apart if k in compared(table, roles) and k != chart.facet]
        if two_sided and mixed:
            differ = "differs" if len(mixed) == 1 else "differ"
            reason += f" No Pareto front, since {' and '.join(label(k) for k in mixed)} {differ} as well."
        symbol = "machine" if "machine" in keys else chart.color
        chart = replace(chart, symbol=symbol, pareto=two_sided and not mixed)
    elif chart.type == "line" and chart.x:
        few = [k for k in keys if len(distinct(table, k)) <= MOST_COLORS]
        symbol = "machine" if "machine" in few else next(iter(few), chart.color)
        alike = [label(k) for k in keys if k != symbol]
        reason = f"{y} along {x}."
        reason += f" Lines that look alike differ in {' and '.join(alike)}." if alike else ""
        chart = replace(chart, symbol=symbol, pareto=False)
    else:
        reason = {
            "bar": f"{y} by {x}." if x else f"{y} of each row.",
            "box": f"How {y} is distributed.",
            "histogram": f"How {x} is distributed.",
            "heatmap": f"{label(chart.color)} for every {x} and {y}.",
            "table": "Shown as a table.",
        }.get(chart.type, "")
        chart = replace(chart, symbol=None, pareto=False)
    if others and chart.type in ("scatter", "line", "bar"):
        reason += f" The table holds {' and '.join(label(m) for m in others)} as well."
    return replace(chart, reason=reason)


def _slots(table: Table, keys: list[str]) -> tuple[str | None, str | None, str | None]:
    """Places for up to three dimensions: (category, colour, panel)."""
    if len(keys) <= 1:
        return (keys[0] if keys else None), ("method" if "method" in keys else None), None
    color = "method" if "method" in keys else keys[1]
    rest = [k for k in keys if k != color]
    panels = [k for k in (*_OWN_PANEL, *reversed(rest)) if k in rest and len(distinct(table, k)) <= MOST_FACETS]
    facet = panels[0] if len(rest) > 1 and panels else None
    return next(k for k in rest if k != facet), color, facet


def _color(table: Table, keys: Sequence[str]) -> str | None:
    """Methods first, since they keep their colours; machines, data sets, then the first with few values."""
    few = [k for k in keys if len(distinct(table, k)) <= MOST_COLORS]
    return next((k for k in ("method", "machine", "dataset") if k in keys), None) or next(iter([*few, *keys]), None)


def _parameters(table: Table, roles: Roles) -> list[str]:
    """Parameters with enough values for an axis."""
    return [p for p in compared(table, roles) if p in roles.parameters and _enough(table, p)]


def _enough(table: Table, column: str) -> bool:
    return len(distinct_numbers(table, column)) >= _VALUES_OF_A_LINE


def _spans(table: Table, column: str | None, ratio: float, facet: str | None) -> bool:
    """Whether all numbers are above zero and, in some panel, the largest is at least `ratio` times the smallest."""
    if column is None or not is_numeric(table, column):
        return False
    panels: dict[Value | None, list[float]] = {}
    values, places = table.column(column), table.column(facet) if facet else [None] * len(table.rows)
    for value, place in zip(values, places, strict=True):
        if is_number(value):
            panels.setdefault(place, []).append(float(value))
    return all(min(p) > 0 for p in panels.values()) and any(max(p) / min(p) >= ratio for p in panels.values())


def _is_axis(column: str | None) -> bool:
    return column is not None and catalog.entry(column).role == "axis"


def _with_wished_scales(chart: ChartSpec, table: Table, wish: ChartWish) -> ChartSpec:
    for name in ("log_x", "log_y") if chart.type in ("scatter", "line", "bar", "box") else ():
        if getattr(wish, name) and not getattr(chart, name):
            scaled = replace(chart, log_x=chart.log_x or name == "log_x", log_y=chart.log_y or name == "log_y")
            problem = fits(scaled, table)
            chart = replace(chart, reason=f"{problem} {chart.reason}") if problem else scaled
    return chart

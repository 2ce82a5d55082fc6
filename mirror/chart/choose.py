"""Which chart shows a result: the first rule that fits; a wish comes before the rules where it can be drawn."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.configurations import repeats
from mirror.chart.drawable import (
    MOST_BANDS,
    MOST_COLORS,
    MOST_FACETS,
    MOST_METRICS,
    MOST_WHISKERS,
    axes,
    drawn_part,
    fits,
    hardly_differ,
    is_unique,
    narrowed,
    spans,
)
from mirror.chart.left_out import left_out
from mirror.chart.places import (
    alike,
    for_bars,
    for_lines,
    for_points,
    keys_in_order,
    most_lines,
    one_value,
    own_panel,
    rest_of_lines,
    telling,
)
from mirror.chart.roles import Roles, differing, distinct, distinct_numbers, sort_roles, spread_in_words
from mirror.chart.scaling import scales
from mirror.query.spec import ChartType, ChartWish, QuerySpec
from mirror.schema import catalog
from mirror.table.numbers import describe
from mirror.table.table import Column, Table, Value
from mirror.table.wording import capital, filter_in_words, join

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["choose", "figure", "fits", "left_out", "no_rows", "redrawn", "tiles"]

_MOST_TILES = 4
_MOST_CELLS_OF_BARS = 36  # above 6 x 6 a heatmap is easier to read than grouped bars
_MOST_BARS_OF_ROWS = 20  # a bar per row, named by all that differs; with more, metrics have axes instead of panels
_MOST_HISTOGRAMS = 3  # in one panel
_MOST_FRONTS = 3  # in one panel
_REPEATS_OF_A_BOX = 5
_VALUES_OF_A_LINE = 3
_TWO_DECADES = 100.0


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
    # The distribution of what has no groups is told by a histogram.
    kind = "histogram" if wish.type == "box" and not keys_in_order(table, roles) else wish.type
    if kind and kind != chart.type:
        wished = _build(kind, table, roles)
        problem = fits(wished, table)
        chart = replace(chart, reason=f"{problem} {chart.reason}") if problem else wished
    chart = replace(chart, dots=chart.dots and wish.type != "bar")
    return _told(_with_wished_scales(chart, table, wish), table, spec)


def redrawn(chart: ChartSpec, table: Table, spec: QuerySpec | None) -> ChartSpec:
    """A chart whose type, columns or scales a person has changed, with what follows from them as `choose` has it."""
    return _told(_completed(chart, table, sort_roles(table, spec)), table, spec)


def tiles(table: Table, spec: QuerySpec | None = None) -> list[tuple[Column, Value | None]]:
    """(column, value) of the number tiles of a one-row result: the metrics, then what names the row; four at most."""
    roles = sort_roles(table, spec)
    named = [d for d in roles.dimensions if table.values(d)[0] is not None]
    return [(table.column(c), table.values(c)[0]) for c in (*roles.metrics, *named)][:_MOST_TILES]


def figure(table: Table, chart: ChartSpec, columns: int | None = None) -> "go.Figure | None":
    """The Plotly figure of a chart (mirror.chart.draw.figure.draw), or None for `table` and `tiles`."""
    from mirror.chart.draw.figure import draw  # here, since Plotly is slow to load

    return draw(table, chart, columns)


def no_rows(spec: QuerySpec | None) -> str:
    """The sentence for an empty result, with the filters that it had to pass, or the claim that none of them keeps."""
    if spec is None or not spec.filters:
        return "No rows match."
    if spec.shape == "relative" and spec.claim and spec.against:
        metrics = join([catalog.entry(m.column).label for m in spec.metrics])
        reference = describe(catalog.entry(spec.against.column), spec.against.values[0])
        return (
            f"None is {spec.claim} than {reference} in {metrics} at equal work, where "
            f"{' and '.join(filter_in_words(f) for f in spec.filters)}."
        )
    return f"No rows match {' and '.join(filter_in_words(f) for f in spec.filters)}."


def _told(chart: ChartSpec, table: Table, spec: QuerySpec | None) -> ChartSpec:
    dots = "Dots, since bars from zero would look alike." if chart.dots else ""
    told = (chart.reason, dots, _how_far(chart, table), left_out(chart, table, edited=spec is None))
    return replace(chart, reason=capital(" ".join(filter(None, told))))


def _how_far(chart: ChartSpec, table: Table) -> str:
    """What the whiskers and bands of a chart mean, as a sentence; empty where it has none."""
    if chart.type not in ("scatter", "line", "bar") or fits(chart, table):
        return ""
    shown = drawn_part(chart, table)
    lines = most_lines(shown, chart.facet, chart.color, chart.symbol)
    if chart.type == "line" and lines > MOST_BANDS and len(distinct(shown, chart.x or "")) > MOST_WHISKERS:
        return ""
    found = (spread_in_words(shown, m) for m in chart.metrics or (chart.x or "", chart.y or "") if m in table.names)
    words = next(filter(None, found), "")
    return f"Whiskers or bands show {words}." if words else ""


# -- rules -------------------------------------------------------------------------------------------------------------


def _first_that_fits(table: Table, shape: str | None, roles: Roles, spec: QuerySpec | None) -> ChartSpec:
    metrics = roles.metrics
    if shape == "rows":
        return ChartSpec("table", reason="Whole trials are listed as a table.")
    if not metrics:
        empty = [table.label(c) for c in spec.drawn if c in table.names] if spec else []
        why = f"No row holds a number of {' or '.join(empty)}." if empty else "No column holds numbers to draw."
        return ChartSpec("table", reason=why)
    if len(table.rows) == 1:
        if len(metrics) <= _MOST_TILES:
            return ChartSpec("tiles", reason="One row: its numbers.")
        return ChartSpec("table", reason=f"One row with {len(metrics)} numbers is easiest to read as a table.")
    if shape is None and len(metrics) > MOST_METRICS:
        return ChartSpec("table", reason=f"The rows hold {len(metrics)} numbers: choose x and y to draw two of them.")
    for kind in _candidates(table, shape, roles):
        chart = _build(kind, table, roles, ranked=shape in ("best", "ranking"))
        if not fits(chart, table):
            return chart
    return ChartSpec("table", reason="No column names the rows or puts them in order, so there is no axis to draw on.")


def _candidates(table: Table, shape: str | None, roles: Roles) -> Iterable[ChartType]:
    """The kinds of chart, in the order in which they are tried."""
    keys = keys_in_order(table, roles)
    parameters, times = _parameters(table, roles), differing(table, roles.times)
    first, metrics = table.names[0], len(roles.metrics)
    if shape == "front":  # what two metrics trade against each other, however many parameters tell the points apart
        yield "scatter"
    if shape in ("best", "ranking", "count", "change"):
        yield "bar"
    few = first in roles.parameters and first not in parameters
    if shape == "groups" and first in keys and few and not (first == roles.lead and parameters):
        yield "bar"  # what was asked for first has two values, too few for a line: no other takes its place
    # Edited SQL that starts with a parameter or a time asks for a course, whatever else it selects.
    single = roles.raw and not (shape is None and first in (*parameters, *times))
    if single and metrics == 2:
        yield "scatter"
    if single and metrics > 2:
        yield _of_several(table)
    if roles.raw and not times and len(keys) <= 2 and repeats(table, keys) >= _REPEATS_OF_A_BOX:
        yield "box" if keys else "histogram"
    if len(keys) == len(parameters) == 2:
        yield "heatmap"
    if times or (parameters and _joins(table, roles)):
        yield "line"
    if metrics > 2:
        yield _of_several(table)
    if metrics == 2 and len(table.rows) > 2:
        yield "scatter"
    if len(keys) == 2 and math.prod(len(distinct(table, k)) for k in keys) > _MOST_CELLS_OF_BARS:
        yield "heatmap"
    if keys:
        yield "bar"


def _joins(table: Table, roles: Roles) -> bool:
    """Whether any line would join two points: settings that are no grid may leave each one alone."""
    chart = _completed(_line(table, roles, keys_in_order(table, roles)), table, roles)
    shown = narrowed(table, chart.only)
    columns = [shown.values(c) for c in (chart.facet, chart.color, chart.symbol) if c]
    series = list(zip(*columns, strict=True)) or [()] * len(shown.rows)
    points = Counter(of for of, _ in set(zip(series, shown.values(chart.x or ""), strict=True)))
    return max(points.values(), default=0) > 1


def _of_several(table: Table) -> ChartType:
    """What shows three or more metrics: a panel for each where the rows are few, else an axis for each."""
    return "bar" if len(table.rows) <= _MOST_BARS_OF_ROWS else "parallel"


def _build(kind: ChartType, table: Table, roles: Roles, ranked: bool = False) -> ChartSpec:
    """A chart of the kind with the columns that suit it best; `fits` says whether it can be drawn."""
    return _scaled(_completed(_placed(kind, table, roles, ranked), table, roles), table)


def _placed(kind: ChartType, table: Table, roles: Roles, ranked: bool) -> ChartSpec:
    keys = keys_in_order(table, roles)
    y = roles.metrics[0] if roles.metrics else None
    if kind == "scatter":
        return _scatter(table, roles, keys)
    if kind == "line":
        return _line(table, roles, keys)
    if kind == "bar":
        return _bars(table, roles, keys, ranked)
    if kind == "box":
        return _boxes(table, y, keys, roles.lead)
    if kind == "histogram":
        facet = next((k for k in table.domain.apart if k in keys), None)
        few = [k for k in telling(table, keys) if k != facet and len(distinct(table, k)) <= _MOST_HISTOGRAMS]
        color = next((k for k in (table.domain.rival, table.domain.machine, *keys[:1]) if k in few), None)
        return ChartSpec("histogram", x=y, color=color, facet=facet)
    if kind == "heatmap":
        x = next(iter(_parameters(table, roles)), keys[0] if keys else None)
        return ChartSpec("heatmap", x=x, y=next((k for k in keys if k != x), None), color=y)
    if kind == "parallel":
        facet = own_panel(table, keys)
        color = roles.lead or for_points(table, [k for k in keys if k != facet])
        return ChartSpec("parallel", color=color, facet=facet, metrics=roles.metrics[:MOST_METRICS])
    return ChartSpec(kind)


def _scatter(table: Table, roles: Roles, keys: list[str]) -> ChartSpec:
    columns = [*roles.metrics[:2]]
    if len(columns) == 1:  # one metric along a parameter is a scatter as well
        columns = [*_parameters(table, roles)[:1], *columns]
    if len(columns) < 2:
        return ChartSpec("scatter", y=columns[0] if columns else None)
    x, y = columns
    color = for_points(table, [k for k in keys if k != x], roles.lead)
    facet = next((k for k in table.domain.apart if k in keys and k not in (x, color)), None)
    return ChartSpec("scatter", x=x, y=y, color=color, facet=facet)


def _line(table: Table, roles: Roles, keys: list[str]) -> ChartSpec:
    times, parameters = differing(table, roles.times), _parameters(table, roles)
    # Trials carry their start beside what they measure; only a grouped time, or one that comes first, is the x axis.
    along_time = times and (not parameters or not roles.raw or table.names[0] == times[0])
    few = [k for k in keys if k in roles.parameters]  # two values make a line only where it is wished
    x = next(iter(times if along_time else [*parameters, *times, *few]), None)
    metrics = roles.metrics[:MOST_METRICS]
    color, facet = for_lines(table, [k for k in keys if k != x], panels=len(metrics) < 2, lead=roles.lead)
    if along_time and roles.raw:
        facet = own_panel(
            table, [k for k in keys if k not in (x, table.domain.machine)]
        )  # machines side by side on one time axis
        color = for_points(table, [k for k in keys if k not in (x, facet)])
    several = metrics if len(metrics) > 1 and facet is None else ()
    return ChartSpec("line", x=x, y=metrics[0] if metrics else None, color=color, facet=facet, metrics=several)


def _bars(table: Table, roles: Roles, keys: list[str], ranked: bool) -> ChartSpec:
    y = roles.metrics[0] if roles.metrics else None
    several = len(roles.metrics) > 1 and len(table.rows) <= _MOST_BARS_OF_ROWS
    metrics = roles.metrics[:MOST_METRICS] if several else ()
    rival = table.domain.rival
    if ranked:
        others = [k for k in keys if k != rival]
        name = others[0] if len(others) == 1 and others[0] in roles.names else None
        x = keys[0] if len(keys) == 1 else name
        color = rival if rival in roles.names else None  # who won is told even where it is always the same
        return ChartSpec("bar", x=x if x and is_unique(table, [x]) else None, y=y, color=color, metrics=metrics)
    x, color, facet = for_bars(table, keys, panels=not several, lead=roles.lead)
    chart = ChartSpec("bar", x=x, y=y, color=color, facet=facet, metrics=metrics)
    few = len(table.rows) <= _MOST_BARS_OF_ROWS
    if is_unique(table, _cell(chart)) and not (few and _mostly_empty(table, chart)):
        return chart
    if not few and not fits(completed := _completed(chart, table, roles), table):
        return chart if len(distinct(narrowed(table, completed.only), x or "")) > 1 else _replaced(chart, table, keys)
    return ChartSpec("bar", y=y, color=roles.lead or (rival if rival in keys else None), metrics=metrics)


def _mostly_empty(table: Table, chart: ChartSpec) -> bool:
    """Whether bars would stand at less than half of the places: then each row has a bar with a name of its own."""
    return len(table.rows) * 2 < math.prod(len(distinct(table, c)) for c in set(_cell(chart)))


def _replaced(chart: ChartSpec, table: Table, keys: list[str]) -> ChartSpec:
    """The bars along the key, in panels of the key, that leave the most to draw; of equals the longest axis.

    For settings that are no grid: one value of each other key may leave a single place.
    """
    rest = [k for k in keys if k != chart.color]
    panels = [chart.facet] if chart.facet else [None, *(k for k in rest if len(distinct(table, k)) <= MOST_FACETS)]
    charts = [replace(chart, x=x, facet=facet) for x in rest for facet in panels if x != facet]

    def drawn(chart: ChartSpec) -> tuple[int, int]:
        others = [k for k in rest if k not in _cell(chart)]
        shown = narrowed(table, one_value(table, others, _cell(chart)))
        return len(shown.rows), len(distinct(shown, chart.x or ""))

    return max(charts, key=drawn)


def _boxes(table: Table, y: str | None, keys: list[str], lead: str | None) -> ChartSpec:
    facet = own_panel(table, [k for k in keys if k != lead])
    rest = [k for k in keys if k != facet]
    x, color, _ = for_bars(table, rest, panels=False)
    if len(rest) > 2:
        rival, machine = table.domain.rival, table.domain.machine
        color = rival if rival in rest else rest[0]
        x = machine if machine in rest else lead or color  # boxes never hold two machines
    if color and len(distinct(table, color)) > MOST_COLORS:
        color = None
    return ChartSpec("box", x=x, y=y, color=color, facet=facet)


# -- what follows from the places --------------------------------------------------------------------------------------


def _completed(chart: ChartSpec, table: Table, roles: Roles) -> ChartSpec:
    """The chart with the symbols, the fronts, what is drawn alone, and the reason that its columns bring about."""
    keys = [k for k in keys_in_order(table, roles) if k not in (chart.x, chart.y)]
    several = chart.type in ("bar", "line") and chart.metrics[:1] == (chart.y,) and chart.facet is None
    metrics = chart.metrics if several else axes(chart, table) if chart.type == "parallel" else ()
    chart = replace(chart, symbol=None, metrics=metrics, pareto=False, fronts=(), dots=False, ideal=False, only=())
    if chart.type == "scatter" and chart.x and chart.y:
        trials = roles.raw and not {table.domain.rival, *table.domain.repeated_by}.isdisjoint(table.names)
        chart = _with_fronts(chart, table, keys, table.domain.row if trials else "row", roles.lead)
    elif chart.type == "line" and chart.x:
        # Trials along time are of all kinds of work: each is drawn, and lines join those that are alike.
        chart = _with_series(chart, table, keys, narrow=not (roles.raw and chart.x in roles.times), lead=roles.lead)
    else:
        rest = [k for k in telling(table, keys) if k not in (chart.facet, chart.color)]
        if chart.type == "heatmap":
            chart = replace(chart, only=one_value(table, rest, (chart.x, chart.y)))
        elif chart.type == "bar" and chart.x and not is_unique(table, _cell(chart)):
            chart = replace(chart, only=one_value(table, rest, _cell(chart), roles.lead))
        chart = replace(chart, dots=chart.type == "bar" and _would_look_alike(chart, table), reason=_what(chart, table))
    others = [table.label(m) for m in roles.metrics if m not in (chart.x, chart.y, chart.color, *metrics)]
    if others and chart.type in ("scatter", "line", "bar"):
        chart = replace(chart, reason=f"{chart.reason} The table holds {join(others)} as well.")
    return chart


def _with_fronts(chart: ChartSpec, table: Table, keys: list[str], row: str, lead: str | None) -> ChartSpec:
    """A scatter with its symbols and its Pareto front: different work has a front each, or none where it is much."""
    domain = table.domain
    apart = next((k for k in (domain.machine, lead) if k in keys and k not in (chart.color, chart.facet)), None)
    reason = f"{table.label(chart.x)} against {table.label(chart.y)}, one point per {row}."
    chart = replace(chart, symbol=apart or chart.color, reason=reason)
    if not all(table.column(c).better for c in (chart.x, chart.y) if c):
        return chart
    # Neither different work nor what has a panel of its own can be on one front, whatever its colour.
    work = [k for k in keys if k in (*domain.work, *domain.apart, chart.facet)]
    mixed = [k for k in telling(table, work) if k != chart.facet]
    if not mixed:
        return replace(chart, pareto=True)
    values = [table.values(chart.facet) if chart.facet else [None] * len(table.rows), *map(table.values, mixed)]
    rows = Counter(zip(*values, strict=True))
    panels = Counter(panel for panel, *_ in rows)
    alike = not set(mixed) & set(domain.apart) - {domain.machine}  # fronts of two data sets would cross in one panel
    if alike and max(panels.values()) <= _MOST_FRONTS and max(rows.values()) > 1:
        reason += f" Each {' and '.join(map(table.label, mixed))} has a Pareto front of its own."
        return replace(chart, fronts=tuple(mixed), reason=reason)
    differ = "differs" if len(mixed) == 1 else "differ"
    return replace(
        chart, reason=f"{reason} No Pareto front, since {' and '.join(map(table.label, mixed))} {differ} as well."
    )


def _with_series(chart: ChartSpec, table: Table, keys: list[str], narrow: bool, lead: str | None) -> ChartSpec:
    """Lines with their symbols, what is drawn alone, and the ideal course along threads."""
    symbol, only = rest_of_lines(table, keys, chart.x or "", chart.color, chart.facet, lead)
    chart = replace(chart, symbol=symbol or chart.color, only=only if narrow else ())
    chart = replace(chart, ideal=scales(chart, narrowed(table, chart.only)))
    reason = f"{join([table.label(m) for m in chart.metrics or (chart.y or '',)])} along {table.label(chart.x)}."
    if chart.ideal:
        reason += " Dotted: every thread does as much as the first ones."
    if same := alike(table, keys, chart):
        reason += f" Lines that look alike differ in {join([table.label(k) for k in same])}."
    return replace(chart, reason=reason)


def _what(chart: ChartSpec, table: Table) -> str:
    """What a chart shows that has neither fronts nor series, as a sentence."""
    x, y = table.label(chart.x), join([table.label(m) for m in chart.metrics or (chart.y or "",)])
    if chart.type == "parallel":
        known = [table.label(m) for m in chart.metrics if table.column(m).better]
        up = "; better is up" if known else ""
        up += f" for {join(known)}" if 0 < len(known) < len(chart.metrics) else ""
        return f"{y}: a line for each row, an axis for each number{up}."
    return {
        "bar": f"{y} by {x}." if chart.x else f"{y} of each row.",
        "box": f"How {y} is distributed.",
        "histogram": f"How {x} is distributed.",
        "heatmap": f"{table.label(chart.color)} for every {x} and {y}.",
        "table": "Shown as a table.",
    }.get(chart.type, "")


def _would_look_alike(chart: ChartSpec, table: Table) -> bool:
    """Whether some number that is drawn differs too little for bars from zero; a number of trials is no such number."""
    shown = narrowed(table, chart.only)
    columns = [m for m in chart.metrics or (chart.y or "",) if table.column(m).role != "count"]
    return any(hardly_differ(shown, c) for c in columns)


def _cell(chart: ChartSpec) -> list[str]:
    return [c for c in (chart.x, chart.color, chart.facet) if c]


def _parameters(table: Table, roles: Roles) -> list[str]:
    """Parameters with enough values for an axis; where an axis leads, along which two of its values can be seen."""
    keys = [k for k in keys_in_order(table, roles) if k in roles.parameters]
    found = [k for k in keys if len(distinct_numbers(table, k)) >= _VALUES_OF_A_LINE]
    if not roles.lead or roles.lead in found:
        return found
    leading = table.values(roles.lead)
    shared = {k: Counter(v for v, _ in set(zip(table.values(k), leading, strict=True)) if v is not None) for k in found}
    return [k for k in found if sum(n > 1 for n in shared[k].values()) >= _VALUES_OF_A_LINE]


# -- scales ------------------------------------------------------------------------------------------------------------


def _scaled(chart: ChartSpec, table: Table) -> ChartSpec:
    """The chart with logarithmic axes where the numbers ask for them."""
    shown = narrowed(table, chart.only)
    if chart.type == "scatter":
        log_x, log_y = (spans(shown, c, _TWO_DECADES, chart.facet) for c in (chart.x, chart.y))
        return replace(chart, log_x=log_x, log_y=log_y)
    if chart.type == "line" and chart.x:
        numbers = distinct_numbers(shown, chart.x)
        doubling = len(numbers) >= _VALUES_OF_A_LINE and all(v > 0 and math.log2(v).is_integer() for v in numbers)
        axis = table.column(chart.x).role in ("axis", "repetition")
        log_x = doubling or (axis and spans(shown, chart.x, 10, chart.facet))
        # The ideal course is straight where both axes are logarithmic.
        ratio = 1.0 if chart.ideal and log_x else _TWO_DECADES
        log_y = any(spans(shown, m, ratio, chart.facet) for m in chart.metrics or (chart.y,))
        return replace(chart, log_x=log_x, log_y=log_y)
    return chart


def _with_wished_scales(chart: ChartSpec, table: Table, wish: ChartWish) -> ChartSpec:
    if wish.linear:
        return replace(chart, log_x=False, log_y=False)
    for name in ("log_x", "log_y") if chart.type in ("scatter", "line", "bar", "box") else ():
        if getattr(wish, name) and not getattr(chart, name):
            scaled = replace(chart, log_x=chart.log_x or name == "log_x", log_y=chart.log_y or name == "log_y")
            problem = fits(scaled, table)
            chart = replace(chart, reason=f"{problem} {chart.reason}") if problem else scaled
    return chart

"""Which dimension takes which place of a chart: colour, symbol, panels, and which are drawn for one value only."""

from collections import Counter
from collections.abc import Sequence

from mirror.chart.chart_facts import Facts
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.drawable import MOST_COLORS, MOST_FACETS, narrowed
from mirror.query.roles import is_fixed_by
from mirror.table.table import Table
from mirror.table.values import Value, sort_key

_MOST_SYMBOLS = 4  # that can be told apart on lines
_MOST_LINES = 12  # in one panel
_MOST_KEYS_OF_BARS = 3


def cell(chart: ChartSpec) -> list[str]:
    """The columns whose values decide which bar a row has."""
    return [c for c in (chart.x, chart.color, chart.facet) if c]


def telling(table: Table, keys: Sequence[str]) -> list[str]:
    """The keys without those that the others fix: the threads, where each machine has its own number of them."""
    kept = list(keys)
    for key in reversed(keys):
        others = [k for k in kept if k != key]
        if key not in (table.domain.rival, *table.domain.apart) and others and is_fixed_by(table, key, others):
            kept = others
    return kept


def own_panel(table: Table, keys: Sequence[str]) -> str | None:
    """The key that panels must be for; None where the only key is one that a colour tells."""
    if len(keys) == 1 and keys[0] != table.domain.curve:
        return None
    return next((k for k in table.domain.apart if k in keys), None)


def for_lines(facts: Facts, x: str | None, panels: bool = True) -> tuple[str | None, str | None]:
    """(colour, panels) of lines along x: data sets and other different work in panels, then methods.

    Where values of one dimension are held against one another, it has the colours, and methods have panels or symbols,
    where they are not too many. `panels` is whether a dimension that could share an axis may have panels too.
    """
    table, lead, rival = facts.table, facts.lead, facts.rival
    keys = telling(table, [k for k in facts.keys if k != x])
    if lead in keys and facts.few([lead], MOST_COLORS):
        rest = [k for k in keys if k != lead]
        facet = next((k for k in (*facts.domain.apart, rival) if k in rest), None)
        rivals = facts.size(rival) if rival in rest else 0
        if rivals <= (MOST_FACETS if panels and facet == rival else _MOST_SYMBOLS):
            return lead, facet if panels or facet != rival else None
    facet = own_panel(table, keys)
    rest = [k for k in keys if k != facet]
    color = _line_color(facts, rest)
    rest = [k for k in rest if k != color]
    if facet is None and panels and len(rest) > 1:
        facet = next(iter(facts.few(rest, MOST_FACETS)), None)
    return color, facet


def rest_of_lines(
    facts: Facts, chart: ChartSpec, keys: Sequence[str]
) -> tuple[str | None, tuple[tuple[str, Value], ...]]:
    """(symbol, only) of lines with their colour and panels: what makes too many lines is drawn for one value."""
    table, lead, places = facts.table, facts.lead, (chart.x, chart.color, chart.facet)
    rest = [k for k in telling(table, keys) if k not in places]
    few = facts.few(rest, _MOST_SYMBOLS)
    first = (lead, facts.rival if lead else None, facts.domain.machine)
    symbol = next((k for k in first if k in few), next(iter(few), None))
    only = one_value(table, [k for k in rest if k != symbol], places, lead)
    if symbol and symbol != lead and most_lines(narrowed(table, only), chart.facet, chart.color, symbol) > _MOST_LINES:
        return None, one_value(table, rest, places, lead)
    return symbol, only


def alike(table: Table, keys: Sequence[str], chart: ChartSpec) -> list[str]:
    """The keys in which lines of one look differ."""
    shown = narrowed(table, chart.only)
    told = [c for c in (chart.facet, chart.color, chart.symbol) if c]
    return [k for k in keys if k not in told and not is_fixed_by(shown, k, told)]


def for_bars(
    facts: Facts, keys: Sequence[str], panels: bool = True, lead: str | None = None
) -> tuple[str | None, str | None, str | None]:
    """(category, colour, panels) of bars that differ in the keys; more than three of them find no place.

    Methods are told by colour, or, where they are too many or others lead (see `for_lines`), by the category.
    """
    few, apart = facts.few(keys, MOST_COLORS), facts.domain.apart
    rival = facts.rival if facts.rival in keys else None
    if len(keys) <= 1:
        return (keys[0] if keys else None), (rival if rival in few else None), None
    x: str | None = None
    if lead in few:
        x, color = rival, lead
    elif rival and rival not in few:
        x, color = rival, next(iter(few), next(k for k in keys if k != rival))
    else:
        color = rival or next((k for k in reversed(keys) if k in few), keys[-1])
    rest = [k for k in keys if k not in (x, color)]
    panelled = (*apart, *reversed(rest)) if len(keys) <= _MOST_KEYS_OF_BARS else apart
    places = [k for k in panelled if k in rest and (k in apart or facts.few([k], MOST_FACETS))]
    facet = places[0] if panels and places and (x or len(rest) > 1) else None
    return x or next(k for k in rest if k != facet), color, facet


def for_points(facts: Facts, keys: Sequence[str], lead: str | None = None) -> str | None:
    """The colour of points: methods, since they keep theirs; what leads, machines, data sets, then what has few."""
    first = (facts.rival, lead, facts.domain.machine, facts.domain.dataset)
    return next((k for k in (*first, *facts.few(keys, MOST_COLORS)) if k in keys), None)


def one_value(
    table: Table, columns: Sequence[str], places: Sequence[str | None] = (), lead: str | None = None
) -> tuple[tuple[str, Value], ...]:
    """A value for each of the columns: the usual one of the catalogue, else the one that leaves the most to draw.

    A column that has only one value left, once those before it are fixed, is left out.

    Args:
        table: the result.
        columns: what is drawn for one value only.
        places: the columns that have places: as many of their combinations as possible should be left, then rows.
        lead: the column of which, before all, as many values as possible must be left.
    """
    usual = table.domain.usual
    only: list[tuple[str, Value]] = []
    for column in columns:
        left = narrowed(table, tuple(only))
        values = left.values(column)
        combinations = list(zip(*(left.values(c) for c in places if c), strict=True)) or [()] * len(values)
        often = Counter(v for v in values if v is not None)
        several = Counter(v for v, _ in set(zip(values, combinations, strict=True)))
        leads = Counter(v for v, _ in set(zip(values, left.values(lead), strict=True))) if lead else Counter()
        if len(often) > 1:
            value: Value | None = usual.get(column)
            if value is None or value not in often or leads[value] < max(leads[v] for v in often):
                value = min(often, key=lambda v: (-leads[v], -several[v], -often[v], sort_key(v)))
            only.append((column, value))
    return tuple(only)


def most_lines(table: Table, facet: str | None, *series: str | None) -> int:
    """The number of lines in the panel that has the most."""
    columns = [table.values(c) if c else [None] * len(table.rows) for c in (facet, *series)]
    return max(Counter(panel for panel, *_ in set(zip(*columns, strict=True))).values(), default=0)


def _line_color(facts: Facts, keys: Sequence[str]) -> str | None:
    """Methods; else of the first two dimensions that have few values the one with more.

    The machine comes last: it is told by the symbol.
    """
    if facts.rival in keys:
        return facts.rival
    few = facts.few(keys, MOST_COLORS)
    first = [k for k in few if k != facts.domain.machine][:2] or few or list(keys)
    return max(first, key=facts.size, default=None)

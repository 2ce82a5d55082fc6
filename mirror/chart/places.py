"""Which dimension takes which place of a chart: colour, symbol, panels, and which are drawn for one value only."""

from collections import Counter
from collections.abc import Sequence

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.drawable import MOST_COLORS, MOST_FACETS, narrowed
from mirror.chart.roles import Roles, compared, distinct, is_fixed_by, sort_key
from mirror.table.table import Table, Value

_MOST_SYMBOLS = 4  # that can be told apart on lines
_MOST_LINES = 12  # in one panel
_MOST_KEYS_OF_BARS = 3


def keys_in_order(table: Table, roles: Roles) -> list[str]:
    """The dimensions in which the rows differ, as the columns stand: what was asked for comes first."""
    keys = set(compared(table, roles))
    return [c for c in dict.fromkeys(table.names) if c in keys]


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


def for_lines(
    table: Table, keys: Sequence[str], panels: bool = True, lead: str | None = None
) -> tuple[str | None, str | None]:
    """(colour, panels) of lines that differ in the keys: data sets and other different work in panels, then methods.

    Args:
        table: the result.
        keys: the dimensions besides x.
        panels: whether a dimension that could share an axis may have panels too.
        lead: the dimension whose values are held against one another: it has the colours, and methods have panels or
            symbols, where they are not too many.
    """
    keys, rival, apart = telling(table, keys), table.domain.rival, table.domain.apart
    if lead in keys and len(distinct(table, lead)) <= MOST_COLORS:
        rest = [k for k in keys if k != lead]
        facet = next((k for k in (*apart, rival) if k in rest), None)
        rivals = len(distinct(table, rival)) if rival in rest else 0
        if rivals <= (MOST_FACETS if panels and facet == rival else _MOST_SYMBOLS):
            return lead, facet if panels or facet != rival else None
    facet = own_panel(table, keys)
    rest = [k for k in keys if k != facet]
    color = _line_color(table, rest)
    rest = [k for k in rest if k != color]
    if facet is None and panels and len(rest) > 1:
        facet = next((k for k in rest if len(distinct(table, k)) <= MOST_FACETS), None)
    return color, facet


def rest_of_lines(
    table: Table, keys: Sequence[str], x: str, color: str | None, facet: str | None, lead: str | None = None
) -> tuple[str | None, tuple[tuple[str, Value], ...]]:
    """(symbol, only) of lines along x with this colour and panels: what makes too many lines is drawn for one value."""
    rest = [k for k in telling(table, keys) if k not in (color, facet)]
    few = [k for k in rest if len(distinct(table, k)) <= _MOST_SYMBOLS]
    first = (lead, *([table.domain.rival] if lead else []), table.domain.machine)
    symbol = next((k for k in first if k in few), next(iter(few), None))
    only = one_value(table, [k for k in rest if k != symbol], (x, color, facet), lead)
    if symbol and symbol != lead and most_lines(narrowed(table, only), facet, color, symbol) > _MOST_LINES:
        return None, one_value(table, rest, (x, color, facet), lead)
    return symbol, only


def alike(table: Table, keys: Sequence[str], chart: ChartSpec) -> list[str]:
    """The keys in which lines of one look differ."""
    shown = narrowed(table, chart.only)
    told = [c for c in (chart.facet, chart.color, chart.symbol) if c]
    return [k for k in keys if k not in told and not is_fixed_by(shown, k, told)]


def for_bars(
    table: Table, keys: Sequence[str], panels: bool = True, lead: str | None = None
) -> tuple[str | None, str | None, str | None]:
    """(category, colour, panels) of bars that differ in the keys; more than three of them find no place.

    Methods are told by colour, or, where they are too many or others lead (see `for_lines`), by the category.
    """
    few = [k for k in keys if len(distinct(table, k)) <= MOST_COLORS]
    apart, rival = table.domain.apart, next((k for k in keys if k == table.domain.rival), None)
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
    places = [k for k in panelled if k in rest and (k in apart or len(distinct(table, k)) <= MOST_FACETS)]
    facet = places[0] if panels and places and (x or len(rest) > 1) else None
    return x or next(k for k in rest if k != facet), color, facet


def for_points(table: Table, keys: Sequence[str], lead: str | None = None) -> str | None:
    """The colour of points: methods, since they keep theirs; what leads, machines, data sets, then what has few."""
    few = (k for k in keys if len(distinct(table, k)) <= MOST_COLORS)
    first = (table.domain.rival, lead, table.domain.machine, table.domain.dataset)
    return next((k for k in first if k in keys), None) or next(few, None)


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


def _line_color(table: Table, keys: Sequence[str]) -> str | None:
    """Methods; else of the first two dimensions that have few values the one with more.

    The machine comes last: it is told by the symbol.
    """
    if table.domain.rival in keys:
        return table.domain.rival
    few = [k for k in keys if len(distinct(table, k)) <= MOST_COLORS]
    first = [k for k in few if k != table.domain.machine][:2] or few or list(keys)
    return max(first, key=lambda k: len(distinct(table, k)), default=None)

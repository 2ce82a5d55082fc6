"""The rules that choose a chart, in the order in which they are tried: the first that applies and can be drawn wins."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.configurations import repeats
from mirror.chart.drawable import MOST_METRICS, fits, narrowed
from mirror.chart.encode import MOST_BARS_OF_ROWS, encoded, ranked_bars
from mirror.chart.facts import Facts

MOST_TILES = 4
_MOST_CELLS_OF_BARS = 36  # above 6 x 6 a heatmap is easier to read than grouped bars
_REPEATS_OF_A_BOX = 5


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        name: what kind of result it is for.
        applies: whether a result is of that kind.
        encode: its chart; one that cannot be drawn leaves the result to the rules behind.
        why: why that chart.
    """

    name: str
    applies: Callable[[Facts], bool]
    encode: Callable[[Facts], ChartSpec]
    why: str


def chosen(facts: Facts) -> ChartSpec:
    """The chart of a result."""
    charts = (rule.encode(facts) for rule in RULES if rule.applies(facts))
    return next(chart for chart in charts if not fits(chart, facts.table))


# -- when rules apply --------------------------------------------------------------------------------------------------


def _of_trials(facts: Facts) -> bool:
    """Rows as they are; but edited SQL that starts with a parameter or a time asks for a course."""
    course = facts.shape is None and facts.table.names[0] in (*facts.parameters, *facts.times)
    return facts.roles.raw and not course


def _few_values_first(facts: Facts) -> bool:
    first = facts.table.names[0]
    few = first in facts.roles.parameters and first not in facts.parameters and first in facts.keys
    return facts.shape == "groups" and few and not (first == facts.lead and facts.parameters)


def _repeated(facts: Facts) -> bool:
    unordered = facts.roles.raw and not facts.times and len(facts.keys) <= 2
    return unordered and repeats(facts.table, facts.keys) >= _REPEATS_OF_A_BOX


def _joined(facts: Facts) -> bool:
    """Whether any line would join two points: settings that are no grid may leave each one alone."""
    chart = encoded("line", facts)
    shown = narrowed(facts.table, chart.only)
    columns = [shown.values(c) for c in (chart.facet, chart.color, chart.symbol) if c]
    series = list(zip(*columns, strict=True)) or [()] * len(shown.rows)
    points = Counter(of for of, _ in set(zip(series, shown.values(chart.x or ""), strict=True)))
    return max(points.values(), default=0) > 1


# -- charts ------------------------------------------------------------------------------------------------------------


def _table(reason: str) -> Callable[[Facts], ChartSpec]:
    return lambda _: ChartSpec("table", reason=reason)


def _without_numbers(facts: Facts) -> ChartSpec:
    names = " or ".join(map(facts.table.label, facts.asked))
    why = f"No row holds a number of {names}." if names else "No column holds numbers to draw."
    return ChartSpec("table", reason=why)


def _one_row(facts: Facts) -> ChartSpec:
    if len(facts.metrics) <= MOST_TILES:
        return ChartSpec("tiles", reason="One row: its numbers.")
    return ChartSpec("table", reason=f"One row with {len(facts.metrics)} numbers is easiest to read as a table.")


def _many_numbers(facts: Facts) -> ChartSpec:
    why = f"The rows hold {len(facts.metrics)} numbers: choose x and y to draw two of them."
    return ChartSpec("table", reason=why)


def _several(facts: Facts) -> ChartSpec:
    return encoded("bar" if len(facts.table.rows) <= MOST_BARS_OF_ROWS else "parallel", facts)


def _distribution(facts: Facts) -> ChartSpec:
    return encoded("box" if facts.keys else "histogram", facts)


_scatter, _line, _bars, _heatmap = (partial(encoded, kind) for kind in ("scatter", "line", "bar", "heatmap"))

RULES = (
    Rule(
        "listed trials", lambda f: f.shape == "rows", _table("Whole trials are listed as a table."),
        "Whole rows were asked for, not a number of them.",
    ),
    Rule("no numbers", lambda f: not f.metrics, _without_numbers, "There is nothing to draw."),
    Rule("one row", lambda f: len(f.table.rows) == 1, _one_row, "A single number needs no axis."),
    Rule(
        "many numbers of edited SQL", lambda f: f.shape is None and len(f.metrics) > MOST_METRICS, _many_numbers,
        "Nobody knows which of them are meant.",
    ),
    Rule(
        "Pareto front", lambda f: f.shape == "front", _scatter,
        "What two metrics trade against each other, however many parameters tell the points apart.",
    ),
    Rule("ranking", lambda f: f.shape in ("best", "ranking"), ranked_bars, "The order is the answer."),
    Rule("counts and changes", lambda f: f.shape in ("count", "change"), _bars, "One number for each name."),
    Rule(
        "few values first", _few_values_first, _bars,
        "What was asked for first has two values, too few for a line: no other takes its place.",
    ),
    Rule("two metrics of trials", lambda f: _of_trials(f) and len(f.metrics) == 2, _scatter, "A trade-off."),
    Rule(
        "several metrics of trials", lambda f: _of_trials(f) and len(f.metrics) > 2, _several,
        "A panel for each metric where the rows are few, else an axis for each.",
    ),
    Rule("repeats", _repeated, _distribution, "How values spread says more than each of them."),
    Rule(
        "grid of two parameters", lambda f: len(f.keys) == len(f.parameters) == 2, _heatmap,
        "A cell for each pair of values.",
    ),
    Rule(
        "course", lambda f: bool(f.times or (f.parameters and _joined(f))), _line,
        "Numbers along a time or a parameter are read as a line.",
    ),
    Rule("several metrics", lambda f: len(f.metrics) > 2, _several, "Each has a scale of its own."),
    Rule(
        "two metrics", lambda f: len(f.metrics) == 2 and len(f.table.rows) > 2, _scatter,
        "Two points show no trade-off.",
    ),
    Rule(
        "large grid of names", lambda f: len(f.keys) == 2 and math.prod(map(f.size, f.keys)) > _MOST_CELLS_OF_BARS,
        _heatmap, "So many bars side by side are hard to read.",
    ),
    Rule("names", lambda f: bool(f.keys), _bars, "One number for each name."),
    Rule(
        "all else", lambda _: True,
        _table("No column names the rows or puts them in order, so there is no axis to draw on."),
        "There is no axis.",
    ),
)  # fmt: skip

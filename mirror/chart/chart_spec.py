"""ChartSpec: which chart, of which columns of a table."""

from dataclasses import dataclass

from mirror.query.spec import ChartType
from mirror.table.values import Value


@dataclass(frozen=True)
class ChartSpec:
    """Which chart, of which columns of the table.

    Attributes:
        type: kind of chart; `table` means that none fits, and `reason` says why.
        x, y, color, symbol, facet: column names, or None. For a heatmap `color` is the value.
        metrics: for bars and lines several columns with a panel and a scale each, the first of them y; for `parallel`
            the columns of the axes.
        log_x, log_y: logarithmic axes.
        pareto: draw the Pareto front of x and y.
        fronts: columns whose values are different work within a panel: a Pareto front for each, instead of one.
        dots: dots instead of bars, where bars from zero would hardly differ.
        ideal: draw how lines along threads would run if twice the threads did twice the work.
        only: (column, value) of what would make too many lines: other values are not drawn, rows without one are.
        reason: why this chart, or why none.
    """

    type: ChartType
    x: str | None = None
    y: str | None = None
    color: str | None = None
    symbol: str | None = None
    facet: str | None = None
    metrics: tuple[str, ...] = ()
    log_x: bool = False
    log_y: bool = False
    pareto: bool = False
    fronts: tuple[str, ...] = ()
    dots: bool = False
    ideal: bool = False
    only: tuple[tuple[str, Value], ...] = ()
    reason: str = ""

"""Which chart shows a result: what was wished where it can be drawn, else the first rule that fits."""

from dataclasses import replace

from mirror.chart.chart_facts import facts_of
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.drawable import MOST_BANDS, MOST_WHISKERS, drawn_part, fits
from mirror.chart.encode import encoded
from mirror.chart.finish import completed
from mirror.chart.left_out import left_out
from mirror.chart.places import most_lines
from mirror.chart.rules import MOST_TILES, chosen
from mirror.query.filter_words import no_rows
from mirror.query.roles import roles_of, spread_in_words
from mirror.query.spec import ChartWish, Question
from mirror.table.table import Column, Table
from mirror.table.values import Value
from mirror.table.wording import capital


def choose(table: Table, spec: Question | None, wish: ChartWish | None = None) -> ChartSpec:
    """The chart of a result.

    Without a spec (edited SQL) the columns say what they are for. `reason` says why this chart, why not the wished one,
    and what it leaves out.
    """
    if not table.rows:
        return ChartSpec("table", reason=no_rows(spec))
    wish = wish or (spec.chart if spec else ChartWish())
    facts = facts_of(table, spec)
    chart = chosen(facts)
    # The distribution of what has no groups is told by a histogram.
    kind = "histogram" if wish.type == "box" and not facts.keys else wish.type
    if kind and kind != chart.type:
        wished = encoded(kind, facts)
        problem = fits(wished, table)
        chart = replace(chart, reason=f"{problem} {chart.reason}") if problem else wished
    chart = replace(chart, dots=chart.dots and wish.type != "bar")
    return _told(_with_wished_scales(chart, table, wish), table, spec)


def redrawn(chart: ChartSpec, table: Table, spec: Question | None) -> ChartSpec:
    """A chart whose type, columns or scales a person has changed, with what follows from them as `choose` has it."""
    return _told(completed(chart, facts_of(table, spec)), table, spec)


def tiles(table: Table, spec: Question | None = None) -> list[tuple[Column, Value | None]]:
    """(column, value) of the number tiles of a one-row result: the metrics, then what names the row; four at most."""
    roles = roles_of(table, spec)
    named = [d for d in roles.dimensions if not table.values(d).empty]
    return [(table.column(c), table.values(c)[0]) for c in (*roles.metrics, *named)][:MOST_TILES]


def _told(chart: ChartSpec, table: Table, spec: Question | None) -> ChartSpec:
    dots = "Dots, since bars from zero would look alike." if chart.dots else ""
    told = [chart.reason, dots]
    if chart.type not in ("table", "tiles") and not fits(chart, table):
        told += [_how_far(chart, drawn_part(chart, table)), left_out(chart, table, edited=spec is None)]
    return replace(chart, reason=capital(" ".join(filter(None, told))))


def _how_far(chart: ChartSpec, shown: Table) -> str:
    """What the whiskers and bands of a chart mean, as a sentence; empty where it has none."""
    if chart.type not in ("scatter", "line", "bar"):
        return ""
    lines = most_lines(shown, chart.facet, chart.color, chart.symbol)
    if chart.type == "line" and lines > MOST_BANDS and len(shown.values(chart.x or "").different) > MOST_WHISKERS:
        return ""
    found = (spread_in_words(shown, m) for m in chart.metrics or (chart.x or "", chart.y or "") if m in shown.names)
    words = next(filter(None, found), "")
    return f"Whiskers or bands show {words}." if words else ""


def _with_wished_scales(chart: ChartSpec, table: Table, wish: ChartWish) -> ChartSpec:
    if wish.linear:
        return replace(chart, log_x=False, log_y=False)
    for name in ("log_x", "log_y") if chart.type in ("scatter", "line", "bar", "box") else ():
        if getattr(wish, name) and not getattr(chart, name):
            scaled = replace(chart, log_x=chart.log_x or name == "log_x", log_y=chart.log_y or name == "log_y")
            problem = fits(scaled, table)
            chart = replace(chart, reason=f"{problem} {chart.reason}") if problem else scaled
    return chart

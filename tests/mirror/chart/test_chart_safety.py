"""Charts of results that nobody has tidied: markup in values and names, numbers that are none, wide and odd tables."""

import json
import math

import pytest

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.choose import choose, redrawn
from mirror.chart.draw.figure import draw
from mirror.chart.drawable import fits
from mirror.query.spec import ChartType, ChartWish
from mirror.schema.result_columns import result_table
from mirror.table.table import Table

MARKUP = (
    "<b>bold</b><script>alert(1)</script>",
    '<a href="javascript:alert(1)">x</a>',
    "<a href=javascript:alert(1)>y</a>",
    "%{x} %{customdata[0]} %{text}",
    "$\\alpha$",
    "&lt;b&gt;",
    "a" * 5_000,
    "two\nlines\x00\u202e",
    "",
    " ",
)
NAMES = ('na"me', "na'me", "<i>name</i>", "%{x}", "name with; DROP TABLE trials")
KINDS: tuple[ChartType, ...] = ("scatter", "line", "bar", "box", "histogram", "heatmap", "parallel")


def hostile(numbers: int = 1) -> Table:
    """Markup as values of two columns, under names that are markup too, with a number of numeric columns."""
    columns = (*NAMES[:2], "batch_size", *(f"{NAMES[2]} {i}" for i in range(numbers)))
    rows = tuple(
        (a, b, 2**k, *(0.5 + k + i for i in range(numbers))) for a in MARKUP for b in MARKUP[:3] for k in range(3)
    )
    return result_table(columns, rows)


def texts(value: object) -> list[str]:
    """Every text of a figure as JSON."""
    if isinstance(value, dict):
        return [t for k, v in value.items() for t in (k, *texts(v))]
    if isinstance(value, list):
        return [t for v in value for t in texts(v)]
    return [value] if isinstance(value, str) else []


def shown(table: Table, chart: ChartSpec, columns: int | None = None) -> list[str]:
    drawn = draw(table, chart, columns)
    assert drawn is not None
    data = json.loads(drawn.to_json())
    del data["layout"]["template"]
    return texts(data)


def is_harmless(text: str) -> bool:
    if text == "%{text}":  # the labels of a heatmap, which are numbers
        return True
    plain = text.replace("<br>", "").replace("<b>", "").replace("</b>", "")
    return not any(c in plain for c in "<>$\n\u202e\x00")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [None, 1])
def test_markup_shows_literally_in_every_chart(kind: ChartType, columns: int | None) -> None:
    table = hostile(numbers=3 if kind == "parallel" else 2)
    a, b, batch, y, *_ = table.names
    if kind in ("bar", "heatmap"):  # one row per cell
        table = result_table(table.names, table.rows[:: len(MARKUP)])
    chart = {
        "scatter": ChartSpec("scatter", x=batch, y=y, color=a, symbol=b),
        "line": ChartSpec("line", x=batch, y=y, color=b, symbol=b, facet=a),
        "bar": ChartSpec("bar", y=y, color=a),
        "box": ChartSpec("box", x=a, y=y, color=b),
        "histogram": ChartSpec("histogram", x=y, color=a, facet=b),
        "heatmap": ChartSpec("heatmap", x=a, y=b, color=y),
        "parallel": ChartSpec("parallel", color=a, facet=b, metrics=table.names[3:]),
    }[kind]
    chart = redrawn(chart, table, None)
    assert fits(chart, table) == ""
    found = shown(table, chart, columns)
    assert "hovertemplate" not in found
    assert [t for t in found if not is_harmless(t)] == []
    assert any("&lt;" in t for t in found)
    # A template would only be read in a template; what names things is cut to what a legend can hold.
    assert max(len(t) for t in found if "<br>" not in t) < 200


@pytest.mark.parametrize("kind", KINDS)
def test_any_wish_is_answered_whatever_the_values_are(kind: ChartType) -> None:
    nan, inf = math.nan, math.inf
    rows = (
        (nan, inf, None, "x", True),
        (1.0, -inf, None, None, False),
        (inf, 2.0, None, "y", None),
        (0.0, 0.0, None, None, None),
    )
    table = result_table(("auc", "latency_us", "memory_mb", "method", "is_baseline"), rows)
    for wish in (ChartWish(kind), ChartWish(kind, log_x=True, log_y=True)):
        chart = choose(table, None, wish)
        assert chart.reason.endswith(".")
        drawn = draw(table, chart)
        if drawn is not None:
            text = drawn.to_json()
            assert "NaN" not in text
            assert "Infinity" not in text


def test_columns_without_any_value() -> None:
    empty = result_table(("method", "auc", "memory_mb"), ((None, None, None), (None, None, None)))
    assert choose(empty, None).type == "table"
    assert choose(result_table(("auc", "latency_us"), ((None, 1.0), (None, 2.0))), None).type == "table"


def test_numbers_that_are_not_finite_are_left_out_and_counted() -> None:
    table = result_table(("method", "memory_mb", "auc"), (("a", 1.0, 0.5), ("b", math.nan, 0.6), ("c", 2.0, math.inf)))
    chart = choose(table, None)
    assert (chart.type, [list(t.x) for t in draw(table, chart).data if t.mode == "markers"]) == ("scatter", [[1.0]])
    assert "2 rows have no memory or no AUC to draw." in chart.reason


def test_a_thousand_rows_of_a_thousand_names_stay_readable() -> None:
    rows = tuple((f"method {i}", f"data set {i % 40}", float(i + 1), 1000.0 - i) for i in range(1_000))
    table = result_table(("method", "dataset", "memory_mb", "latency_us"), rows)
    for kind in KINDS:
        chart = choose(table, None, ChartWish(kind))
        drawn = draw(table, chart)
        if drawn is None:
            continue
        assert sum(bool(t.showlegend) for t in drawn.data) <= 11, kind
        assert len([a for a in drawn.layout.annotations if a.text]) <= 6, kind
        assert drawn.layout.height <= 2 * 1_400, kind


def test_columns_of_one_name() -> None:
    table = result_table(("method", "auc", "auc"), (("a", 0.5, 0.9), ("b", 0.25, 0.1)))
    chart = choose(table, None)
    assert (chart.type, chart.y, chart.metrics) == ("bar", "auc", ())
    drawn = draw(table, chart)
    assert sorted(v for t in drawn.data for v in t.x) == [0.25, 0.5]
    assert drawn.data[0].hovertext[0].count("AUC") == 2


@pytest.mark.parametrize("name", NAMES)
def test_a_hint_for_edited_sql_quotes_the_column(name: str) -> None:
    rows = tuple((s, f"m{c}", f"d{d}", 0.5) for s in (1, 2, 3) for d in range(2) for c in range(30))
    chart = choose(result_table(("step", "method", name, "auc"), rows), None, ChartWish("heatmap"))
    assert (chart.type, chart.only[0][0]) == ("heatmap", name)
    quoted = '"' + name.replace('"', '""') + '"'
    assert f"WHERE {quoted} = 'd1'" in chart.reason


def test_ticks_are_the_numbers_that_people_wrote() -> None:
    """Sums of tenths and numbers that were float32 once."""
    sums = result_table(
        ("compression", "auc"), ((0.1 + 0.2, 0.5), (0.10000000149011612, 0.6), (0.7000000000000001, 0.7))
    )
    assert list(draw(sums, choose(sums, None)).layout.xaxis.ticktext) == ["0.1", "0.3", "0.7"]
    bars = ChartSpec("bar", x="compression", y="auc")
    assert list(draw(sums, bars).layout.xaxis.ticktext) == ["0.1", "0.3", "0.7"]
    named = ChartSpec("scatter", x="auc", y="auc2", color="compression")
    table = result_table(("compression", "auc", "auc2"), tuple((c, a, a) for c, a in sums.rows))
    assert [t.name for t in draw(table, named).data] == ["compression 0.1", "compression 0.3", "compression 0.7"]

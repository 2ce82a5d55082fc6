"""The rules of the chart, one by one: what makes each fit, and what just misses it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from result_tables import AUC, MEAN_AUC, MEAN_LATENCY, MEMORY

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.choose import choose
from mirror.chart.drawable import fits
from mirror.query.spec import ChartWish, Filter, Metric, QuerySpec
from mirror.schema.result_columns import result_table
from mirror.table.table import Table


def table(columns: str, *rows: tuple) -> Table:
    return result_table(tuple(columns.split()), rows)


def groups(*dimensions: str, metrics: tuple[Metric, ...] = (MEAN_LATENCY,)) -> QuerySpec:
    return QuerySpec("groups", metrics, dimensions)


@dataclass(frozen=True)
class Case:
    """A result with its spec (and wish), and what must be true of its chart."""

    table: Table
    spec: QuerySpec | None
    holds: Callable[[ChartSpec], bool]
    wish: ChartWish | None = None


METHODS = ("dense", "hashed", "small_dim")
THREE = (MEAN_AUC, Metric("memory_mb", "avg"), Metric("latency_us", "avg"))


def several_metrics(methods: int) -> Table:
    rows = ((f"m{i}", 0.5 + i / 100, 1.0 + i, 100.0 - i, 3) for i in range(methods))
    return table("method auc memory_mb latency_us n", *rows)


def lines(methods: int, others: int, xs: int = 3) -> Table:
    return table(
        "batch_size method embedding_dim latency_us n",
        *((2**b, f"m{m}", 8 * (d + 1), 1.0, 3) for b in range(xs) for m in range(methods) for d in range(others)),
    )


def courses(datasets: int, dims: int = 1) -> Table:
    return table(
        "step dataset embedding_dim compression auc n",
        *(
            (s, f"d{d}", 8 * (e + 1), c, 0.5, 3)
            for s in (1, 2, 3)
            for d in range(datasets)
            for e in range(dims)
            for c in (0.1, 0.5)
        ),
    )


def grid(first: int, second: int, columns: str = "op dataset") -> Table:
    return table(f"{columns} latency_us n", *((f"a{i}", f"b{j}", 1.0, 3) for i in range(first) for j in range(second)))


def numbers(first: int, second: int, columns: str = "batch_size embedding_dim") -> Table:
    return table(f"{columns} latency_us n", *((2**i, 8 * (j + 1), 1.0, 3) for i in range(first) for j in range(second)))


def scaled(start: float, *methods: str, column: str = "speedup") -> Table:
    return table(
        f"threads method {column} n",
        *((t, m, start * t**0.9 if i else start * t**0.8, 3) for t in (1, 2, 4) for i, m in enumerate(methods)),
    )


def is_a(kind: str) -> Callable[[ChartSpec], bool]:
    return lambda chart: chart.type == kind


def places(**wanted: object) -> Callable[[ChartSpec], bool]:
    return lambda chart: {k: getattr(chart, k) for k in wanted} == wanted


def in_words(text: str) -> Callable[[ChartSpec], bool]:
    return lambda chart: text in chart.reason


POINTS = QuerySpec("points", (MEMORY, AUC), ("method",))
TRADE_OFF = table("method memory_mb auc", ("dense", 99.0, 0.8), ("hashed", 1.0, 0.7), ("small_dim", 5.0, 0.6))

CASES = {
    # -- no rows, one row --
    "no rows: the filter that emptied it": Case(
        table("method auc"),
        replace(groups("method"), filters=(Filter("compression", "=", (0.3,)),)),
        in_words("No rows match compression = 0.3."),
    ),
    "no rows, no filter": Case(table("method auc"), groups("method"), in_words("No rows match.")),
    "one row, four numbers: tiles": Case(table("a b c d", (1.5, 2.5, 3.5, 4.5)), None, is_a("tiles")),
    "one row, five numbers": Case(table("a b c d e", (1.5, 2.5, 3.5, 4.5, 5.5)), None, is_a("table")),
    "two rows are no tiles": Case(table("method auc", ("a", 0.5), ("b", 0.6)), None, is_a("bar")),
    # -- distributions --
    "five repeats: box": Case(
        table("method latency_us", *((m, 1.0 + i) for m in "ab" for i in range(5))), None, is_a("box")
    ),
    "four repeats are no box": Case(
        table("method latency_us", *((m, 1.0 + i) for m in "ab" for i in range(4))), None, is_a("bar")
    ),
    "repeats without a group: histogram": Case(
        table("latency_us", *((1.0 + i,) for i in range(5))), None, places(type="histogram", x="latency_us")
    ),
    "four numbers without a group": Case(table("latency_us", *((1.0 + i,) for i in range(4))), None, is_a("table")),
    "a distribution that was asked for": Case(
        TRADE_OFF, POINTS, places(type="box", x="method", y="memory_mb"), ChartWish("box")
    ),
    "a distribution that was asked for, without a group": Case(
        table("seed latency_us", (0, 1.0), (1, 2.0)), None, is_a("histogram"), ChartWish("box")
    ),
    # -- along time --
    "time: line": Case(
        table("day auc", ("2026-01-01", 0.5), ("2026-01-02", 0.6)), None, places(type="line", x="day", log_x=False)
    ),
    "months are times": Case(table("month revenue", ("2026-01", 5.5), ("2026-02", 6.5)), None, is_a("line")),
    "one time is no course": Case(
        table("day method auc", ("2026-01-01", "a", 0.5), ("2026-01-01", "b", 0.6)), None, is_a("bar")
    ),
    # -- along a parameter --
    "three values: line with a logarithmic axis for powers of two": Case(
        lines(2, 1), groups("batch_size", "method"), places(type="line", x="batch_size", color="method", log_x=True)
    ),
    "two values are no line": Case(lines(2, 1, xs=2), groups("batch_size", "method"), is_a("bar")),
    "other numbers have a linear axis": Case(
        table("threads latency_us n", (1, 1.0, 3), (2, 1.0, 3), (3, 1.0, 3)),
        groups("threads"),
        places(type="line", log_x=False),
    ),
    "what was asked for first has two values: bars, not a line along another": Case(
        table(
            "threads method batch_size latency_us n",
            *((t, m, b, 1.0 + b, 3) for t in (1, 2) for m in METHODS for b in (1, 2, 4)),
        ),
        groups("threads", "method", "batch_size"),
        is_a("bar"),
    ),
    "speedup over fewer threads: ideal line": Case(
        scaled(1.0, "a", "b"), groups("threads", "method", metrics=(Metric("speedup", "avg"),)), places(ideal=True)
    ),
    "speedup over the baseline: none": Case(
        scaled(1.5, "a", "b"), groups("threads", "method", metrics=(Metric("speedup", "avg"),)), places(ideal=False)
    ),
    "throughput along threads: ideal line": Case(
        scaled(1.5, "a", column="samples_per_s"),
        groups("threads", metrics=(Metric("samples_per_s", "avg"),)),
        places(ideal=True),
    ),
    "AUC along threads: none": Case(
        scaled(0.1, "a", column="auc"), groups("threads", metrics=(MEAN_AUC,)), places(ideal=False)
    ),
    "throughput along batch sizes: none": Case(
        table("batch_size samples_per_s n", (1, 1.0, 3), (2, 2.0, 3), (4, 4.0, 3)),
        groups("batch_size", metrics=(Metric("samples_per_s", "avg"),)),
        places(ideal=False),
    ),
    "five lines have no ideal each": Case(
        scaled(1.0, *"abcde", column="samples_per_s"),
        groups("threads", "method", metrics=(Metric("samples_per_s", "avg"),)),
        places(ideal=False),
    ),
    # -- lines that can be read --
    "data sets have panels, then the next dimension has the colour": Case(
        courses(2), groups("step", "dataset", "compression", metrics=(MEAN_AUC,)),
        places(facet="dataset", color="compression", only=()),
    ),
    "data sets alone share a panel": Case(
        table("step dataset auc n", *((s, d, 0.5, 3) for s in (1, 2, 3) for d in "ab")),
        groups("step", "dataset", metrics=(MEAN_AUC,)),
        places(facet=None, color="dataset"),
    ),
    "the dimension with more values has the colour, the other the symbol": Case(
        courses(2, dims=3), groups("step", "dataset", "embedding_dim", "compression", metrics=(MEAN_AUC,)),
        places(facet="dataset", color="embedding_dim", symbol="compression", only=()),
    ),
    "seven data sets: six panels, and how to ask for another": Case(
        courses(7), groups("step", "dataset", "compression", metrics=(MEAN_AUC,)),
        in_words("6 of 7 panels by data set are drawn; add “on d6” for another."),
    ),
    "six data sets are all drawn": Case(
        courses(6), groups("step", "dataset", "compression", metrics=(MEAN_AUC,)),
        lambda chart: "panels" not in chart.reason,
    ),
    "twelve lines are drawn": Case(
        table(
            "step dataset embedding_dim compression auc n",
            *(
                (s, d, e, c, 0.5, 3)
                for s in (1, 2, 3) for d in "ab" for e in (8, 16) for c in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
            ),
        ),
        groups("step", "dataset", "embedding_dim", "compression", metrics=(MEAN_AUC,)),
        places(color="compression", symbol="embedding_dim", only=()),
    ),
    "fourteen are too many: one dimension is drawn for one value": Case(
        table(
            "step dataset embedding_dim compression auc n",
            *(
                (s, d, e, c, 0.5, 3)
                for s in (1, 2, 3) for d in "ab" for e in (8, 16) for c in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
            ),
        ),
        groups("step", "dataset", "embedding_dim", "compression", metrics=(MEAN_AUC,)),
        lambda chart: chart.only == (("embedding_dim", 8),) and "; add “at dim 16” for another" in chart.reason,
    ),
    # -- two metrics --
    "two metrics: scatter with its front, linear below two decades": Case(
        TRADE_OFF, POINTS, places(type="scatter", color="method", pareto=True, log_x=False)
    ),
    "logarithmic above two decades": Case(
        replace(TRADE_OFF, rows=(*TRADE_OFF.rows, ("jax", 0.9, 0.5))), POINTS, places(log_x=True, log_y=False)
    ),
    "no front without a direction": Case(
        table("method sample_count auc", ("dense", 9, 0.8), ("hashed", 5, 0.7), ("jax", 4, 0.7)),
        QuerySpec("points", (Metric("sample_count"), AUC), ("method",)),
        places(type="scatter", pareto=False, fronts=()),
    ),
    "different work: a front each": Case(
        table("method embedding_dim memory_mb auc", *((m, d, 1.0 + d, 0.5) for m in METHODS for d in (8, 16))),
        replace(POINTS, dimensions=("method", "embedding_dim")),
        places(pareto=False, fronts=("embedding_dim",)),
    ),
    "much different work: none": Case(
        table("method embedding_dim memory_mb auc", *((m, d, 1.0 + d, 0.5) for m in METHODS for d in (8, 16, 32, 64))),
        replace(POINTS, dimensions=("method", "embedding_dim")),
        in_words("No Pareto front, since dim differs as well."),
    ),
    "grouped, two rows: a panel each": Case(
        table("method auc memory_mb n", ("dense", 0.8, 1.0, 3), ("hashed", 0.7, 2.0, 3)),
        groups("method", metrics=THREE[:2]),
        places(type="bar", metrics=("auc", "memory_mb")),
    ),
    # -- two nominal dimensions --
    "two names, 6 x 6: grouped bars": Case(grid(6, 6), groups("op", "dataset"), is_a("bar")),
    "two names above 6 x 6: heatmap": Case(grid(7, 6), groups("op", "dataset"), places(type="heatmap", x="op")),
    # -- two numeric parameters --
    "two parameters: heatmap": Case(
        numbers(3, 3),
        groups("batch_size", "embedding_dim"),
        places(type="heatmap", x="batch_size", y="embedding_dim", color="latency_us"),
    ),
    "one of two values: lines": Case(
        numbers(3, 2), groups("batch_size", "embedding_dim"), places(type="line", color="embedding_dim")
    ),
    "two parameters and methods: lines": Case(
        lines(2, 3),
        groups("batch_size", "method", "embedding_dim"),
        places(type="line", color="method", symbol="embedding_dim"),
    ),
    # -- one nominal dimension --
    "one name: bars": Case(grid(3, 1, "method op"), groups("method"), places(type="bar", x="method", dots=False)),
    "bars from zero that would look alike: dots": Case(
        table("method latency_us n", ("a", 100.0, 3), ("b", 125.0, 3)), groups("method"), places(type="bar", dots=True)
    ),
    "bars that differ stay bars": Case(
        table("method latency_us n", ("a", 100.0, 3), ("b", 126.0, 3)), groups("method"), places(type="bar", dots=False)
    ),
    "bars that were asked for stay bars": Case(
        table("method latency_us n", ("a", 100.0, 3), ("b", 101.0, 3)),
        groups("method"),
        places(type="bar", dots=False),
        ChartWish("bar"),
    ),
    "numbers of trials stay bars": Case(
        table("method trials", ("a", 100), ("b", 101)), QuerySpec("count", dimensions=("method",)), places(dots=False)
    ),
    # -- three and more metrics --
    "three metrics of few rows: a panel each": Case(
        several_metrics(20), groups("method", metrics=THREE),
        places(type="bar", x="method", metrics=("auc", "memory_mb", "latency_us")),
    ),
    "of many rows: parallel coordinates": Case(
        several_metrics(21), groups("method", metrics=THREE),
        places(type="parallel", metrics=("auc", "memory_mb", "latency_us")),
    ),
    "along a parameter: a panel each": Case(
        table("compression auc memory_mb latency_us n", *((c, c, c, c, 3) for c in (0.1, 0.2, 0.5))),
        groups("compression", metrics=THREE),
        places(type="line", x="compression", metrics=("auc", "memory_mb", "latency_us")),
    ),
    "along a parameter of several data sets: the panels are for those": Case(
        table(
            "compression dataset method auc memory_mb latency_us n",
            *((c, d, m, c, c, c, 3) for c in (0.1, 0.2, 0.5) for d in "ab" for m in METHODS),
        ),
        groups("compression", "dataset", "method", metrics=THREE),
        places(type="line", y="auc", facet="dataset", metrics=()),
    ),
    "six numbers of edited SQL": Case(
        table("method a b c d e f", ("x", *(1.5,) * 6), ("y", *(2.5,) * 6)), None, lambda chart: len(chart.metrics) == 6
    ),
    "seven are too many": Case(
        table("method a b c d e f g", ("x", *(1.5,) * 7), ("y", *(2.5,) * 7)), None, in_words("hold 7 numbers")
    ),
    # -- none --
    "nothing to draw on": Case(table("auc", (0.5,), (0.6,)), None, in_words("there is no axis to draw on")),
    "no numbers": Case(table("method", ("a",), ("b",)), None, in_words("No column holds numbers to draw.")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str) -> None:
    case = CASES[name]
    chart = choose(case.table, case.spec, case.wish)
    assert case.holds(chart), chart
    assert chart.reason.endswith(".")
    assert case.table.rows == () or fits(chart, case.table) == ""

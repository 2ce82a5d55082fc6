"""What a run found, as one page of HTML with charts (see bench_engine.report.page_parts)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_engine.compare.axes_shown import fixed, varying
from bench_engine.compare.text_table import axis_columns, plain, ratio_text
from bench_engine.compare.why import Cost, cost
from bench_engine.measure.ratios import Ratio
from bench_engine.report.next_steps import next_steps
from bench_engine.report.page_parts import document, drawn, figure, marker, table, text
from bench_engine.report.run_results import Measured, RunResults
from bench_engine.report.run_text import columns, counts, reasons
from db.columns import CHOICE_AXES

MOST_LABELS = 40  # configurations that have a line of their own in a chart; of more a method has one line


def page(found: RunResults) -> str:
    """The page. Raises ModuleNotFoundError where Plotly is not installed."""
    title = text(found.title)
    parts = [f"<h1>{title}</h1>", f'<p class="origin">{text(found.origin)}</p>']
    library = True
    for benchmark, trials in found.benchmarks.items():
        parts.append(f"<h2>{text(benchmark)}</h2>")
        for chart in (*_figures(trials), *_rooflines(trials)):
            parts.append(drawn(chart, library))
            library = False
        if means := found.means.get(benchmark):
            rows = [[m.method, ratio_text(m.speedup), counts(m)] for m in means]
            parts.append(table(["method", f"speedup over {means[0].over}", "verdicts"], rows, (0, 2)))
        if told := found.why.get(benchmark):
            parts.append(f"<ul>{''.join(f'<li>{text(line)}</li>' for line in told)}</ul>")
        parts.append(_trials(trials, found))
    for heading, lines in (("To take care with", found.warnings), ("Without a result", list(reasons(found)))):
        if lines:
            parts.append(f"<h2>{heading}</h2><ul>{''.join(f'<li>{text(line)}</li>' for line in lines)}</ul>")
    if steps := next_steps(found):
        commands = "\n".join(text(command) for _, command in steps)
        parts.append(f"<h2>Next</h2><pre>{commands}</pre>")
    return document(found.title, parts)


# -- tables ----------------------------------------------------------------------------------------------------------


def _trials(trials: Sequence[Measured], found: RunResults) -> str:
    axes = axis_columns(varying(trials), trials)
    told = [*axes, *columns(trials, found)]
    left = [i for i, column in enumerate(told) if column.left]
    rows = [[column.cells[i] for column in told] for i in range(len(trials))]
    same = ", ".join(f"{name} {plain(value)}" for name, value in fixed(trials).items() if name != "benchmark")
    shown = table([" ".join(column.head) for column in told], rows, left)
    return f"{shown}<p><small>The same in all: {text(same)}. Intervals are 95 %.</small></p>"


# -- charts ----------------------------------------------------------------------------------------------------------


def _figures(trials: Sequence[Measured]) -> Iterator[dict[str, Any]]:
    """Of a benchmark: AUC over memory where both are known, speedups, and times."""
    scored: dict[Any, list[Measured]] = defaultdict(list)
    for measured in trials:
        if {"auc", "memory_mb"} <= measured.metrics.keys():
            scored[measured.axes.get("dataset")].append(measured)
    for dataset, own in scored.items():
        title = "AUC over memory" + (f", {_safe(dataset)}" if len(scored) > 1 else "")
        points = {id(m): (m.metrics["memory_mb"], m.metrics["auc"]) for m in own}
        yield figure(_scatter(own, points, "%{x:.4g} MB, AUC %{y:.5f}"), title, "memory in MB", "AUC", 420, log=True)
    compared = [m for m in trials if m.speedup]
    if compared:
        yield _dots(
            compared, {id(m): m.speedup for m in compared if m.speedup}, "Speedup over the baseline", "speedup", 1.0
        )
    timed = [m for m in trials if m.latency]
    if timed:
        yield _dots(timed, {id(m): m.latency for m in timed if m.latency}, "Time of a call", "µs")


def _dots(
    trials: Sequence[Measured], values: Mapping[int, Ratio], title: str, unit: str, line: float | None = None
) -> dict[str, Any]:
    """Values with their intervals: a line for each configuration, or for each method where there are too many."""
    names = [name for name in varying(trials) if name != "method"]
    work = [name for name in names if name not in CHOICE_AXES]  # all methods that did it stand on one line
    labels = {id(m): _label(m, work) for m in trials}
    if len(set(labels.values())) > MOST_LABELS:
        labels = {id(m): _safe(m.axes["method"]) for m in trials}
    by_method: dict[str, list[Measured]] = defaultdict(list)
    for measured in trials:
        by_method[str(measured.axes["method"])].append(measured)
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": _safe(method),
            "x": [values[id(m)].value for m in own],
            "y": [labels[id(m)] for m in own],
            "error_x": _error_bars([values[id(m)] for m in own]),
            "text": [_label(m, names) for m in own],
            "hovertemplate": f"%{{text}}<br>%{{x:.4g}} {unit}<extra>%{{fullData.name}}</extra>",
            "marker": marker(number),
        }
        for number, (method, own) in enumerate(by_method.items())
    ]
    height = 150 + 24 * len(set(labels.values()))
    chart = figure(traces, title, f"{unit}, logarithmic", "", height, log=True)
    chart["layout"]["yaxis"] |= {"autorange": "reversed", "type": "category"}
    if line is not None:
        mark = {"type": "line", "x0": line, "x1": line, "yref": "paper", "y0": 0, "y1": 1}
        chart["layout"]["shapes"] = [{**mark, "line": {"dash": "dot", "color": "#595959"}}]
    return chart


def _scatter(trials: Sequence[Measured], points: Mapping[int, tuple[float, float]], told: str) -> list[dict[str, Any]]:
    """A point for each trial, by its id; `told` is what is said of its x and y."""
    by_method: dict[str, list[Measured]] = defaultdict(list)
    for measured in trials:
        by_method[str(measured.axes["method"])].append(measured)
    names = [name for name in varying(trials) if name != "method"]
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": _safe(method),
            "x": [points[id(m)][0] for m in own],
            "y": [points[id(m)][1] for m in own],
            "text": [_label(m, names) for m in own],
            "hovertemplate": f"%{{text}}<br>{told}<extra>%{{fullData.name}}</extra>",
            "marker": marker(number),
        }
        for number, (method, own) in enumerate(by_method.items())
    ]


def _rooflines(trials: Sequence[Measured]) -> Iterator[dict[str, Any]]:
    """Flops a second over flops a byte, below what memory and cores give (Williams et al. 2009): a chart for
    each machine and number of threads whose roofs are known, of the trials that declare both."""
    charts: dict[tuple[Any, Any], list[tuple[Measured, Cost]]] = defaultdict(list)
    for measured in trials:
        found = cost(measured.row)
        if min(found.bytes, found.flops, found.latency_us) > 0 and {"copy_gb_s", "peak_gflops"} <= found.roofs.keys():
            charts[measured.axes.get("machine"), measured.axes.get("threads")].append((measured, found))
    for (machine, threads), own in charts.items():
        points = {id(m): (c.flops / c.bytes, c.flops / c.latency_us / 1e3) for m, c in own}
        traces = _scatter([m for m, _ in own], points, "%{x:.3g} flops a byte, %{y:.3g} GFLOP/s")
        title = "Roofline" + (f", threads {_safe(threads)}, {_safe(machine)}" if len(charts) > 1 else "")
        traces += _roofs([c.roofs for _, c in own], [x for x, _ in points.values()])
        chart = figure(traces, title, "flops a byte, logarithmic", "GFLOP/s, logarithmic", 460, log=True)
        chart["layout"]["yaxis"]["type"] = "log"
        yield chart


def _roofs(given: Sequence[Mapping[str, float]], intensities: Sequence[float]) -> list[dict[str, Any]]:
    """A line for each bandwidth, up to what the cores compute."""
    peak = max(roofs["peak_gflops"] for roofs in given)
    lines = [
        (what, gb_s)
        for what, name in (("copy", "copy_gb_s"), ("random rows", "gather_gb_s"))
        for gb_s in sorted({roofs[name] for roofs in given if name in roofs})
    ]
    first = min(intensities) / 2
    last = 2 * max(peak / min(gb_s for _, gb_s in lines), *intensities)
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"{what} {gb_s:.3g} GB/s",
            "x": [first, peak / gb_s, last],
            "y": [first * gb_s, peak, peak],
            "hovertemplate": "%{y:.3g} GFLOP/s<extra>%{fullData.name}</extra>",
            "line": {"color": "#595959", "width": 1.2, "dash": "solid" if what == "copy" else "dot"},
        }
        for what, gb_s in lines
    ]


def _error_bars(values: Sequence[Ratio]) -> dict[str, Any]:
    up = [v.high - v.value if v.known else 0.0 for v in values]
    down = [v.value - v.low if v.known else 0.0 for v in values]
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1.2, "width": 3}


def _label(measured: Measured, names: Sequence[str]) -> str:
    told = [_safe(f"{name} {plain(measured.axes[name])}") for name in names if name in measured.axes]
    return ", ".join(told) or _safe(measured.axes["method"])


def _safe(value: object) -> str:
    """Text as Plotly shows it letter by letter."""
    return text(value)

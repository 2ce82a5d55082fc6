"""A suggestion as one page of HTML, with its Pareto front (see bench_engine.report.page_parts)."""

from collections.abc import Sequence
from typing import Any

from bench_engine.compare.text_table import Column
from bench_engine.report.page_parts import document, drawn, figure, marker, table, text
from bench_engine.suggest.suggestion import Suggestion, Table


def page(found: Suggestion, heading: str, columns: Sequence[Column], left_out: Sequence[str]) -> str:
    """The page, with the columns and sentences of the text. Raises ModuleNotFoundError without Plotly."""
    parts = [f"<h1>{text(found.why)}</h1>", f'<p class="origin">{text(heading)}</p>']
    if found.tables:
        parts.append(drawn(_front(found), library=True))
        rows = [[column.cells[i] for column in columns] for i in range(len(found.tables))]
        left = [i for i, column in enumerate(columns) if column.left]
        parts.append(table([column.head[0] for column in columns], rows, left))
    if left_out:
        parts.append(f"<h2>Left out</h2><ul>{''.join(f'<li>{text(line)}</li>' for line in left_out)}</ul>")
    if found.code:
        parts.append(f"<h2>Code</h2><pre>{text(found.code)}</pre>")
    return document(f"{found.budget_mb:g} MB on {found.data}", parts)


def _front(found: Suggestion) -> dict[str, Any]:
    methods = dict.fromkeys(t.method for t in found.tables)
    traces = [_points(name, number, found) for number, name in enumerate(methods)]
    line = {"shape": "hv", "dash": "dot", "color": "#595959"}
    front = {"type": "scatter", "mode": "lines", "name": "front", "line": line, "hoverinfo": "skip"}
    traces.insert(0, {**front, "x": [t.memory_mb for t in found.front], "y": [t.auc for t in found.front]})
    chart = figure(traces, "Validation AUC over memory", "memory in MB, metadata included", "AUC", 460, log=True)
    mark = {"type": "line", "x0": found.budget_mb, "x1": found.budget_mb, "yref": "paper", "y0": 0, "y1": 1}
    chart["layout"]["shapes"] = [{**mark, "line": {"color": "#595959"}}]
    return chart


def _points(method: str, number: int, found: Suggestion) -> dict[str, Any]:
    own = [t for t in found.tables if t.method == method]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": text(method),
        "x": [t.memory_mb for t in own],
        "y": [t.auc for t in own],
        "text": [_told(t, found) for t in own],
        "hovertemplate": "%{text}<br>%{x:.4g} MB, AUC %{y:.5f}<extra>%{fullData.name}</extra>",
        "marker": marker(number),
    }


def _told(table: Table, found: Suggestion) -> str:
    return f"compression {table.compression:g}" + (", chosen" if table == found.chosen else "")

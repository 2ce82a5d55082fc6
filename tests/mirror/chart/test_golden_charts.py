"""Golden charts: for a stored table and spec, the ChartSpec and what matters of the figure.

A case is a file of tests/mirror/chart/golden with a `question`, a `table` and a `spec` (null for edited SQL); `chart`
and `figure` are what is expected. After a change that is meant, this writes them anew, and the diff shows what it did:

    python tests/mirror/chart/test_golden_charts.py
"""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.choose import choose, tiles
from mirror.chart.draw.figure import draw
from mirror.query.spec import QuerySpec
from mirror.query.spec_json import from_json
from mirror.schema.result_columns import result_table
from mirror.table.numbers import format_number
from mirror.table.table import Table

FOLDER = Path(__file__).parent / "golden"
CASES = sorted(FOLDER.glob("*.json"))


def read(path: Path) -> tuple[dict[str, Any], Table, QuerySpec | None]:
    """A case as it is stored, its table and its spec."""
    case = json.loads(path.read_text(encoding="utf-8"))
    stored = case["table"]
    table = result_table(tuple(stored["columns"]), tuple(map(tuple, stored["rows"])), stored.get("truncated", False))
    return case, table, from_json(case["spec"]) if case["spec"] else None


def expected(table: Table, spec: QuerySpec | None) -> dict[str, Any]:
    """What a case expects: the chart without the fields that are silent, and its figure on a desk and on a phone."""
    chart = choose(table, spec)
    silent = {f.name: f.default for f in fields(ChartSpec)}
    told = {k: v for k, v in asdict(chart).items() if k == "type" or v != silent[k]}
    found: dict[str, Any] = {"chart": told, "figure": described(table, chart)}
    if chart.type == "tiles":
        found["tiles"] = [(c.name, v) for c, v in tiles(table, spec)]
    return json.loads(json.dumps(found))


def described(table: Table, chart: ChartSpec) -> dict[str, Any] | None:
    """The essential parts of a figure: a line of text for each trace, titles, axes, one text to hover."""
    drawn = draw(table, chart)
    if drawn is None:
        return None
    layout = drawn.layout
    axes = sorted(k for k in layout.to_plotly_json() if k[1:].startswith("axis"))
    phone = draw(table, chart, columns=1)
    return {
        "traces": [in_a_line(t) for t in drawn.data],
        "legend": [t.name for t in sorted(drawn.data, key=lambda t: t.legendrank or 0) if t.showlegend],
        "panels": [a.text for a in layout.annotations],
        "axes": {name: axis_in_words(layout[name]) for name in axes},
        "guides": len(layout.shapes),
        "hover": next((texts[0] for t in drawn.data if (texts := hover_texts(t))), None),
        "height": layout.height,
        "height on a phone": phone.layout.height,
    }


def in_a_line(trace: Any) -> str:
    """`scatter markers “hashed” #0072B2 square, 2 points, x 1 to 2, y 0.7 to 0.8 on x y`."""
    marker, line = getattr(trace, "marker", None), getattr(trace, "line", None)
    looks = (
        getattr(marker, "color", None) or getattr(line, "color", None) or getattr(trace, "fillcolor", None),
        getattr(marker, "symbol", None) if "markers" in (getattr(trace, "mode", None) or "") else None,
        getattr(line, "dash", None),
    )
    error = [getattr(trace, name, None) for name in ("error_x", "error_y")]
    whiskers = "whiskers" if any(e is not None and e.array is not None for e in error) else None
    what = (trace.type, getattr(trace, "mode", None) or getattr(trace, "orientation", None), f"“{trace.name or ''}”")
    head = " ".join(str(w) for w in (*what, *looks, whiskers) if w)
    return f"{head}, {len(trace.x)} points, x {ends(trace.x)}, y {ends(trace.y)} on {trace.xaxis} {trace.yaxis}"


def ends(values: Any) -> str:
    """`0.5 to 2`; the first and the last of what are no numbers."""
    known = [v for v in values if v is not None]
    if not known:
        return "nothing"
    if all(isinstance(v, int | float) for v in known):
        return " to ".join(format_number(float(v), exact=True) for v in (min(known), max(known)))
    return f"{known[0]} to {known[-1]}"


def axis_in_words(axis: Any) -> dict[str, Any]:
    """Title, scale, range and the labels that are set."""
    told = {
        "title": axis.title.text, "scale": axis.type, "range": axis.range, "mode": axis.rangemode,
        "ticks": axis.ticktext, "labels": axis.showticklabels,
    }  # fmt: skip
    return {k: list(v) if isinstance(v, tuple) else v for k, v in told.items() if v is not None}


def hover_texts(trace: Any) -> list[str]:
    texts = trace.hovertext
    if texts is None or isinstance(texts, str):
        return [texts] if texts else []
    flat = [t for row in texts for t in row] if isinstance(texts[0], tuple | list) else list(texts)
    return [t for t in flat if t]


def test_there_are_cases() -> None:
    assert len(CASES) >= 20


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_golden_chart(path: Path) -> None:
    case, table, spec = read(path)
    found = expected(table, spec)
    assert found["chart"] == case["chart"]
    assert found == {k: v for k, v in case.items() if k not in ("question", "table", "spec")}


def write(path: Path) -> None:
    """Write what a case expects anew; one row of its table a line, so that a diff can be read."""
    case, table, spec = read(path)
    head = {"question": case["question"], "spec": case["spec"], **expected(table, spec)}
    rows = ",\n".join(f"      {json.dumps(row, ensure_ascii=False)}" for row in case["table"]["rows"])
    rest = {k: v for k, v in case["table"].items() if k != "rows"}
    inner = json.dumps(rest, ensure_ascii=False)[:-1] + f', "rows": [\n{rows}\n    ]}}'
    text = json.dumps(head, ensure_ascii=False, indent=2).rstrip("}").rstrip()
    path.write_text(f'{text},\n  "table": {inner}\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    for each in CASES:
        write(each)
        print(each.name)

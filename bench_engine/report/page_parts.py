"""Parts of a page of HTML with charts, which needs no network and nothing beside it.

All that comes from results is escaped, also what Plotly is given, which takes text for a kind of HTML. A policy in the
page keeps it from loading anything.
"""

import html
from collections.abc import Mapping, Sequence
from typing import Any

from db.plain_text import printable

_PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5d5d5d", "#8c510a")  # Okabe and Ito
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)
_STYLE = """body{font:15px/1.5 system-ui,sans-serif;color:#1d1d1d;background:#fff}main{max-width:76rem;margin:2rem auto}
h1{font-size:1.5rem;margin-bottom:0}h2{font-size:1.2rem;margin-top:2.2rem}small,.origin{color:#595959}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.6rem 0}
th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}
th{text-align:left;vertical-align:bottom}
td.l{text-align:left}.faster{color:#00643f}.slower{color:#a32900}.unclear{color:#7a5200}
pre{background:#f5f5f5;padding:.7rem;overflow-x:auto}"""


def document(title: str, parts: Sequence[str]) -> str:
    """The page of its parts, which are HTML."""
    title = text(title)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def text(value: object) -> str:
    """Escaped, also for Plotly."""
    return html.escape(printable(str(value)))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """A table, with the columns of the numbers `left` to the left."""

    def cell(number: int, value: str) -> str:
        names = [*(["l"] if number in left else []), *([value] if value in ("faster", "slower", "unclear") else [])]
        return f"<td{' class=' + chr(34) + ' '.join(names) + chr(34) if names else ''}>{text(value)}</td>"

    heads = "".join(f'<th scope="col">{text(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(cell(i, value) for i, value in enumerate(row))}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def drawn(chart: Mapping[str, Any], library: bool) -> str:
    """A chart, with Plotly itself where `library`. Raises ModuleNotFoundError where that is not installed."""
    import plotly.io as pio  # slow to load, and not needed for anything else

    found = pio.to_html(
        chart,
        include_plotlyjs=library,
        full_html=False,
        validate=False,
        config={"displaylogo": False, "responsive": True},
    )
    return str(found)


def figure(traces: list[dict[str, Any]], title: str, x: str, y: str, height: int, log: bool) -> dict[str, Any]:
    """A chart of traces, in Plotly's form."""
    axis = {"gridcolor": "#e5e5e5", "automargin": True}
    layout = {
        "title": {"text": title, "x": 0, "xref": "paper", "font": {"size": 15}},
        "height": height,
        "margin": {"l": 10, "r": 10, "t": 50, "b": 50},
        "paper_bgcolor": "#fff",
        "plot_bgcolor": "#fff",
        "font": {"family": "system-ui, sans-serif", "color": "#1d1d1d"},
        "xaxis": {**axis, "title": {"text": x}, "type": "log" if log else "linear"},
        "yaxis": {**axis, "title": {"text": y}},
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 1, "xanchor": "right"},
    }
    return {"data": traces, "layout": layout}


def marker(number: int) -> dict[str, Any]:
    """Colour and symbol of a series."""
    return {
        "color": _PALETTE[number % len(_PALETTE)],
        "symbol": _SYMBOLS[number // len(_PALETTE) % len(_SYMBOLS)],
        "size": 9,
    }

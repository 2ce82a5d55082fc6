"""An answer in a notebook: the question, how it was read, the sentence, the chart, the first rows and the SQL.

A notebook shows one of the forms that an output comes in, so the chart is an output of its own between the two halves
of the text: as `application/vnd.plotly.v1+json` for front ends that draw it themselves, and as HTML for the others.
The HTML works without a network. It needs plotly.js, whose 4 MB come with the first chart of a kernel and not again;
only the cell that had them gets them again when it is run again. `_repr_html_`, for tools that know nothing else and
mostly run no scripts, has all but the chart, and says how to get it.
"""

import contextlib
import html as markup
import json
import uuid
from typing import TYPE_CHECKING, Any

from db.plain_text import printable
from mirror.answer.answer import Answer
from mirror.answer.as_text import as_text
from mirror.chart.choose import tiles
from mirror.table.numbers import format_plain, format_value
from mirror.table.table import Column, Table
from mirror.table.values import Value, is_number
from mirror.table.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

MOST_ROWS = 20
_LONGEST_CELL = 120
_CONFIG = {"displaylogo": False, "responsive": True}
_CELL = "padding:2px 10px;border-bottom:1px solid rgba(128,128,128,.3);white-space:nowrap"
_SMALL = "font-size:.85em;opacity:.75"
_NO_LIBRARY = (
    "The chart is drawn by plotly.js, which came with the first chart of this notebook: run all cells again, or "
    "call .figure() of the answer."
)


def display(answer: Answer) -> None:
    """Show the answer where IPython runs: as text in a terminal, else as two pieces of HTML around the chart."""
    from IPython import get_ipython
    from IPython.display import display as publish

    shell = get_ipython()
    if getattr(shell, "kernel", None) is None:
        print(as_text(answer))
        return
    for bundle in bundles(answer, _library.is_due(_cell_of(shell))):
        publish(bundle, raw=True)


def bundles(answer: Answer, library: bool) -> list[dict[str, Any]]:
    """The outputs of an answer, each as media type -> content, in their order.

    Args:
        answer: what to show.
        library: whether the HTML of the chart brings plotly.js along.
    """
    drawn = answer.figure()
    if drawn is None:
        return [{"text/html": html(answer), "text/plain": as_text(answer)}]
    return [
        {"text/html": _wrapped(_head(answer)), "text/plain": as_text(answer)},
        {
            "application/vnd.plotly.v1+json": {**json.loads(drawn.to_json()), "config": _CONFIG},
            "text/html": _chart(drawn, library),
            "text/plain": "",
        },
        {"text/html": _wrapped(_tail(answer)), "text/plain": ""},
    ]


def html(answer: Answer) -> str:
    """The answer as one piece of HTML without scripts; a chart is only named."""
    chart = answer.chart
    there = chart is not None and chart.type not in ("table", "tiles")
    named = f'<p style="{_SMALL}">The chart: <code>answer.figure()</code></p>' if there else ""
    return _wrapped(_head(answer) + named + _tail(answer))


def frame(table: Table | None) -> "pd.DataFrame":
    """A result as a pandas DataFrame: times as datetime64, missing numbers as NaN, columns named as in the SQL."""
    import pandas as pd

    if table is None:
        return pd.DataFrame()
    found = pd.DataFrame(list(table.rows), columns=list(table.names))
    for i, name in enumerate(table.names):
        if table.names.count(name) == 1 and table.values(name).temporal:
            found.isetitem(i, _times(found.iloc[:, i]))
    return found


def _times(texts: "pd.Series") -> "pd.Series":
    """datetime64; in UTC where offsets differ; as they are where pandas reads one of them not, such as a week."""
    import pandas as pd

    for utc in (False, True):
        with contextlib.suppress(ValueError):
            return pd.to_datetime(texts, format="ISO8601", utc=utc)
    return texts


class _Library:
    """Who has plotly.js: the first cell that showed a chart."""

    def __init__(self) -> None:
        self._given = False
        self._cell: str | None = None

    def is_due(self, cell: str | None) -> bool:
        """Whether a chart of this cell must bring the library along; the answer is remembered."""
        if self._given and (cell is None or cell != self._cell):
            return False
        self._given, self._cell = True, cell
        return True


_library = _Library()


def _cell_of(shell: Any) -> str | None:
    """The identity of the cell that runs, where the front end tells it."""
    try:
        cell: str | None = shell.get_parent()["metadata"]["cellId"]
        return cell
    except (AttributeError, KeyError, TypeError):
        return None


# -- parts -------------------------------------------------------------------------------------------------------------


def _wrapped(inner: str) -> str:
    return f'<div style="font-family:system-ui,sans-serif;line-height:1.45;max-width:1000px">{inner}</div>'


def _head(answer: Answer) -> str:
    parts = [f"<p><b>{_safe(answer.question)}</b></p>"]
    if answer.note:
        parts.append(f"<p>{_safe(answer.note)}</p>")
    if answer.read_as:
        parts.append(f'<p style="{_SMALL}">Read as: {_safe(answer.read_as)}</p>')
    if answer.learnt:
        said = " ".join(_safe(habit.said) for habit in answer.learnt)
        parts.append(f'<p style="{_SMALL}">{said} <code>answer.forget()</code></p>')
    if answer.summary:
        parts.append(f"<p>{_safe(answer.summary)}</p>")
    if answer.agreement and answer.agreement.sentence:
        parts.append(f'<p style="{_SMALL}">{_safe(answer.agreement.sentence)}</p>')
    return "".join(parts)


def _tail(answer: Answer) -> str:
    parts = []
    as_tiles = answer.table is not None and answer.chart is not None and answer.chart.type == "tiles"
    if as_tiles:
        parts.append(_tiles(answer))
    elif answer.chart and answer.chart.reason:
        parts.append(f'<p style="{_SMALL}">{_safe(answer.chart.reason)}</p>')
    if answer.plan:
        parts.append(f"<p>Nothing has been started. To start it:</p><pre>{_safe(answer.plan.command)}</pre>")
    if answer.suggestions:
        shown_first = bool(answer.proposals) and answer.status == "ambiguous"
        parts.append(f"<p>{'Which one?' if shown_first else 'Try:'}</p>")
        parts.append(f"<ul>{''.join(f'<li>{_safe(s)}</li>' for s in answer.suggestions)}</ul>")
        if shown_first:
            parts.append(f'<p style="{_SMALL}"><code>ask(answer.suggestions[0], ..., after=answer)</code></p>')
    if answer.table and answer.table.rows and not as_tiles:
        parts.append(_rows(answer.table))
    if answer.sql:
        sql = _safe(answer.sql, keep="\n")
        parts.append(f"<details><summary>SQL</summary><pre>{sql}</pre></details>")
    return "".join(parts)


def _tiles(answer: Answer) -> str:
    assert answer.table
    found = [
        f'<span style="display:inline-block;margin-right:2em">{_safe(c.label)}<br>'
        f'<b style="font-size:1.4em">{_safe(format_value(c, v))}</b></span>'
        for c, v in tiles(answer.table, answer.spec or answer.wanted)
    ]
    return f"<p>{''.join(found)}</p>"


def _rows(table: Table) -> str:
    """The first rows as a table; units stand in its head."""
    numeric = [any(map(is_number, table.values(n))) for n in table.names]
    align = ["right" if n else "left" for n in numeric]
    head = "".join(
        f'<th style="{_CELL};text-align:{a}">{_safe(c.title)}</th>' for c, a in zip(table.columns, align, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL};text-align:{a}">{_cell(c, v)}</td>'
            for c, v, a in zip(table.columns, row, align, strict=True)
        )
        + "</tr>"
        for row in table.rows[:MOST_ROWS]
    )
    shown = f"{counted(len(table.rows), 'row')}{' of more' if table.truncated else ''}"
    if len(table.rows) > MOST_ROWS:
        shown = f"The first {MOST_ROWS} of {shown}. All of them: <code>answer.frame()</code>"
    return (
        f'<div style="overflow-x:auto"><table style="border-collapse:collapse">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        f'<p style="{_SMALL}">{shown}</p>'
    )


def _cell(column: Column, value: Value | None) -> str:
    text = format_plain(column, value) or ("" if value is None else format_value(column, value))
    return _safe(text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…")


def _chart(drawn: "go.Figure", library: bool) -> str:
    """The figure as HTML that asks nothing of a network; without the library it says where that is."""
    name = f"mirror-{uuid.uuid4()}"
    missing = f"if (!window.Plotly) document.getElementById({json.dumps(name)}).innerText = {json.dumps(_NO_LIBRARY)};"
    inner = drawn.to_html(
        config=_CONFIG,
        include_plotlyjs=library,
        include_mathjax=False,
        full_html=False,
        div_id=name,
        default_height=f"{drawn.layout.height}px",
    )
    return f"{inner}<script>{missing}</script>"


def _safe(text: object, keep: str = "") -> str:
    """Text that HTML shows literally; nothing invisible, nothing that turns text round."""
    return markup.escape(printable(str(text), keep=keep), quote=True)

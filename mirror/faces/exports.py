"""An answer as a file: Parquet, a page of HTML, a notebook, Markdown for a pull request. CSV is mirror.table's."""

import html
import io
import json
from typing import Any

from db.plain_text import in_markdown, markdown_table, printable
from mirror.answer.answer import Answer
from mirror.answer.notebook import bundles, frame
from mirror.table.numbers import format_value
from mirror.table.table import Table
from mirror.table.wording import counted

_MOST_ROWS = 30  # of a table in Markdown


def to_parquet(table: Table) -> bytes:
    """All rows, with their types; what is of several types in one column becomes text."""
    import pandas as pd  # here, since it takes a while to load

    rows = frame(table)
    for name in rows.columns:
        kinds = {type(v) for v in table.values(name) if v is not None}
        large = kinds == {int} and any(isinstance(v, int) and abs(v) >= 2**63 for v in table.values(name))
        if kinds in ({bool}, {int}) and None in table.values(name) and not large:  # pandas: text, and floats
            rows[name] = pd.array(list(table.values(name)), dtype="boolean" if kinds == {bool} else "Int64")
        elif large or (rows[name].dtype == object and len(kinds) > 1):
            rows[name] = rows[name].map(lambda v: None if v is None else str(v))
    out = io.BytesIO()
    rows.to_parquet(out, index=False)
    return out.getvalue()


def to_html(answer: Answer, origin: str) -> str:
    """A page of its own, which needs no network: the question, the sentence, the chart, the first rows, the SQL."""
    parts = [bundle["text/html"] for bundle in bundles(answer, library=True)]
    title = html.escape(printable(answer.question))
    origin_line = f"<p><small>{html.escape(printable(origin))}</small></p>"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body>{''.join(parts)}{origin_line}</body></html>\n"
    )


def to_notebook(answer: Answer, db: str | None, origin: str, follows: bool = False) -> str:
    """A notebook that asks the question again, shows its rows and has its SQL to change.

    Args:
        answer: an answer with SQL.
        db: what `ask` takes as `db`, without a password; None for the results that MIRROR_DB names.
        origin: where the answer is from, in one line.
        follows: it is a follow-up's, which cannot be asked by itself: the notebook has its SQL alone.
    """
    question, source = repr(printable(answer.question)), repr(db and printable(db))
    lines = printable(answer.sql or "", keep="\n").splitlines(keepends=True)
    sql = "\n    ".join(map(repr, lines))
    cells = [
        _cell(
            "markdown", "\n\n".join(["# " + in_markdown(answer.question), *map(in_markdown, (answer.summary, origin))])
        ),
        _cell("code", f"from mirror import ask\nfrom mirror.answer.answering import run_sql\n\ndb = {source}"),
    ]
    if answer.engine != "sql" and not follows:
        cells.append(_cell("code", f"answer = ask({question}, db=db)\nanswer"))
    cells.append(_cell("code", f"sql = (\n    {sql}\n)\nanswer = run_sql(sql, db=db, question={question})\nanswer"))
    cells.append(_cell("code", "answer.frame()"))
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}, indent=1)


def to_markdown(answer: Answer, origin: str) -> str:
    """The answer for a pull request: the line that answers, how it was read, the first rows, the SQL."""
    told = answer.headline()
    question, line, read_as = map(in_markdown, (answer.question, told.text, answer.read_as))
    limits = [in_markdown(told.limits)] if told.limits else []
    parts = [f"### {question}", f"**{line}**", *limits, f"Read as: {read_as}"]
    if answer.table and answer.table.rows:
        parts.append(_table(answer.table))
    if answer.sql:
        sql = printable(answer.sql, keep="\n")
        fence = "`" * max(3, 1 + max(map(len, "".join(c if c == "`" else " " for c in sql).split()), default=0))
        parts.append(f"<details><summary>SQL</summary>\n\n{fence}sql\n{sql}\n{fence}\n\n</details>")
    return "\n\n".join([*parts, f"<sub>{in_markdown(origin)}</sub>"]) + "\n"


def _table(table: Table) -> str:
    head = [c.title for c in table.columns]
    align = ["---:" if c.numeric else "---" for c in table.columns]
    body = [
        ["" if v is None else format_value(c, v) for c, v in zip(table.columns, row, strict=True)]
        for row in table.rows[:_MOST_ROWS]
    ]
    left = len(table.rows) - _MOST_ROWS
    cut = " were read, and there are others" if table.truncated else ""
    more = f"\n\n{counted(left, 'row')} more{cut}." if left > 0 else ""
    if table.truncated and left <= 0:
        more = "\n\nNot all rows were read."
    return markdown_table(head, body, align) + more


def _cell(kind: str, source: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
    return cell | ({"outputs": [], "execution_count": None} if kind == "code" else {})

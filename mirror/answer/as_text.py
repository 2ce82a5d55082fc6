"""An answer as text for a terminal."""

import json
from dataclasses import asdict, fields

from db.plain_text import printable
from mirror.answer.answer import Answer
from mirror.query.spec import QuerySpec
from mirror.table.numbers import format_value

_SHOWN_ROWS = 40
CHOOSE = "To choose: the same command with --choose 1; in Python ask(answer.suggestions[0], ..., after=answer)."
_LEARNT = "`mirror learnt` lists what was learnt, and takes it back."


def as_text(answer: Answer) -> str:
    """The answer for a terminal."""
    parts = [answer.summary]
    if answer.note:
        parts.insert(0, f"Note: {answer.note}")
    if answer.table and answer.table.rows:
        parts.insert(0, _grid(answer))
    if answer.read_as:
        parts.insert(0, f"Read as: {answer.read_as}")
    if answer.sql:
        parts.append(answer.sql)
    if answer.plan:
        parts.append(f"Nothing has been started. To start it:\n  {answer.plan.command}")
    if answer.agreement and answer.agreement.sentence:
        parts.append(answer.agreement.sentence)
    if answer.learnt:
        parts.append("\n".join([*(habit.said for habit in answer.learnt), _LEARNT]))
    if answer.suggestions and answer.proposals and answer.status == "ambiguous":
        choices = "\n".join(f"  {i}  {s}" for i, s in enumerate(answer.suggestions, 1))
        parts.append(f"{choices}\n\n{CHOOSE}")
    elif answer.suggestions:
        parts.append("Try:\n" + "\n".join(f"  {s}" for s in answer.suggestions))
    # What a value of the data holds stands in the SQL as well.
    return "\n\n".join(printable(part, keep="\n") for part in parts)


def _grid(answer: Answer) -> str:
    assert answer.table
    shown = answer.table.rows[:_SHOWN_ROWS]
    cells = [list(answer.table.names)]
    cells += [
        # Control characters in a value must not reach the terminal.
        [printable(format_value(n, v)) for n, v in zip(answer.table.columns, row, strict=True)]
        for row in shown
    ]
    widths = [min(40, max(len(row[i]) for row in cells)) for i in range(len(cells[0]))]
    lines = ["  ".join(c[:w].ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
    if len(answer.table.rows) > len(shown):
        lines.append(f"... {len(answer.table.rows) - len(shown)} more rows (--json prints all)")
    return "\n".join(lines)


def explained(answer: Answer) -> str:
    """How a question is read: in words, as a form and as SQL; the whole answer where it is none of ours."""
    if not answer.sql:
        return as_text(answer)
    parts = [f"Read as: {answer.read_as}"]
    if answer.spec:
        parts.append(f"Form: {_form(answer.spec)}")
    return "\n\n".join(printable(part, keep="\n") for part in (*parts, answer.sql))


def _form(spec: QuerySpec) -> str:
    """What a form holds beyond an empty one, as JSON."""
    empty = QuerySpec(spec.shape)
    held = asdict(spec)
    said = [f.name for f in fields(spec) if f.name == "shape" or getattr(spec, f.name) != getattr(empty, f.name)]
    return json.dumps({name: held[name] for name in said}, ensure_ascii=False, default=str, indent=2)

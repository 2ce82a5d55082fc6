"""Command line: python -m mirror ask "memory vs AUC at compression 0.1" [--json] [--db URL]; python -m mirror eval."""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from db.plain_text import printable
from mirror.ask.answer import Answer
from mirror.evaluation import command as evaluation
from mirror.table.numbers import format_value

_EXIT = {"answered": 0, "ambiguous": 2, "action": 2, "refused": 2, "error": 1}
_SHOWN_ROWS = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0 answered, 2 refused, a question back or a run that a person must start, 1 error."""
    parser = argparse.ArgumentParser(prog="python -m mirror", description="Ask about the results in plain words.")
    commands = parser.add_subparsers(dest="command", required=True)
    ask_parser = commands.add_parser("ask", help="answer one question")
    ask_parser.add_argument("question", help='for example "memory vs AUC at compression 0.1", or a SELECT statement')
    ask_parser.add_argument("--json", action="store_true", help="print one JSON object")
    ask_parser.add_argument("--db", metavar="URL", help="results or other data: URL or path (default: MIRROR_DB)")
    evaluation.add_parser(commands)
    given = parser.parse_args(arguments)
    if given.command == "eval":
        return evaluation.evaluate(given)

    from mirror.ask.ask import ask, to_json  # here, so that --help is quick

    answer = ask(given.question, db=given.db)
    try:
        print(json.dumps(to_json(answer), ensure_ascii=False) if given.json else as_text(answer), flush=True)
    except BrokenPipeError:  # `... | head`; the interpreter's own flush at the end must not complain either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _EXIT[answer.status]


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
    if answer.suggestions:
        parts.append("Try:\n" + "\n".join(f"  {s}" for s in answer.suggestions))
    # What a value of the data holds stands in the SQL as well.
    return "\n\n".join(printable(part, keep="\n") for part in parts)


def _grid(answer: Answer) -> str:
    assert answer.table
    shown = answer.table.rows[:_SHOWN_ROWS]
    cells = [list(answer.table.columns)]
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


if __name__ == "__main__":
    sys.exit(main())

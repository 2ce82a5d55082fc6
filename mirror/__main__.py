"""Command line: python -m mirror ask "memory vs AUC at compression 0.1" [--json] [--db URL]; python -m mirror eval."""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from mirror.ask.as_text import as_text
from mirror.evaluation import command as evaluation

_EXIT = {"answered": 0, "ambiguous": 2, "action": 2, "refused": 2, "error": 1}


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

    from mirror.ask.answering import ask, to_json  # here, so that --help is quick

    answer = ask(given.question, db=given.db)
    try:
        print(json.dumps(to_json(answer), ensure_ascii=False) if given.json else as_text(answer), flush=True)
    except BrokenPipeError:  # `... | head`; the interpreter's own flush at the end must not complain either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _EXIT[answer.status]


if __name__ == "__main__":
    sys.exit(main())

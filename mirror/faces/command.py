"""The command `mirror`, also `python -m mirror`: ask, explain, learnt, eval, app, and the engine as bench and doctor.

Nothing that takes time to import is imported before a command needs it, so that --help is quick.
"""

import argparse
import gc
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from db.plain_text import printable
from mirror.evaluation import eval_command as evaluation
from mirror.faces import learnt_command, programs

if TYPE_CHECKING:
    from mirror.answer.answer import Answer

_EXIT = {"answered": 0, "ambiguous": 2, "action": 2, "refused": 2, "error": 1}
_HANDED_OVER = {
    "bench": "the engine's command line: mirror bench --help",
    "doctor": "this machine, and what disturbs it",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0 answered, 2 refused, a question back or a run that a person must start, 1 error."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in _HANDED_OVER:
        programs.engine(words[words[0] == "bench" :])
    given = _parser().parse_args(words)
    try:
        if given.command == "app":
            programs.app(given.port)
        if given.command == "learnt":
            return learnt_command.learnt(given)
        return evaluation.evaluate(given) if given.command == "eval" else _answer(given)
    except ModuleNotFoundError as error:
        from db import installation

        print(installation.missing(error, f"mirror {given.command}", "app"), file=sys.stderr)
        return 1


def program() -> int:
    """`main` as a program of its own. One that answers a question and ends has no garbage that is worth looking for."""
    if sys.argv[1:2] not in (["ask"], ["explain"]):
        return main()
    gc.disable()
    try:
        return main()
    finally:
        gc.freeze()  # else all of it is looked through at the end


def _parser() -> argparse.ArgumentParser:
    name = "mirror" if Path(sys.argv[0]).name == "mirror" else "python -m mirror"
    parser = argparse.ArgumentParser(prog=name, description="Ask about the results in plain words.")
    commands = parser.add_subparsers(dest="command", required=True)
    for command, text in (
        ("ask", "answer one question"),
        ("explain", "how a question is read: in words, form and SQL; of other data with the readings that lost"),
    ):
        question = commands.add_parser(command, help=text)
        question.add_argument("question", help='for example "memory vs AUC at compression 0.1", or a SELECT statement')
        question.add_argument("--db", metavar="URL", help="results or other data: URL or path (default: MIRROR_DB)")
        if command == "ask":
            question.add_argument("--json", action="store_true", help="print one JSON object")
            question.add_argument(
                "--choose", type=int, metavar="N", help="where the question is asked back: answer its choice N"
            )
    app = commands.add_parser("app", help="open the app in the browser")
    app.add_argument("--port", type=int, help="where it listens (default: 8501, or the next that is free)")
    for command, text in _HANDED_OVER.items():  # listed here; what follows them is the engine's
        commands.add_parser(command, help=text)
    learnt_command.add_parser(commands)
    evaluation.add_parser(commands)
    return parser


def _as_json(answer: dict[str, object]) -> str:
    """In letters as they are, unless one of them would act on a terminal."""
    text = json.dumps(answer, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(answer)


def _no_choice(answer: "Answer", db: str | None) -> str:
    there = len(answer.suggestions)
    if before := next((h for h in answer.learnt if h.kind == "question"), None):
        same = " with the same --db" if db else ""  # which may hold a password
        return f"{before.said} To choose anew, first: mirror learnt --forget {shlex.quote(before.text)}{same}"
    if not there:
        return "There is nothing to choose: ask without --choose."
    return f"--choose takes a number from 1 to {there}: so many choices there are."


def _answer(given: argparse.Namespace) -> int:
    from mirror.answer.answering import ask, explain, to_json
    from mirror.answer.as_text import as_text

    if given.command == "explain":
        answer, text = explain(given.question, db=given.db)
    else:
        answer = ask(given.question, db=given.db)
        if given.choose is not None:
            if not 1 <= given.choose <= len(answer.suggestions):
                print(printable(_no_choice(answer, given.db)), file=sys.stderr)
                return 2
            answer = ask(answer.suggestions[given.choose - 1], db=given.db, after=answer)
        text = _as_json(to_json(answer)) if given.json else as_text(answer)
    try:
        print(text, flush=True)
    except BrokenPipeError:  # `... | head`; the interpreter's own flush at the end must not complain either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _EXIT[answer.status]

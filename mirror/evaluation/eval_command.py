"""`python -m mirror eval`: asks the questions of the evaluation and prints what the answers are worth."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mirror.evaluation.questions import Question


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The command `eval` and its options."""
    parser = commands.add_parser("eval", help="ask questions with known answers and count the right ones")
    parser.add_argument(
        "--engine", choices=("grammar", "llm"), default="grammar", help="who reads the questions (default: grammar)"
    )
    parser.add_argument(
        "--set",
        choices=("categories", "paraphrases", "foreign"),
        default="categories",
        help="the questions by category, one thing asked in the words of three personas, or questions about other "
        "people's databases (default: categories)",
    )
    parser.add_argument("--category", metavar="C", help="only the questions of one category (default: all)")
    parser.add_argument("--persona", metavar="P", help="of the paraphrases only those of one persona (default: all)")
    parser.add_argument("--voice", dest="persona", help=argparse.SUPPRESS)  # what it was called before
    parser.add_argument(
        "--questions",
        choices=("all", "open", "held_out"),
        default="all",
        help="all, those that may be looked at, or those held out (default: all)",
    )
    parser.add_argument("--failures", action="store_true", help="list what went wrong; held-out questions are left out")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def evaluate(given: argparse.Namespace) -> int:
    """Run the command. Returns the exit status: 0 all asked, 2 no language model is configured, 1 another error."""
    # Here, so that --help is quick.
    from mirror.evaluation.fixtures import fixtures
    from mirror.evaluation.foreign_databases import ForeignError, databases
    from mirror.evaluation.questions import QuestionError, load
    from mirror.evaluation.report import as_json, as_text, failures_as_text
    from mirror.evaluation.runner import HeldOutError, NoModelError, run

    try:
        asked_of = databases() if given.set == "foreign" else fixtures(given.set)
        scored = run(_chosen(load(given.set), given), given.engine, asked_of, _progress)
    except (_NoSuchError, NoModelError, QuestionError, ForeignError, HeldOutError) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, NoModelError) else 1
    if given.json:
        print(json.dumps(as_json(scored, given.engine), ensure_ascii=False))
        return 0
    print(as_text(scored, given.engine))
    if given.failures:
        print("\n" + failures_as_text(scored))
    return 0


class _NoSuchError(ValueError):
    """A category or a persona that there is not; the message names those that there are."""


def _chosen(questions: "Sequence[Question]", given: argparse.Namespace) -> "list[Question]":
    """The questions that the options name. Raises _NoSuchError."""
    if given.persona is not None and given.set != "paraphrases":
        raise _NoSuchError("Only the paraphrases have personas: add --set paraphrases.")
    if given.category is not None and given.set == "paraphrases":
        raise _NoSuchError("The paraphrases have personas and no categories: choose one with --persona.")
    for kind in ("category", "persona"):
        wanted, known = getattr(given, kind), dict.fromkeys(getattr(q, kind) for q in questions)
        if wanted is not None and wanted not in known:
            raise _NoSuchError(f"There is no {kind} {wanted!r}: name one of {', '.join(known)}.")
    return [
        q
        for q in questions
        if given.category in (None, q.category)
        and given.persona in (None, q.persona)
        and (given.questions == "all" or q.held_out == (given.questions == "held_out"))
    ]


def _progress(done: int, of: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done + 1} of {of} questions", end="\n" if done + 1 == of else "", file=sys.stderr, flush=True)

"""`python -m mirror eval`: asks the questions of the evaluation and prints what the answers are worth."""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
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
    parser.add_argument(
        "--without", metavar="INGREDIENT", action="append", default=[], help="with a part of the readers switched off"
    )
    parser.add_argument(
        "--ablations",
        metavar="FILE",
        type=Path,
        help="print what each ingredient brings as a page, from the table in FILE; asked for and stored there where it "
        "is not whole",
    )
    parser.add_argument(
        "--minutes", metavar="M", type=float, default=math.inf, help="of --ablations: begin nothing after so long"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def evaluate(given: argparse.Namespace) -> int:
    """Run the command. Returns the exit status: 0 all asked, 2 no language model is configured, 1 another error."""
    # Here, so that --help is quick.
    from mirror.evaluation.ablations.ingredients import NoIngredientError, ingredient, without
    from mirror.evaluation.fixtures import fixtures
    from mirror.evaluation.foreign_databases import ForeignError, databases
    from mirror.evaluation.questions import QuestionError, load
    from mirror.evaluation.report import as_json, as_text, failures_as_text
    from mirror.evaluation.runner import HeldOutError, NoModelError, run

    if given.ablations:
        return _ablations(given.ablations, given.minutes)
    try:
        off = [ingredient(name) for name in given.without]
        asked_of = databases() if given.set == "foreign" else fixtures(given.set)
        chosen = _chosen(load(given.set), given)
        with without(*off):
            scored = run(chosen, given.engine, asked_of, _progress)
    except (_NoSuchError, NoIngredientError, NoModelError, QuestionError, ForeignError, HeldOutError) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, NoModelError) else 1
    if given.json:
        print(json.dumps(as_json(scored, given.engine), ensure_ascii=False))
        return 0
    print(as_text(scored, given.engine))
    if given.failures:
        print("\n" + failures_as_text(scored))
    return 0


def _ablations(path: Path, minutes: float) -> int:
    """Print the page of the table in a file, which is made or gone on with where it is not whole."""
    from mirror.evaluation.ablation_runs import AblationError, measure
    from mirror.evaluation.ablations.ablations_page import as_page
    from mirror.evaluation.foreign_databases import ForeignError
    from mirror.evaluation.runner import HeldOutError

    try:
        table = measure(path, lambda told: print(told, file=sys.stderr, flush=True), minutes=minutes)
    except (AblationError, ForeignError, HeldOutError) as error:
        print(error, file=sys.stderr)
        return 1
    print(as_page(table), end="")
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

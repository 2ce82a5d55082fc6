"""`python -m mirror eval`: asks the questions of the evaluation and prints what the answers are worth."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mirror.evaluation.questions import Question
    from mirror.evaluation.runner import Scored
    from mirror.evaluation.worlds import World


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The command `eval` and its options."""
    parser = commands.add_parser("eval", help="ask questions with known answers and count the right ones")
    parser.add_argument(
        "--engine", choices=("grammar", "llm"), default="grammar", help="who reads the questions (default: grammar)"
    )
    parser.add_argument(
        "--set",
        choices=("categories", "paraphrases"),
        default="categories",
        help="the questions by category, or one thing asked in the words of three voices (default: categories)",
    )
    parser.add_argument("--category", metavar="C", help="only the questions of one category (default: all)")
    parser.add_argument("--voice", metavar="V", help="of the paraphrases only those of one voice (default: all)")
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
    from mirror.evaluation.questions import QuestionError
    from mirror.evaluation.report import failures_as_text
    from mirror.evaluation.runner import NoModelError, run

    try:
        asked = _set(given)
        scored = run(asked.questions, given.engine, asked.worlds, _progress)
    except (_NoSuchError, NoModelError, QuestionError) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, NoModelError) else 1
    if given.json:
        print(json.dumps(asked.as_json(scored, given.engine), ensure_ascii=False))
        return 0
    print(asked.as_text(scored, given.engine))
    if given.failures:
        print("\n" + failures_as_text(scored))
    return 0


@dataclass(frozen=True)
class _Set:
    """Questions, where they are asked, and how what they come to is told."""

    questions: "Sequence[Question]"
    worlds: "Sequence[World]"
    as_text: "Callable[[Sequence[Scored], str], str]"
    as_json: "Callable[[Sequence[Scored], str], dict[str, Any]]"


def _set(given: argparse.Namespace) -> _Set:
    if given.set == "paraphrases":
        from mirror.evaluation.voices import load_voices
        from mirror.evaluation.voices_report import voices_as_json, voices_as_text
        from mirror.evaluation.voices_worlds import VOICES_WORLDS

        if given.category is not None:
            raise _NoSuchError("The paraphrases have voices and no categories: choose one with --voice.")
        chosen = _chosen(load_voices(), "voice", given.voice, given.questions)
        return _Set(chosen, VOICES_WORLDS, voices_as_text, voices_as_json)
    from mirror.evaluation.questions import load
    from mirror.evaluation.report import as_json, as_text
    from mirror.evaluation.worlds import WORLDS

    if given.voice is not None:
        raise _NoSuchError("Only the paraphrases have voices: add --set paraphrases.")
    return _Set(_chosen(load(), "category", given.category, given.questions), WORLDS, as_text, as_json)


class _NoSuchError(ValueError):
    """A category or a voice that there is not; the message names those that there are."""


def _chosen(questions: "Sequence[Question]", kind: str, category: str | None, which: str) -> "list[Question]":
    known = list(dict.fromkeys(q.category for q in questions))
    if category is not None and category not in known:
        raise _NoSuchError(f"There is no {kind} {category!r}: name one of {', '.join(known)}.")
    return [
        q
        for q in questions
        if category in (None, q.category) and (which == "all" or q.held_out == (which == "held_out"))
    ]


def _progress(done: int, of: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done + 1} of {of} questions", end="\n" if done + 1 == of else "", file=sys.stderr, flush=True)

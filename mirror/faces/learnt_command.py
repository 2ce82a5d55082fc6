"""`mirror learnt`: what was learnt from choices about a source, and how to take it back."""

import argparse
import sys
from typing import Any

from db.plain_text import printable


def add_parser(commands: Any) -> None:
    """Add the command to a parser's commands."""
    parser = commands.add_parser(
        "learnt", help="what was learnt from the choices you made: list it, take it back, use a word at once"
    )
    parser.add_argument("--db", metavar="URL", help="results or other data: URL or path (default: MIRROR_DB)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--forget", metavar="TEXT", help="take back a question or a word")
    what.add_argument("--forget-all", action="store_true", help="take back everything")
    what.add_argument("--use", metavar="WORD", help="read a word that was heard once from now on as it was meant")


def learnt(given: argparse.Namespace) -> int:
    """Run the command. Returns the exit status: 0 done, 1 what could not be read or written, 2 nothing of the kind."""
    from mirror.answer.answering import subject_of
    from mirror.answer.subject import FAILURES
    from mirror.query.kept.learnt_file import Learnt
    from mirror.query.kept.learnt_text import LearntError

    def run(file: Learnt) -> tuple[str, int]:
        if given.forget_all:
            return f"{file.forget_all()} entries are forgotten.", 0
        if given.forget is not None:
            done = file.forget(given.forget)
            return (f"Forgotten: {given.forget}" if done else f"Nothing is learnt of “{given.forget}”."), 2 - 2 * done
        if given.use is not None:
            done = file.keep(given.use)
            told = f"“{given.use}” is used from now on." if done else f"“{given.use}” was not heard yet."
            return told, 2 - 2 * done
        return listed(file), 0

    try:
        file = subject_of(db=given.db).habits.file
        text, status = run(file) if file else ("Nothing is learnt: MIRROR_LEARNT is 0.", 0)
    except (*FAILURES, LearntError) as error:
        text, status = str(error), 1
    print(printable(text, keep="\n"), file=sys.stderr if status else sys.stdout)
    return status


def listed(file: Any) -> str:
    """All of a file for a terminal. Raises LearntError."""
    known = file.contents()
    parts = []
    if known.words:
        parts.append("Words:\n" + "\n".join(f"  {word}: {means}" for word, means in known.words.items()))
    if known.heard:
        lines = (f"  {h.word}: {h.means}  (--use {h.word}, or once more in another question)" for h in known.heard)
        parts.append("Words that are not used yet:\n" + "\n".join(lines))
    if known.questions:
        lines = (f"  {q.asked}\n    → {q.meant}  ({q.date}, chosen {q.count}x)" for q in known.questions)
        parts.append("Questions, each answered as it was meant:\n" + "\n".join(lines))
    return "\n\n".join([*(parts or ["Nothing is learnt yet."]), f"They are kept in {file.path}"])

"""Asks questions with each ingredient of the readers off and stores what changed; a run that is killed goes on.

Each question ends as one letter (`OUTCOMES`). Letters are kept beside the table while it is being made, a line each, so
that what was asked is not asked again; the table itself holds counts only, of open and of held-out questions alike.
"""

import contextlib
import hashlib
import json
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

from mirror.evaluation.ablations.ingredients import INGREDIENTS, Ingredient, without
from mirror.evaluation.ablations.remembered import remembering
from mirror.evaluation.ablations.swapped import swapped
from mirror.evaluation.ablations.unused_forms import noted
from mirror.evaluation.fixtures import Fixture, fixtures
from mirror.evaluation.foreign_databases import ForeignDatabase, databases
from mirror.evaluation.questions import Question, QuestionSet, load
from mirror.evaluation.runner import Asking, Scored

SETS: tuple[QuestionSet, ...] = ("foreign", "paraphrases", "categories")
# Of the open questions of a set one in so many is asked: those that are held out say more, and all are asked.
ONE_IN: Mapping[str, int] = {"foreign": 3, "paraphrases": 1, "categories": 2}
# How a question may end, each with its letter.
OUTCOMES = {
    "R": "right at once", "N": "rightly refused or asked back", "S": "shown, the right one among them",
    "B": "shown or asked back, the right one not among them", "F": "refused", "W": "wrong", "E": "error",
}  # fmt: skip
_PACKAGES = ("numpy", "duckdb", "sqlglot", "snowballstemmer")
_ALL_ON = ""  # the name of no ingredient
_MIRROR = Path(__file__).parents[1]

Half = str  # `open` or `held out`
Progress = Callable[[str], None]


class AblationError(ValueError):
    """A table that cannot be gone on with; the message says why and what to do."""


@dataclass(frozen=True)
class _Group:
    """Questions that are asked of the same fixtures."""

    of: QuestionSet
    asked_of: tuple[Fixture | ForeignDatabase, ...]
    questions: tuple[Question, ...]


def measure(path: Path, progress: Progress = lambda _: None, sets: Sequence[QuestionSet] = SETS) -> dict[str, Any]:
    """The table of a file; made, and stored there, where it is not there yet.

    Args:
        path: the table; beside it `.partial`, with the letters so far, until it is whole.
        progress: is told what is being asked.
        sets: the sets of questions.

    Raises AblationError where a table was begun with other code, and what asking raises.
    """
    if path.is_file():
        return dict(json.loads(path.read_text()))
    groups = [group for of in sets for group in _groups(of)]
    kept = _Kept(path.with_name(f"{path.name}.partial"))
    with kept:
        for number, group in enumerate(groups):
            progress(f"{group.of}, {number + 1} of {len(groups)}")
            _ask(group, kept, progress)
        table = _table(kept, groups)
    path.write_text(json.dumps(table, indent=1) + "\n")
    kept.path.unlink()
    return table


def _groups(of: QuestionSet) -> Iterator[_Group]:
    questions = [q for q in load(of) if q.held_out or _is_asked(q, of)]
    if of != "foreign":
        yield _Group(of, tuple(fixtures(of)), tuple(questions))
        return
    for database in databases():
        own = tuple(q for q in questions if q.fixtures == (database.name,))
        yield _Group(of, (database,), own)


def _is_asked(question: Question, of: QuestionSet) -> bool:
    digest = hashlib.sha256(f"ablation: {question.id}".encode()).digest()
    return int.from_bytes(digest[:6], "big") % ONE_IN[of] == 0


def _ask(group: _Group, kept: "_Kept", progress: Progress) -> None:
    """Ask the questions of a group with everything on, then with each ingredient off."""
    off = [one for one in INGREDIENTS if group.of in one.of]
    if all(kept.has(group.of, name, q) for name in (_ALL_ON, *(i.name for i in off)) for q in group.questions):
        return
    with Asking("grammar", group.asked_of) as asking, swapped(remembering()):
        _ask_all_on(group, asking, kept)
        for one in off:
            progress(f"{group.of}, without {one.name}")
            _ask_without(one, group, asking, kept)


def _ask_all_on(group: _Group, asking: Asking, kept: "_Kept") -> None:
    for question in group.questions:
        if not kept.has(group.of, _ALL_ON, question):
            seen: set[str] = set()
            with swapped([noted(seen)]):
                asking.forget()
                kept.add(group.of, _ALL_ON, question, asking.scored(question), sorted(seen))


def _ask_without(one: Ingredient, group: _Group, asking: Asking, kept: "_Kept") -> None:
    left = [q for q in group.questions if not kept.has(group.of, one.name, q)]
    if one.is_form:
        for question in [q for q in left if one.name not in kept.forms(group.of, q)]:
            kept.copy(group.of, one.name, question)
        left = [q for q in left if one.name in kept.forms(group.of, q)]
    if left:
        with without(one):
            asking.forget()
            for question in left:
                kept.add(group.of, one.name, question, asking.scored(question))
        asking.forget()


def outcome(scored: Scored) -> str:
    """The letter of how a question ended; of several fixtures the worst counts."""
    if scored.verdict == "right":
        return "R" if scored.question.expect in ("answered", "action") else "N"
    if scored.verdict == "asked back":
        return "S" if scored.among else "B"
    return {"wrong": "W", "refused": "F"}.get(scored.verdict, "E")


class _Kept(contextlib.AbstractContextManager["_Kept"]):
    """The letters so far, in a file that a line is added to for each question."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.began = 0.0
        self._letters: dict[tuple[str, str, str], str] = {}
        self._forms: dict[tuple[str, str], list[str]] = {}
        self._seconds = 0.0
        self._file: TextIO | None = None

    def __enter__(self) -> "_Kept":
        code = code_of_readers()
        lines = self.path.read_text().splitlines() if self.path.is_file() else []
        if lines and json.loads(lines[0])["code"] != code:
            raise AblationError(f"{self.path} was begun with other readers or questions: delete it to begin anew.")
        for line in lines[1:]:
            with contextlib.suppress(json.JSONDecodeError):  # the last one, where the run was killed over it
                self._take(json.loads(line))
        self._file = self.path.open("a")
        if not lines:
            self._file.write(json.dumps({"code": code}) + "\n")
        elif not self.path.read_text().endswith("\n"):
            self._file.write("\n")
        self.began = time.monotonic()
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._file
        self._file.close()

    def _take(self, line: Mapping[str, Any]) -> None:
        self._letters[line["set"], line["off"], line["id"]] = line["letter"]
        self._seconds += line["seconds"]
        if line["off"] == _ALL_ON:
            self._forms[line["set"], line["id"]] = line["forms"]

    def has(self, of: str, off: str, question: Question) -> bool:
        """Whether a question was asked."""
        return (of, off, question.id) in self._letters

    def forms(self, of: str, question: Question) -> list[str]:
        """The forms that readers came upon with everything on."""
        return self._forms[of, question.id]

    def add(self, of: str, off: str, question: Question, scored: Scored | None, forms: Sequence[str] = ()) -> None:
        """Keep how a question ended; ` ` where no fixture can answer it."""
        seconds, self.began = time.monotonic() - self.began, time.monotonic()
        self._write(of, off, question, outcome(scored) if scored else " ", seconds, forms)

    def copy(self, of: str, off: str, question: Question) -> None:
        """Keep that it ended as with everything on."""
        self._write(of, off, question, self._letters[of, _ALL_ON, question.id], 0.0, ())

    def _write(self, of: str, off: str, question: Question, letter: str, seconds: float, forms: Sequence[str]) -> None:
        line = {"set": of, "off": off, "id": question.id, "letter": letter, "seconds": round(seconds, 3)}
        line |= {"forms": list(forms)} if off == _ALL_ON else {}
        self._take(line)
        assert self._file
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def letters(self, of: str, off: str, questions: Sequence[Question]) -> str:
        """How questions ended, a letter each."""
        return "".join(self._letters[of, off, q.id] for q in questions)

    @property
    def seconds(self) -> float:
        """What all of it took, the runs before a kill too."""
        return self._seconds


def _table(kept: _Kept, groups: Sequence[_Group]) -> dict[str, Any]:
    asked: dict[QuestionSet, list[Question]] = {}
    for group in groups:
        asked.setdefault(group.of, []).extend(group.questions)
    return {
        "asked_on": datetime.now(UTC).date().isoformat(),
        "machine": _machine(),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        "readers": code_of_readers(),
        "minutes": round(kept.seconds / 60, 1),
        "one_in": {of: ONE_IN[of] for of in asked},
        "sets": [
            part
            for of, questions in asked.items()
            for half in ("held out", "open")
            if (part := _part(kept, of, half, [q for q in questions if q.held_out == (half == "held out")]))
        ],
    }


def _part(kept: _Kept, of: QuestionSet, half: Half, questions: Sequence[Question]) -> dict[str, Any]:
    """The counts of one half of a set."""
    before = kept.letters(of, _ALL_ON, questions)
    off = {i.name: kept.letters(of, i.name, questions) for i in INGREDIENTS if of in i.of}
    told = {
        "set": of,
        "half": half,
        "n": len(before.replace(" ", "")),
        "databases": len({q.fixtures for q in questions}) if of == "foreign" else 0,
        "all_on": _counts(before),
        "without": {name: {"counts": _counts(after), **_changes(before, after)} for name, after in off.items()},
    }
    return told if told["n"] else {}


def _counts(letters: str) -> dict[str, int]:
    counted = Counter(letters)
    return {letter: counted[letter] for letter in OUTCOMES}


def _changes(before: str, after: str) -> dict[str, Any]:
    """(gained, lost) of what is right at once, right at once or among what is shown, and wrong; and how many changed."""
    pairs = list(zip(before, after, strict=True))

    def of(letters: str) -> list[int]:
        gained = sum(b not in letters and a in letters for b, a in pairs)
        return [gained, sum(b in letters and a not in letters for b, a in pairs)]

    return {"right": of("R"), "reached": of("RS"), "wrong": of("W"), "changed": sum(b != a for b, a in pairs)}


def code_of_readers() -> str:
    """A short text that is another one where anything has changed that answers depend on: code, words, questions."""
    digest = hashlib.sha256()
    for path in sorted(_MIRROR.rglob("*")):
        rest = path.relative_to(_MIRROR)
        shown = rest.parts[0] == "faces" or (rest.parts[0] == "evaluation" and path.suffix in (".py", ".json"))
        trained = rest.parts[:2] == ("language", "train")
        if path.suffix in (".py", ".yaml", ".json", ".npz", ".sql", ".zip") and not shown and not trained:
            digest.update(str(rest).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _machine() -> str:
    """The processor, as Linux calls it, and how many of its cores there are."""
    cpus = Path("/proc/cpuinfo")
    named = cpus.read_text().splitlines() if cpus.is_file() else []
    model = next((line.partition(":")[2].strip() for line in named if line.startswith("model name")), "")
    return f"{model or platform.machine()}, {os.cpu_count()} cores"

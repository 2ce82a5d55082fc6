"""Asks questions with each ingredient of the readers off and stores what changed; a run that is killed goes on.

Each question ends as one letter (`OUTCOMES`). Letters are kept beside the table while it is being made, a line each, so
that what was asked is not asked again; the table itself holds counts only, of open and of held-out questions alike.
"""

import contextlib
import hashlib
import json
import math
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TextIO

from mirror.evaluation.ablations.ingredients import INGREDIENTS, Ingredient, noting, without
from mirror.evaluation.ablations.remembered import remembering
from mirror.evaluation.ablations.swapped import swapped
from mirror.evaluation.fixtures import Fixture, fixtures
from mirror.evaluation.foreign_databases import ForeignDatabase, databases
from mirror.evaluation.questions import Question, QuestionSet, load
from mirror.evaluation.runner import Asking, Scored

Half = Literal["held out", "open"]
# In this order: what is held out says what an ingredient brings, what is open says what was built for it.
PARTS: tuple[tuple[QuestionSet, Half], ...] = tuple(
    (of, half) for half in ("held out", "open") for of in ("foreign", "paraphrases", "categories")
)
# Of each part one question in so many is asked, by a hash of its id.
ONE_IN: Mapping[tuple[QuestionSet, Half], int] = {
    ("foreign", "held out"): 2,
    ("paraphrases", "held out"): 1,
    ("categories", "held out"): 1,
    ("foreign", "open"): 8,
    ("paraphrases", "open"): 2,
    ("categories", "open"): 4,
}
# How a question may end, each with its letter.
OUTCOMES = {
    "R": "right at once", "N": "rightly refused or asked back", "S": "shown, the right one among them",
    "B": "shown or asked back, the right one not among them", "F": "refused", "W": "wrong", "E": "error",
}  # fmt: skip
_PACKAGES = ("numpy", "duckdb", "sqlglot", "snowballstemmer")
_TOGETHER = 26  # questions over the results that are asked before others are
_ALL_ON = ""  # the name of no ingredient
_MIRROR = Path(__file__).parents[1]

Progress = Callable[[str], None]


class AblationError(ValueError):
    """A table that cannot be gone on with; the message says why and what to do."""


@dataclass(frozen=True)
class _Group:
    """Questions that are asked of the same fixtures."""

    of: QuestionSet
    asked_of: tuple[Fixture | ForeignDatabase, ...]
    questions: tuple[Question, ...]


def measure(
    path: Path,
    progress: Progress = lambda _: None,
    parts: Sequence[tuple[QuestionSet, Half]] = PARTS,
    minutes: float = math.inf,
) -> dict[str, Any]:
    """The table of a file, stored after each part; what is there already, if of other readers, is not asked again.

    Args:
        path: the table; beside it `.partial`, with the letters so far, until all parts are whole.
        progress: is told what is being asked.
        parts: (set, half) in the order in which they are asked.
        minutes: after so long no further questions are begun; a part then holds those that were asked with every
            ingredient off, and is gone on with by the next call.

    Raises AblationError where a part was begun with other code, and what asking raises.
    """
    table = json.loads(path.read_text()) if path.is_file() else {"parts": []}
    there = {(part["set"], part["half"]): part for part in table["parts"]}
    if all(part in there and there[part]["whole"] for part in parts):
        return dict(table)
    code, until = code_of_readers(), time.monotonic() + 60 * minutes
    if any(not part["whole"] and part["readers"] != code for part in table["parts"]):
        raise AblationError(f"{path} was begun with other readers or questions: delete it to begin anew.")
    made_by = {"readers": code, "machine": _machine(), "versions": _versions()}
    with _Kept(path.with_name(f"{path.name}.partial"), code) as kept:
        for of, half in (part for part in parts if part not in there or not there[part]["whole"]):
            groups = list(_groups(of, half))
            for number, group in enumerate(groups):
                if time.monotonic() < until:
                    at = f"{of}, {half}, {number + 1} of {len(groups)}"
                    _ask(group, kept, lambda told, at=at: progress(at + told))  # type: ignore[misc]
            done = [group for group in groups if kept.is_whole(group)]
            if done:
                there[of, half] = _part(kept, of, half, [q for group in done for q in group.questions])
                there[of, half] |= {"whole": len(done) == len(groups), **made_by}
                table["parts"] = list(there.values())
                path.write_text(json.dumps(table, indent=1) + "\n")
    if all(part in there and there[part]["whole"] for part in parts):
        kept.path.unlink()
    return dict(table)


def _groups(of: QuestionSet, half: Half) -> Iterator[_Group]:
    """The questions of a part: those of a database together, those over the results by chance."""
    in_half = [q for q in load(of) if q.held_out == (half == "held out")]
    questions = sorted((q for q in in_half if _drawn(q) % ONE_IN[of, half] == 0), key=_drawn)
    if of != "foreign":
        for first in range(0, len(questions), _TOGETHER):
            yield _Group(of, tuple(fixtures(of)), tuple(questions[first : first + _TOGETHER]))
        return
    for database in databases():
        if own := tuple(q for q in questions if q.fixtures == (database.name,)):
            yield _Group(of, (database,), own)


def _drawn(question: Question) -> int:
    """A number by chance, the same each time."""
    return int.from_bytes(hashlib.sha256(f"ablation: {question.id}".encode()).digest()[:6], "big")


def _ask(group: _Group, kept: "_Kept", progress: Progress) -> None:
    """Ask the questions of a group with everything on, then with each ingredient off."""
    if kept.is_whole(group):
        return
    with Asking("grammar", group.asked_of) as asking, swapped(remembering()):
        progress("")
        _ask_all_on(group, asking, kept)
        for one in (one for one in INGREDIENTS if group.of in one.of):
            progress(f", without {one.name}")
            _ask_without(one, group, asking, kept)


def _ask_all_on(group: _Group, asking: Asking, kept: "_Kept") -> None:
    met: set[str] = set()
    with noting(met):
        for question in group.questions:
            if not kept.has(group.of, _ALL_ON, question):
                met.clear()
                asking.forget()
                kept.add(group.of, _ALL_ON, question, asking.scored(question), sorted(met))


def _ask_without(one: Ingredient, group: _Group, asking: Asking, kept: "_Kept") -> None:
    left = [q for q in group.questions if not kept.has(group.of, one.name, q)]
    if one.seldom:
        for question in [q for q in left if one.name not in kept.met(group.of, q)]:
            kept.copy(group.of, one.name, question)
        left = [q for q in left if one.name in kept.met(group.of, q)]
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

    def __init__(self, path: Path, code: str) -> None:
        self.path = path
        self._code = code
        self._letters: dict[tuple[str, str, str], str] = {}
        self._met: dict[tuple[str, str], list[str]] = {}
        self._seconds: Counter[tuple[str, str]] = Counter()
        self._file: TextIO | None = None

    def __enter__(self) -> "_Kept":
        lines = self.path.read_text().splitlines() if self.path.is_file() else []
        if lines and json.loads(lines[0])["code"] != self._code:
            raise AblationError(f"{self.path} was begun with other readers or questions: delete it to begin anew.")
        for line in lines[1:]:
            with contextlib.suppress(json.JSONDecodeError):  # the last one, where the run was killed over it
                self._take(json.loads(line))
        self._file = self.path.open("a")
        if not lines:
            self._file.write(json.dumps({"code": self._code}) + "\n")
        elif not self.path.read_text().endswith("\n"):
            self._file.write("\n")
        self._began = time.monotonic()
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._file
        self._file.close()

    def _take(self, line: Mapping[str, Any]) -> None:
        self._letters[line["set"], line["off"], line["id"]] = line["letter"]
        self._seconds[line["set"], line["id"]] += line["seconds"]
        if line["off"] == _ALL_ON:
            self._met[line["set"], line["id"]] = line["met"]

    def has(self, of: str, off: str, question: Question) -> bool:
        """Whether a question was asked."""
        return (of, off, question.id) in self._letters

    def is_whole(self, group: _Group) -> bool:
        """Whether all questions of a group were asked with everything on and with each ingredient off."""
        names = (_ALL_ON, *(one.name for one in INGREDIENTS if group.of in one.of))
        return all(self.has(group.of, name, question) for name in names for question in group.questions)

    def met(self, of: str, question: Question) -> list[str]:
        """The ingredients seldom needed that a question with everything on came upon."""
        return self._met[of, question.id]

    def add(self, of: str, off: str, question: Question, scored: Scored | None, met: Sequence[str] = ()) -> None:
        """Keep how a question ended; ` ` where no fixture can answer it."""
        seconds, self._began = time.monotonic() - self._began, time.monotonic()
        self._write(of, off, question, outcome(scored) if scored else " ", seconds, met)

    def copy(self, of: str, off: str, question: Question) -> None:
        """Keep that it ended as with everything on."""
        self._write(of, off, question, self._letters[of, _ALL_ON, question.id], 0.0, ())

    def _write(self, of: str, off: str, question: Question, letter: str, seconds: float, met: Sequence[str]) -> None:
        line = {"set": of, "off": off, "id": question.id, "letter": letter, "seconds": round(seconds, 3)}
        line |= {"met": list(met)} if off == _ALL_ON else {}
        self._take(line)
        assert self._file
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def letters(self, of: str, off: str, questions: Sequence[Question]) -> str:
        """How questions ended, a letter each."""
        return "".join(self._letters[of, off, q.id] for q in questions)

    def seconds(self, of: str, questions: Sequence[Question]) -> float:
        """What these questions took, with the runs before a kill."""
        return sum(self._seconds[of, q.id] for q in questions)


def _part(kept: _Kept, of: QuestionSet, half: Half, questions: Sequence[Question]) -> dict[str, Any]:
    """The counts of one half of a set."""
    before = kept.letters(of, _ALL_ON, questions)
    off = {i.name: kept.letters(of, i.name, questions) for i in INGREDIENTS if of in i.of}
    return {
        "set": of,
        "half": half,
        "asked_on": datetime.now(UTC).date().isoformat(),
        "minutes": round(kept.seconds(of, questions) / 60, 1),
        "one_in": ONE_IN[of, half],
        "databases": len({q.fixtures for q in questions}) if of == "foreign" else 0,
        "all_databases": len({q.fixtures for group in _groups(of, half) for q in group.questions})
        if of == "foreign"
        else 0,
        "n": sum(letter in OUTCOMES for letter in before),
        "all_on": _counts(before),
        "without": {name: {"counts": _counts(after), **_changes(before, after)} for name, after in off.items()},
    }


def _versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def _counts(letters: str) -> dict[str, int]:
    counted = Counter(letters)
    return {letter: counted[letter] for letter in OUTCOMES}


def _changes(before: str, after: str) -> dict[str, Any]:
    """(gained, lost) of right at once, of right at once or among what is shown, and of wrong; and how many changed."""
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

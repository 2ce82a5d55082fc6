"""The paraphrases: one thing asked in the words of three voices, as questions of the evaluation."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from db.columns import AXES
from mirror.evaluation.questions import Gold, Question, QuestionError
from mirror.evaluation.voices_worlds import COMMON, VOICES_WORLDS
from mirror.runs.run_plan import Scalar

FILE = Path(__file__).parent / "paraphrases.yaml"
VOICES = ("researcher", "engineer", "newcomer")
_EXPECTED = {"answer": "answered", "refuse": "refused", "ask": "ambiguous"}
_KEYS = {"id", "voice", "question", "expect", "also", "means", "must", "aside", "either_sign", "order", "worlds"}
# What tells rows apart, or says more of a row. A method is what most questions are about, so an answer has to name it.
_TELLING = frozenset(
    (
        *AXES, "machine", "machine_id", "trial_id", "sweep", "status", "error", "started_at", "day", "week",
        "code_version", "stop_reason", "verdict",
    )
) - {"method"}  # fmt: skip
# What a question means that does not speak of it, and the words that do.
_SILENT: tuple[tuple[str, Scalar, str], ...] = (
    ("direction", "forward", r"\bfwd|forward|backward|\bdirection"),
    ("cache", "warm", r"\bcaches?\b|\bwarm|\bcold"),
)


def load_voices(file: Path = FILE) -> tuple[Question, ...]:
    """All paraphrases, in the order of the file; their category is the voice. Raises QuestionError."""
    entries = yaml.safe_load(file.read_text())
    try:
        found = tuple(_question(entry) for entry in entries)
    except (AttributeError, KeyError, TypeError) as error:
        raise QuestionError(f"{file.name} lacks a key or has one of another kind ({error!r}).") from error
    ids = [q.id for q in found]
    if again := sorted({i for i in ids if ids.count(i) > 1}):
        raise QuestionError(f"two questions are called {again[0]}: give one another id.")
    return found


def _question(given: Mapping[str, Any]) -> Question:
    name, words = given["id"], given["question"]
    if problem := _problem(given):
        raise QuestionError(f"question {name} {problem}.")
    must = frozenset(given.get("must", ()))
    gold = {
        "order": given.get("order", ""),
        "per": True,  # sorted as a whole is sorted within each kind of work too, and both are fair
        "keys": _TELLING - must,
        "aside": frozenset(given.get("aside", ())),
        "either_sign": frozenset(given.get("either_sign", ())),
        "replicates": "n" not in must,
        "of": "results",
    }
    return Question(
        id=name,
        category=given["voice"],
        ask=words,
        expect=_EXPECTED[given["expect"]],
        also=tuple(given.get("also", ())),
        golds=tuple(Gold(sql, **gold) for sql in given.get("means", ())),
        worlds=tuple(given.get("worlds", (w.name for w in COMMON))),
        held_out=held_out(name),
        silent={column: value for column, value, names in _SILENT if not re.search(names, words, re.IGNORECASE)},
    )


def held_out(name: str) -> bool:
    """Whether the question of this id is in the half that nobody looks at: a hash of the id says so."""
    return hashlib.sha256(f"voices: {name}".encode()).digest()[0] % 2 == 1


def _problem(given: Mapping[str, Any]) -> str:
    if unknown := sorted(set(given) - _KEYS):
        return f"has the key {unknown[0]!r}: it may have {', '.join(sorted(_KEYS))}"
    if given["voice"] not in VOICES:
        return f"is in a voice that there is not: {given['voice']}"
    if given["expect"] not in _EXPECTED or not set(given.get("also", ())) <= {"empty"}:
        return f"expects what there is not: {given['expect']}, {', '.join(given.get('also', ()))}"
    if (given["expect"] == "answer") != bool(given.get("means")):
        return "expects an answer without saying which, or the other way round"
    if unknown := sorted(set(given.get("worlds", ())) - {w.name for w in VOICES_WORLDS}):
        return f"names a world that there is not: {', '.join(unknown)}"
    return ""

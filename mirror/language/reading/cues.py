"""The words of questions about any data, from `mirror/words/reading`: cues, measure words, synonyms, short forms."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FOLDER = Path(__file__).parents[2] / "words" / "reading"


@dataclass(frozen=True)
class Cue:
    """A word that says what is to be done.

    Attributes:
        kind: such as `agg`, `cmp`, `sup`, `by`.
        meaning: which of its kind.
        of: for adjectives, words of the columns that it asks for, the surest first.
        turned: whether over a date the meaning turns round.
        rows: whether it may count rows where no such column is there.
        own: a table whose usual number is meant.
    """

    kind: str
    meaning: str
    of: tuple[str, ...] = ()
    turned: bool = False
    rows: bool = False
    own: str = ""


@cache
def _load(name: str) -> Any:
    text = (_FOLDER / f"{name}.yaml").read_text()
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@cache
def cues() -> Mapping[tuple[str, ...], tuple[Cue, ...]]:
    """Phrase, as its words in lower case -> what it may mean."""
    found: dict[tuple[str, ...], list[Cue]] = {}

    def add(phrase: str, cue: Cue) -> None:
        known = found.setdefault(tuple(phrase.replace("-", " ").split()), [])
        if cue not in known:
            known.append(cue)

    for entry in _load("cues"):
        for phrase in entry["phrases"]:
            add(str(phrase), Cue(entry["kind"], str(entry["meaning"])))
    for entry in _load("measures"):
        of, turned, rows = tuple(entry["of"]), entry.get("turned", False), entry.get("rows", False)
        for meaning in ("high", "low"):
            for phrase in entry.get(meaning, ()):
                add(phrase, Cue("adj", "max" if meaning == "high" else "min", of, turned, rows))
        for phrase in entry.get("how", ()):
            add(phrase, Cue("measure", "value", of, turned, rows))
    return {phrase: tuple(known) for phrase, known in found.items()}


@cache
def longest_cue() -> int:
    """Words of the longest phrase."""
    return max(map(len, cues()))


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """Word -> the words that people use for it."""
    found: dict[str, set[str]] = {}
    for circle in _load("synonyms"):
        for word in circle:
            found.setdefault(str(word), set()).update(str(w) for w in circle if w != word)
    return {word: frozenset(others) for word, others in found.items()}


@cache
def abbreviations() -> Mapping[str, str]:
    """Short form in a name -> what it stands for."""
    return {str(short): str(full) for short, full in _load("abbreviations").items()}


@cache
def irregular() -> Mapping[str, tuple[str, ...]]:
    """Stem -> forms that no ending gives away."""
    return {base: tuple(forms) for base, forms in _load("irregular").items()}


@cache
def kinds() -> Mapping[str, tuple[str, ...]]:
    """Kind of names -> words that tell it."""
    return {kind: tuple(words) for kind, words in _load("kinds").items()}

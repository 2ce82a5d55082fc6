"""What people say, as data: a file beside this module for each kind of phrase, read when it is first asked for.

A file holds sections, a section meanings, and a meaning its phrases, with texts that mean it and texts that do not:

    verbs:
      retry: [retry]
      run: {phrases: [run, start], examples: [run hashed at dim 64], not: [run time of hashed]}

A section says where its phrases are read (everywhere, results, other data) or what they are of. Every phrase is plain
text; a meaning may be a number.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # takes all for text: "no" and "1" are words
EVERYWHERE = "everywhere"


@dataclass(frozen=True)
class Entry:
    """What people say for one meaning.

    Attributes:
        section: where the phrases are read, or what they are of.
        meaning: the name that code knows it by, or a number.
        phrases: in lower case, save for units.
        examples: texts that mean it.
        others: texts that do not, though they look alike.
    """

    section: str
    meaning: str
    phrases: tuple[str, ...]
    examples: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@cache
def entries(kind: str) -> tuple[Entry, ...]:
    """All entries of a kind, in the order of its file."""
    text = resources.files("mirror.words").joinpath(f"{kind}.yaml").read_text(encoding="utf-8")
    found = []
    for section, meanings in yaml.load(text, _Loader).items():
        for meaning, written in meanings.items():
            entry = written if isinstance(written, dict) else {"phrases": written}
            found.append(
                Entry(section, meaning, *(tuple(entry.get(part, ())) for part in ("phrases", "examples", "not")))
            )
    return tuple(found)


@cache
def phrases(kind: str, *sections: str) -> Mapping[str, tuple[str, ...]]:
    """Meaning -> phrases, of these sections of a kind."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in entries(kind):
        if entry.section in sections:
            found[entry.meaning] = (*found.get(entry.meaning, ()), *entry.phrases)
    return found


@cache
def numbers(kind: str, *sections: str) -> dict[str, float]:
    """Phrase -> number, of sections whose meanings are numbers."""
    return {phrase: float(n) for n, among in phrases(kind, *sections).items() for phrase in among}


def words(kind: str, *sections: str) -> frozenset[str]:
    """All phrases of these sections, whatever they mean."""
    return frozenset(phrase for among in phrases(kind, *sections).values() for phrase in among)


def one_of(among: Iterable[str]) -> str:
    """A pattern for one of these words, the longest that fits."""
    return "|".join(re.escape(word) for word in sorted(among, key=len, reverse=True))

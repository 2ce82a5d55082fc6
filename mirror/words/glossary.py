"""The glossary: what the words of questions and answers mean, for somebody who meets them for the first time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml


@dataclass(frozen=True)
class Term:
    """A term, what it means in one or two sentences, and its other spellings."""

    term: str
    text: str
    also: tuple[str, ...] = ()


@cache
def terms() -> tuple[Term, ...]:
    """All terms, those that explain others first."""
    text = resources.files("mirror.words").joinpath("glossary.yaml").read_text(encoding="utf-8")
    return tuple(Term(t["term"], t["text"], tuple(map(str, t.get("also", ())))) for t in yaml.safe_load(text))


def found_in(texts: Sequence[str]) -> tuple[Term, ...]:
    """The terms that some texts use, in the order of the glossary."""
    whole = "\n".join(texts)
    return tuple(t for t in terms() if any(_uses(name, whole) for name in (t.term, *t.also)))


def _uses(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}s?(?![\w-])", text, re.IGNORECASE) is not None

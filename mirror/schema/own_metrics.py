"""Metrics of plug-ins that the results hold which were opened last: columns beside those that are always there."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from db.columns import BY_NAME, Column, own_columns

_LETTERS = str.maketrans("0123456789", "abcdefghij")
Said = tuple[str, str, str, str]  # name, text, unit and which direction is better


@dataclass
class _Known:
    """What this process knows: it answers of one set of results at a time."""

    said: tuple[Said, ...] = ()
    columns: tuple[Column, ...] = ()


_known = _Known()


def know(said: Iterable[Said]) -> None:
    """Have these known, and none of other results."""
    if (told := tuple(said)) != _known.said:
        _known.columns, _known.said = own_columns(told), told


def known() -> tuple[Column, ...]:
    """Their columns."""
    return _known.columns


def as_one_word(question: str) -> str:
    """A question in lower case with their names as a word each: `precision_at_100` says no 100, `spread` no chart."""
    for c in sorted(known(), key=lambda c: -len(c.name)):
        words = "[ _]+".join(map(re.escape, c.name.split("_")))
        question = re.sub(rf"(?<![^\W_]){words}(?![^\W_])", one_word(c.name), question)
    return question


def one_word(name: str) -> str:
    """A word of letters that stands for a metric."""
    return name.replace("_", "").translate(_LETTERS)


def role_of(column: str) -> str:
    """The role of a column of a trial."""
    return BY_NAME[column].role if column in BY_NAME else "metric"

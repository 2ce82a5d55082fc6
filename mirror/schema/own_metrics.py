"""Metrics of plug-ins that results hold: columns beside those that are always there, of the results that are asked."""

import re
from collections.abc import Iterable
from contextvars import ContextVar
from functools import lru_cache

from db.columns import BY_NAME, Column, own_columns

_LETTERS = str.maketrans("0123456789", "abcdefghij")
Said = tuple[str, str, str, str]  # name, text, unit and which direction is better


_Columns = tuple[Column, ...]
_here: ContextVar[_Columns] = ContextVar("own_metrics")  # of the results that this thread answers of
_last: list[_Columns] = [()]  # for threads that have opened none


@lru_cache(maxsize=16)
def _columns(said: tuple[Said, ...]) -> _Columns:
    return own_columns(said)


def know(said: Iterable[Said]) -> None:
    """Have these known in this thread, and none of other results."""
    found = _columns(tuple((name, text, unit, better) for name, text, unit, better in said))
    _here.set(found)
    _last[0] = found


def known() -> _Columns:
    """Their columns; in a thread that has opened no results those of the results that were opened last."""
    return _here.get(_last[0])


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

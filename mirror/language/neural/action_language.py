"""What a language of actions is: its words, what it may point at, and which action may come after which."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mirror.language.neural.items import FEATURES, Items

# Kinds of literals -> what they may be pointed at as.
_LITERALS = {
    "number": ("<number>",), "time": ("<time>",), "value": ("<value>", "<text>"), "flag": ("<value>",),
    "text": ("<text>",), "role": ("<role>",),
}  # fmt: skip


class Inexpressible(ValueError):
    """A form that no line of actions says, or a line that says no form."""


@dataclass(frozen=True)
class Action:
    """A word, or a pointer to an item.

    Attributes:
        word: a word of the language, or the kind of what is pointed at.
        item: place of the item; -1 of a word.
    """

    word: str
    item: int = -1


@dataclass(frozen=True)
class State:
    """Where a line of actions stands.

    Attributes:
        at: the name of the place.
        section: how far it has come among the sections of the language, from -1 on.
        inside: the part of the form that is being said.
        measured: whether anything is measured.
        length: how many actions there were.
    """

    at: str = "start"
    section: int = -1
    inside: str = ""
    measured: bool = False
    length: int = 0


@dataclass(frozen=True)
class ActionLanguage:
    """The language of one form.

    Attributes:
        words: its words.
        pointers: kinds of what may be pointed at.
        most_actions: how long a line may be.
        allowed: (state, kinds of pointers that have an item) -> words and kinds of pointers that may come next.
        step: (state, word or kind of pointer that is allowed) -> the state behind it.
        features: what is told of items.
        column_pointer: (table, column) -> the kind of pointer for it.
    """

    words: tuple[str, ...]
    pointers: tuple[str, ...]
    most_actions: int
    allowed: Callable[[State, frozenset[str]], list[str]]
    step: Callable[[State, str], State]
    features: tuple[str, ...] = FEATURES
    column_pointer: Callable[[tuple[str, str]], str] = lambda _: "<column>"

    @cached_property
    def word_at(self) -> dict[str, int]:
        """Word -> its number."""
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def pointer_at(self) -> dict[str, int]:
        """Kind of pointer -> its number."""
        return {kind: i for i, kind in enumerate(self.pointers)}

    def number(self, action: Action) -> int:
        """Of a word or a kind of pointer; the last number is for the beginning."""
        if action.word in self.pointer_at:
            return len(self.words) + self.pointer_at[action.word]
        return self.word_at.get(action.word, len(self.words) + len(self.pointers))

    def classes(self, items: Items) -> np.ndarray:
        """(items, pointers): what each item may be pointed at as."""
        found = np.zeros((len(items.kinds), len(self.pointers)), bool)
        found[items.first_table : items.first_column, self.pointer_at["<table>"]] = True
        for i, column in enumerate(items.columns):
            found[items.first_column + i, self.pointer_at[self.column_pointer(column)]] = True
        for i, literal in enumerate(items.literals):
            for kind in _LITERALS[literal.kind]:
                if kind in self.pointer_at:
                    found[items.first_literal + i, self.pointer_at[kind]] = True
        return found

    def there(self, classes: np.ndarray) -> frozenset[str]:
        """The kinds of pointers that have an item."""
        return frozenset(kind for i, kind in enumerate(self.pointers) if classes[:, i].any())

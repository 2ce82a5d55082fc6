"""Which words of a question may be learnt at all."""

from collections.abc import Sequence
from functools import cache

from mirror.language.reading.lexemes import Token
from mirror.words import phrasebook

_SHORTEST = 3  # letters
# What turns a meaning round is no name of anything, whatever else a question says.
_NEVER = frozenset(
    ("not", "non", "without", "never", "except", "excluding", "unlike", "none", "neither", "nor", "nobody", "nothing",
     "minus", "less", "more", "than", "only", "all", "every", "each", "any", "least", "most", "half", "double", "dozen")
)  # fmt: skip


@cache
def _units() -> frozenset[str]:
    return frozenset(word.lower() for e in phrasebook.entries("units") for word in e.phrases)


def is_learnable(at: int, tokens: Sequence[Token]) -> bool:
    """Whether the word at a place may come to name something: no negation, number or unit, and none beside a number,
    where it may be the unit of it."""
    token = tokens[at]
    beside = [tokens[i] for i in (at - 1, at + 1) if 0 <= i < len(tokens)]
    plain = token.kind == "word" and token.text.isalpha() and len(token.text) >= _SHORTEST and token.number is None
    said = token.text in _NEVER or token.text in _units() or token.text.rstrip("s") in _units()
    return plain and not said and not any(t.number is not None or t.kind in ("number", "date") for t in beside)

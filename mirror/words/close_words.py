"""Known words that a written one may be a slip of."""

import difflib
from collections.abc import Iterable

_ROUNDED = 1e-9


def close_words(word: str, known: Iterable[str], most: int, cutoff: float) -> list[str]:
    """What `difflib.get_close_matches` finds; words of too different a length are left out before it looks at them."""
    length = len(word)
    near = [w for w in known if 2.0 * min(length, len(w)) >= cutoff * (length + len(w)) - _ROUNDED]
    return difflib.get_close_matches(word, near, most, cutoff)

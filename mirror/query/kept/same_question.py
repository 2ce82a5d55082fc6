"""When two texts are one question."""

import re
import unicodedata

from db.plain_text import printable

_MARKS = re.compile(r"[,;:!?.]+(?=\s|$)|(?<!\w)['\"“”„‘’]+|['\"“”‘’]+(?!\w)")


def same_question(question: str) -> str:
    """What two spellings of one question have in common: no case, no spare spaces, no mark at the end."""
    text = unicodedata.normalize("NFKC", printable(question)).casefold()
    return " ".join(text.split()).rstrip(" ?.!")


def same_words(question: str) -> str:
    """The same without the marks between its words: `revenue, by country` is `revenue by country`, 0.1 stays 0.1."""
    return " ".join(_MARKS.sub(" ", same_question(question)).split())

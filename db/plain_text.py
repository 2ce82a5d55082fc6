"""Text from anywhere, fit for a terminal: no control characters, and none that is invisible or turns text round."""

import html
import re
from collections.abc import Iterable, Sequence

# What is copied along unseen: soft hyphens, marks of direction, word joiners, byte order marks. Not the joiners of
# Persian and emoji, which are part of words.
_UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def seen(text: str) -> str:
    """The text without characters that nobody sees and that would cut a word in two."""
    return _UNSEEN.sub("", text)


def printable(text: str, keep: str = "") -> str:
    """The text with a space for every character that does not print as itself: ESC, newline, bidi overrides ...

    Args:
        keep: characters that stay as they are, such as the newlines of a long text.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() or c in keep else " " for c in text)


def plain_text(value: object, longest: int = 60) -> str:
    """Text from data on one line: no control or invisible characters, cut at `longest`."""
    text = " ".join(printable(str(value)).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def in_markdown(value: object, longest: int = 1200) -> str:
    """Text on one line that Markdown, in a table too, shows as it stands."""
    escaped = "".join(f"\\{c}" if c in "\\`*_{}[]#|~" else c for c in plain_text(value, longest))
    return html.escape(escaped, quote=False)


def markdown_table(head: Sequence[object], rows: Iterable[Sequence[object]], align: Sequence[str] = ()) -> str:
    """A table in Markdown that shows all cells as they stand.

    Args:
        align: of each column, `---` or `---:`; to the left by default.
    """
    lines = [list(map(in_markdown, head)), list(align) or ["---"] * len(head)]
    lines += [list(map(in_markdown, row)) for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

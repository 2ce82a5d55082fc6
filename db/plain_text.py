"""Text from anywhere, fit for a terminal: no control characters, and none that is invisible or turns text round."""


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

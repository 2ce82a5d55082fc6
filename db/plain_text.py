"""Text from anywhere, fit for a terminal: no control characters, and none that is invisible or turns text round."""


def printable(text: str, keep: str = "") -> str:
    """The text with a space for every character that does not print as itself: ESC, newline, bidi overrides ...

    Args:
        keep: characters that stay as they are, such as the newlines of a long text.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() or c in keep else " " for c in text)

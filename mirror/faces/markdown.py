"""Text in Markdown: as it stands, or with code set as code."""

import re


def plain(text: str) -> str:
    """Text that Markdown shows as it stands: all that came from data, a model or a person goes through here."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text).replace("\n", "  \n")


def prose(text: str) -> str:
    """`plain`, but for what stands between backticks: it is set as code."""
    parts = re.split(r"`([^`\n]+)`", text)
    return "".join(f"`{part}`" if i % 2 else plain(part) for i, part in enumerate(parts))

"""Small files in which the system tells about itself; any of them may be missing."""

from pathlib import Path


def text(path: Path) -> str:
    """The file's text without white space around it; empty when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def number(path: Path) -> int | None:
    """The whole number that the file holds; None when it holds anything else or cannot be read."""
    try:
        return int(text(path))
    except ValueError:
        return None


def fields(path: Path, separator: str = ":") -> dict[str, str]:
    """Lines such as `VmRSS:  1234 kB` by the word in front of the separator."""
    lines = (line.partition(separator) for line in text(path).splitlines())
    return {key.strip(): value.strip() for key, found, value in lines if found}

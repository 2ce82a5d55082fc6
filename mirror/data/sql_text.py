"""Texts and names as the SQL of DuckDB and SQLite holds them."""

import glob
from pathlib import Path


def literal(text: str) -> str:
    """A text, whatever it holds."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A name, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def file_literal(path: Path) -> str:
    """The path as SQL, of that file alone: DuckDB takes * ? [ for a pattern."""
    return literal(glob.escape(str(path)))

"""Texts and names as the SQL of DuckDB and SQLite holds them."""


def literal(text: str) -> str:
    """A text, whatever it holds."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A name, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'

"""The different texts of one column, trimmed and without those that mean “nothing here”, to be asked about in SQL."""

from typing import Any

import duckdb

# What people write where there is nothing.
MISSING = ("", "-", "–", "—", "n/a", "#n/a", "na", "null", "none")
_SAMPLE_ROWS, _SAMPLE = 5_000, 300


def literal(text: str) -> str:
    """A text as SQL holds it."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A name as DuckDB reads it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def cleaned(column: str) -> str:
    """SQL of a column's text: the spaces and the minus that typesetting knows become those of a keyboard."""
    return f"trim(translate({quoted(column)}, chr(160) || chr(8239) || chr(8201) || chr(8722), '   -'))"


def is_missing(text: str) -> str:
    """SQL that says of a text whether it means that there is none."""
    return f"lower({text}) IN ({', '.join(map(literal, MISSING))})"


class TextValues:
    """What a column of texts holds.

    Attributes:
        sample: some of its different texts, from its first rows.
        name: of the column.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str, column: str, rows: str) -> None:
        """Look at the rows for which the SQL `rows` is true."""
        self.name = column
        self._connection = connection
        self._table = table
        text = cleaned(column)
        self._there = f"FROM {quoted(table)} WHERE {quoted(column)} IS NOT NULL AND ({rows}) AND NOT {is_missing(text)}"
        self._distinct = f"SELECT DISTINCT {text} AS x {self._there}"
        self._made = False
        few = f"SELECT {text} AS x {self._there} LIMIT {_SAMPLE_ROWS}"
        found = connection.execute(f"SELECT DISTINCT x FROM ({few}) LIMIT {_SAMPLE}").fetchall()
        self.sample: tuple[str, ...] = tuple(x for (x,) in found)

    def ask(self, selected: str, rest: str = "") -> list[tuple[Any, ...]]:
        """Rows of `SELECT selected FROM values rest`, where a value is called x; each is there once."""
        if not self._made:  # most columns are told by their sample and never get here
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE text_values AS {self._distinct}")
            self._made = True
        return self._connection.execute(f"SELECT {selected} FROM temp.text_values {rest}").fetchall()

    def one(self, selected: str) -> tuple[Any, ...]:
        """The one row of an aggregate."""
        return self.ask(selected)[0]

    def drop(self, odd: str) -> None:
        """Leave out the values for which the SQL `odd` is true."""
        self._connection.execute(f"DELETE FROM temp.text_values WHERE {odd}")

    def first_odd(self, odd: str) -> tuple[int, str] | None:
        """The first row below the header whose text x is odd, and that text."""
        text = cleaned(self.name)
        numbered = f"SELECT row_number() OVER () AS place, {text} AS x FROM {quoted(self._table)}"
        rows = self._connection.execute(
            f"SELECT place, x FROM ({numbered}) WHERE NOT {is_missing('x')} AND {odd} ORDER BY place LIMIT 1"
        ).fetchall()
        return rows[0] if rows else None

    def close(self) -> None:
        """Free what was kept."""
        if self._made:
            self._connection.execute("DROP TABLE temp.text_values")
            self._made = False

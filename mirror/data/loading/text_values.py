"""The texts of one column by their shape, "$999.99" for "$123.45": few, however many rows there are."""

import re
from collections import Counter
from collections.abc import Collection
from typing import Any

import duckdb

from mirror.data.sql_text import literal, quoted

# What people write where there is nothing.
_ERRORS_OF_EXCEL = ("#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!")
MISSING = frozenset(("", "-", "–", "—", "n/a", "na", "null", "none", *_ERRORS_OF_EXCEL))
# Spaces and the minus that typesetting knows, and what a keyboard has for them.
_TYPESET = str.maketrans("\u00a0\u202f\u2009\u2212", "   -")
_DIGITS = str.maketrans("012345678", "9" * 9)
_CODE = re.compile(r"[^0-9.,]*0[0-9]")
_SAMPLE_ROWS = 5_000
_MOST_SHAPES = 5_000
_LONGEST = 200


def _shape(text: str) -> str:
    return f"translate({text}, '012345678', '999999999')"


def _cleaned(text: str) -> str:
    return text.translate(_TYPESET).strip(" ")


def _means_nothing(shape: str) -> bool:
    return _cleaned(shape).lower().replace("#div/9!", "#div/0!") in MISSING


class TextValues:
    """What a column of texts holds.

    Attributes:
        name: of the column.
        partial: whether some rows are not looked at.
        text: SQL of a row's text, without typesetting and spaces around.
        there: SQL that says whether the row has a text that is not among `missing`.
        missing: the texts that may mean that there is none.
        shapes: of the texts that are there, with the number of rows; empty where there are too many to be looked at.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str, column: str, rows: str) -> None:
        """Look at the rows for which the SQL `rows` is true."""
        self.name = column
        self._connection = connection
        self._table = quoted(table)
        self._rows = rows
        self.partial = rows != "true"
        self.text = self.there = quoted(column)
        self._repeats = False
        self.missing: list[str] = []
        self.shapes: Counter[str] = Counter()

    def sample(self) -> tuple[Counter[str], bool]:
        """The shapes of the first rows, and whether a text among them begins with a zero as codes do."""
        name = quoted(self.name)
        first = f"SELECT {name} AS x FROM {self._table} WHERE {name} IS NOT NULL AND {self._rows} LIMIT {_SAMPLE_ROWS}"
        rows = self._connection.execute(f"SELECT left(x, {_LONGEST}), count(*) FROM ({first}) GROUP BY 1").fetchall()
        self._repeats = 2 * len(rows) < sum(count for _, count in rows)
        found: Counter[str] = Counter()
        for raw, count in rows:
            if (text := _cleaned(raw)).lower() not in MISSING:
                found[text.translate(_DIGITS)] += count
        return found, any(_CODE.match(_cleaned(raw)) for raw, _ in rows)

    def look(self) -> None:
        """Find the shapes of all rows."""
        name = quoted(self.name)
        rows_of = f"count(*) FILTER ({self._rows}) AS n FROM {self._table} WHERE {name} IS NOT NULL"
        if self._repeats:  # making shapes costs more than finding what is different
            grouped = f"SELECT {_shape('x')}, sum(n)::BIGINT FROM (SELECT {name} AS x, {rows_of} GROUP BY 1)"
        else:
            grouped = f"SELECT {_shape(name)}, {rows_of}"
        rows = self._connection.execute(f"{grouped} GROUP BY 1 LIMIT {_MOST_SHAPES + 1}").fetchall()
        # Of what means nothing, #DIV/0! alone has a digit.
        nothing = sorted(raw.replace("9", "0") for raw, _ in rows if _means_nothing(raw))
        self.missing = sorted({_cleaned(raw) for raw in nothing} - {""})
        listed = ", ".join(map(literal, nothing))
        self.there = f"({name} IS NOT NULL{f' AND {name} NOT IN ({listed})' if nothing else ''})"
        filled = [(raw, count) for raw, count in rows if count and not _means_nothing(raw)]
        if any(raw != _cleaned(raw) for raw, _ in rows if not _means_nothing(raw)):
            self.text = f"trim(translate({name}, chr(160) || chr(8239) || chr(8201) || chr(8722), '   -'))"
        if len(rows) <= _MOST_SHAPES and max((len(raw) for raw, _ in filled), default=0) <= _LONGEST:
            for raw, count in filled:
                self.shapes[_cleaned(raw)] += count

    def leave_out(self, shapes: Collection[str]) -> None:
        """Go on as if texts of these shapes were not there."""
        self.there = f"({self.there} AND NOT {self.of_shapes(shapes)})"
        for shape in shapes:
            del self.shapes[shape]

    def of_shapes(self, shapes: Collection[str]) -> str:
        """SQL that says whether the row's text is of one of the shapes."""
        return f"{_shape(self.text)} IN ({', '.join(map(literal, shapes))})"

    def ask(self, selected: str, condition: str = "true", of: str = "") -> tuple[Any, ...]:
        """The one row of `SELECT selected` over all rows that have a text; over its different values x for `of`."""
        rows = f"FROM {self._table} WHERE {self.there} AND {self._rows} AND {condition}"
        inner = f"FROM (SELECT DISTINCT {of} AS x {rows})" if of else rows
        found = self._connection.execute(f"SELECT {selected} {inner}").fetchone()
        assert found
        return tuple(found)

    def first(self, condition: str) -> tuple[int, str]:
        """The first row below the header that has a text and meets a condition, and that text."""
        odd = f"({self.there} AND {condition})"
        found = self._connection.execute(
            f"SELECT place, x FROM (SELECT row_number() OVER () AS place, {self.text} AS x, {odd} AS odd "
            f"FROM {self._table}) WHERE odd ORDER BY place LIMIT 1"
        ).fetchone()
        assert found
        return int(found[0]), str(found[1])

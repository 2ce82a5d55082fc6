"""A result: its rows, and columns that say what they are for. Whoever makes the SQL fills them; all others ask."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Literal

from db.plain_text import plain_text
from mirror.table.values import Type, Value, Values, type_of

Row = tuple[Value | None, ...]
Role = Literal[
    "metric", "axis", "name", "key", "time", "count", "repetition", "deviation", "low", "high", "percentile", "info",
    "smallest", "largest", "tally", "",
]  # fmt: skip


@dataclass(frozen=True)
class Column:
    """One column of a result.

    Attributes:
        name: its name there.
        type: what its values are.
        label: short words for titles and sentences, on one line.
        unit: unit of the values, empty for none.
        better: higher, lower, or empty where no direction is better.
        role: what it is for: a metric, an axis (a setting that somebody chose), a name, a key (tells rows apart and
            nothing else), a time, a count (of the rows behind one), a repetition (seed ...: differs between rows of one
            configuration, or only describes how they came about), or how far a metric spreads (deviation, low and high
            of an interval, percentile); info for what only stands beside; in `Table.whole` the smallest and the largest
            value of a metric, and tally for how many rows a row stands for; empty where type and values must tell.
        source: the column of Mirror's results that it stands for or is made from; empty for all else.
        of: the metric of this result whose spread it tells.
        text: meaning, one line.
    """

    name: str
    type: Type = "real"
    label: str = ""
    unit: str = ""
    better: str = ""
    role: Role = ""
    source: str = ""
    of: str = ""
    text: str = ""

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        return self.type in ("integer", "real")

    @property
    def own(self) -> bool:
        """Whether it is a column of Mirror's results as it stands, and not made from one."""
        return bool(self.source) and self.source == self.name

    @property
    def setting(self) -> bool:
        """Whether somebody chose its values."""
        return self.role in ("axis", "repetition")

    @property
    def title(self) -> str:
        """Label with unit, for an axis."""
        return f"{self.label} ({self.unit})" if self.unit and self.unit != self.label else self.label


@dataclass(frozen=True)
class Domain:
    """What chart and sentence know of data beyond single columns. Without any of it data are rows of plain columns.

    Attributes:
        row: what a row is called that is no group of others.
        kind: what rows are called together that repeat one another.
        repeated_by: columns whose presence says that rows are single trials.
        rival: the column whose values compete with one another: they keep their colours, and sizes are their own.
        baseline: the value of it that the others are compared with.
        baseline_mark: the truth column that marks it.
        machine, dataset: where something was measured, and on what.
        parallel: the axis along which twice as much may do twice the work.
        size: the axis that the baseline has a single value of.
        step, curve: the place along a training curve, and what the curve is of.
        tasks: columns whose values are different tasks, never ranked against each other.
        apart: columns whose values must not share the axes of a panel, the first before the others.
        work: axes that say what work is done: only equal values may be compared.
        usual: column -> the value that is drawn where only one can be.
        named_by: column -> the word before its value; those with a word are told where there are several values.
        listed_by: columns that name a row among all others.
        beside: column -> the one beside which it only describes a row.
        implied: column -> those that may fix it, so that it says nothing new.
        neutral: column -> the value that stands for no setting at all.
    """

    row: str = "row"
    kind: str = "row"
    repeated_by: tuple[str, ...] = ()
    rival: str | None = None
    baseline: str | None = None
    baseline_mark: str | None = None
    machine: str | None = None
    dataset: str | None = None
    parallel: str | None = None
    size: str | None = None
    step: str | None = None
    curve: str | None = None
    tasks: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    work: tuple[str, ...] = ()
    usual: Mapping[str, Value] = field(default_factory=dict, hash=False)
    named_by: Mapping[str, str] = field(default_factory=dict, hash=False)
    listed_by: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict, hash=False)
    implied: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    neutral: Mapping[str, Value] = field(default_factory=dict, hash=False)


PLAIN = Domain()


@dataclass(frozen=True)
class Table:
    """A result.

    Attributes:
        columns: what they are, in order.
        rows: tuples of None, bool, int, float, str or ISO timestamps as str.
        truncated: whether the row cap cut the result.
        milliseconds: time of the query.
        domain: whose data they are.
        whole: where the row cap cut the result, all of its rows: see mirror.answer.whole. None where nobody has them.
        evenly: where it did, the columns over whose values the rows are sampled evenly; empty for the first rows.
        places: of a part of a result, where its rows stand in the whole; empty for a result itself.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    truncated: bool = False
    milliseconds: float = 0.0
    domain: Domain = PLAIN
    whole: "Table | None" = None
    evenly: tuple[str, ...] = ()
    places: tuple[int, ...] = field(default=(), compare=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(c.name for c in self.columns)

    def column(self, name: str) -> Column:
        """What a column is. Raises ValueError for a name that is not there."""
        return self.columns[self.names.index(name)]

    def values(self, name: str) -> Values:
        """The values of one column."""
        return self._by_column[self.names.index(name)] if self.rows else Values()

    @property
    def everything(self) -> "Table":
        """What is known of all rows: the table itself where nothing was cut."""
        return self.whole or self

    @cached_property
    def tallies(self) -> tuple[int, ...]:
        """How many rows of the statement each row stands for."""
        tally = next((c.name for c in self.columns if c.role == "tally"), None)
        return tuple(int(n or 0) for n in self.values(tally)) if tally else (1,) * len(self.rows)

    @cached_property
    def mark(self) -> str:
        """How many rows there are and a hash of them, in whatever order they come: `36-1f0c9a2b`.

        Numbers count to six digits: the last ones of a mean are not the same twice. Where the rows were cut, and nobody
        has all of them, it is their number alone.
        """
        if self.truncated and self.whole is None:
            return f"{len(self.rows)}-"
        rows = sorted(repr([f"{v:.6g}" if isinstance(v, float) else v for v in r]) for r in self.everything.rows)
        digest = hashlib.sha256("\n".join([*self.names, *rows]).encode(errors="surrogatepass")).hexdigest()
        return f"{sum(self.everything.tallies)}-{digest[:8]}"

    def spread_column(self, metric: str, role: Role) -> str | None:
        """The column that tells how a metric spreads, if there is one."""
        return next((c.name for c in self.columns if c.of == metric and c.role == role), None)

    def label(self, name: str | None) -> str:
        """The words for a column; empty for none."""
        return self.column(name).label if name else ""

    def picked(self, names: Sequence[str]) -> "Table":
        """The table with these columns alone, in this order."""
        at = [self.names.index(n) for n in names]
        rows = tuple(tuple(row[i] for i in at) for row in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in at), rows=rows)

    def kept(self, keep: Iterable[bool]) -> "Table":
        """The table with only the rows for which it is true."""
        kept = tuple(compress(range(len(self.rows)), keep))
        return replace(self, rows=tuple(self.rows[i] for i in kept), places=tuple(map(self.place, kept)))

    def place(self, row: int) -> int:
        """Where a row stands in the result that the table is a part of."""
        return self.places[row] if self.places else row

    @cached_property
    def _by_column(self) -> tuple[Values, ...]:
        return tuple(map(Values, zip(*self.rows, strict=True)))  # a chart asks for the same column a thousand times


def plain_table(names: Sequence[str], rows: Sequence[Row], truncated: bool = False, milliseconds: float = 0.0) -> Table:
    """A result of which nothing is known but its names and values."""
    of = list(zip(*rows, strict=True)) or [()] * len(names)
    columns = tuple(plain_column(n, v) for n, v in zip(names, of, strict=True))
    return Table(columns, tuple(rows), truncated, milliseconds)


def plain_column(name: str, values: Sequence[Value | None] = ()) -> Column:
    """A column of which nothing is known but its name and values."""
    return Column(name, type_of(values), plain_text(name.replace("_", " ")))

"""The form between words and SQL for other data: what is measured, by what, of which rows."""

from dataclasses import dataclass, field
from typing import Literal

from mirror.query.spec import ChartWish
from mirror.schema.database import ForeignKey
from mirror.table.values import Value

Aggregate = Literal["sum", "avg", "median", "min", "max", "stddev", "count", "distinct"]
Bucket = Literal["year", "quarter", "month", "week", "day", "weekday", "hour", "month_of_year"]
Operator = Literal["=", "<>", "<", "<=", ">", ">=", "in", "not in", "is null", "is not null", "contains"]

AGGREGATE_WORDS: dict[Aggregate, str] = {
    "sum": "total", "avg": "average", "median": "median", "min": "lowest", "max": "highest",
    "stddev": "deviation of", "count": "number of", "distinct": "number of different",
}  # fmt: skip


@dataclass(frozen=True)
class ColumnRef:
    """A column of a table; `role` is the foreign key it is reached by, where several lead there."""

    table: str
    column: str
    role: ForeignKey | None = None


@dataclass(frozen=True)
class Measure:
    """A number for each group.

    Attributes:
        aggregate: how many rows become one number.
        table: whose rows.
        factors: the column, or two that are multiplied row by row; empty to count rows.
        until: the date up to which time is counted from the one date in `factors`.
        unit: what that time is counted in.
        conditions: on the rows that count, beside those of the question.
        over: the number that this one is divided by.
        minus: the number that is taken from this one.
    """

    aggregate: Aggregate
    table: str
    factors: tuple[ColumnRef, ...] = ()
    until: ColumnRef | None = None
    unit: Literal["days", "hours", "minutes"] = "days"
    conditions: tuple["Predicate", ...] = ()
    over: "Measure | None" = None
    minus: "Measure | None" = None

    @property
    def parts(self) -> tuple["Measure", ...]:
        """Itself, and what it is divided by or lessened by."""
        return tuple(m for m in (self, self.over, self.minus) if m is not None)


@dataclass(frozen=True)
class GroupBy:
    """What rows are grouped by: a column, a span of time of one, or (without a column) the rows of another table."""

    table: str
    place: ColumnRef | None = None
    bucket: Bucket | None = None
    role: ForeignKey | None = None


@dataclass(frozen=True)
class Mean:
    """The mean of a column, as a number to compare with: of all rows of its table, or of those alike in a column."""

    place: ColumnRef
    within: ColumnRef | None = None


@dataclass(frozen=True)
class Predicate:
    """`place operator values`; all conditions must hold. A value may be a mean, or another column of the row.

    With a bucket, of a date, it is on its year, hour or weekday (Monday is 1).
    """

    place: ColumnRef
    operator: Operator
    values: tuple[Value | Mean | ColumnRef, ...] = ()
    bucket: Bucket | None = None

    @property
    def plain(self) -> list[Value]:
        """Its values but for means and columns."""
        return [v for v in self.values if not isinstance(v, Mean | ColumnRef)]


@dataclass(frozen=True)
class Presence:
    """Whether a row of `owner` has rows of another table that belong to it, with conditions of their own.

    Attributes:
        table, owner: the two tables.
        absent: there must be none.
        conditions: on the rows of `table`.
        role: the foreign key between them, where several are.
        count: how many there must be; None for at least one.
        every: all of them must meet the conditions, and one must be there.
    """

    table: str
    owner: str
    absent: bool = False
    conditions: tuple[Predicate, ...] = ()
    role: ForeignKey | None = None
    count: tuple[Operator, int] | None = None
    every: bool = False


@dataclass(frozen=True)
class Having:
    """A condition on a measure of each group; without a value, against the mean of all groups."""

    measure: int
    operator: Operator
    value: Value | None


@dataclass(frozen=True)
class Asked:
    """One question.

    Attributes:
        table: whose rows are listed where nothing is measured.
        measures: the leading one first; empty for a list of rows.
        groups: what they are grouped by.
        columns: columns of a list; empty for those of the table.
        conditions: on columns.
        presences: on rows of other tables.
        having: on measures.
        order: the measure, or the column of a list, that rows are sorted by, and whether the largest is first.
        limit: most rows.
        ties: all rows that share the first place, in place of a limit.
        offset: places that are left out at the front: 1 for the second.
        per: with a limit, how many of the groups at the front have a ranking each.
        count_groups: only the number of groups is asked for.
        of_total: the leading measure as a share of its sum over all groups.
        outer: what becomes one number of the groups' leading measure: the average number of orders per customer.
        via: tables that a path must pass.
        chart: what was asked of the chart.
        notes: what the reading assumed, one phrase each.
    """

    table: str
    measures: tuple[Measure, ...] = ()
    groups: tuple[GroupBy, ...] = ()
    columns: tuple[ColumnRef, ...] = ()
    conditions: tuple[Predicate, ...] = ()
    presences: tuple[Presence, ...] = ()
    having: tuple[Having, ...] = ()
    order: tuple[int, bool] | None = None
    limit: int | None = None
    ties: bool = False
    offset: int = 0
    per: int = 0
    count_groups: bool = False
    of_total: bool = False
    outer: Aggregate | None = None
    via: tuple[str, ...] = ()
    chart: ChartWish = field(default_factory=ChartWish)
    notes: tuple[str, ...] = ()

"""What the pieces of one reading say, before it is settled whose rows are asked for and how tables are joined."""

from dataclasses import dataclass, field

from mirror.language.reading.cues import Cue
from mirror.language.reading.times import Time
from mirror.query.other_data.form import Aggregate, Bucket, ColumnRef, Operator
from mirror.schema.database import ForeignKey
from mirror.table.values import Value


@dataclass(frozen=True)
class Target:
    """What is measured, ranked, listed or grouped: a column, the rows of a table, or what a measure word asks for."""

    table: str | None = None
    place: ColumnRef | None = None
    cue: Cue | None = None
    bucket: Bucket | None = None
    role: ForeignKey | None = None
    times: ColumnRef | None = None  # the column that it is multiplied by
    part: bool = False  # whether a part of the table's name was said: tickets, of ticket sales
    said: str = field(default="", compare=False)  # the measure word


@dataclass
class Wanted:
    """A number that is asked for."""

    aggregate: Aggregate | None
    target: Target
    sure: bool = True  # whether the words name an aggregate, or only a column


@dataclass
class Limit:
    """`more than 3`: a comparison, of whatever stands beside it; without a value it is with the mean."""

    operator: Operator
    values: tuple[Value, ...]


@dataclass
class Test:
    """A condition on rows: on a column, or on what a measure word asks for; `low` turns a date's order round."""

    target: Target
    operator: Operator
    values: tuple[object, ...] = ()
    mean: bool = False
    within: Target | None = None
    low: bool = False
    share: bool = False  # whether it belongs to the part of a share
    unit: str = ""  # what its number is counted in: day, of "older than 30 days"


@dataclass
class Belonging:
    """Rows of another table that must (not) be there, or so many of them."""

    table: str
    absent: bool = False
    count: tuple[Operator, int] | None = None
    every: bool = False
    tests: list[Test] = field(default_factory=list)


@dataclass
class Rank:
    """First places: of what, which end, how many."""

    largest: bool
    target: Target | None = None
    aggregate: Aggregate | None = None
    number: int | None = None
    nth: int = 1
    text: str = ""
    marked: bool = True  # False for a mere order
    absent: bool = False


@dataclass
class Draft:
    """All of it.

    Attributes:
        subject: the table whose rows are asked for; None where only columns are named.
        tables: tables that are named, in order.
        listed: columns to show.
        cost: what the reading of the pieces cost beyond their spans.
        event: the date of what is counted.
        per: the number that another one is divided by.
        left: pieces that found no place.
    """

    subject: str | None = None
    tables: list[str] = field(default_factory=list)
    wanted: list[Wanted] = field(default_factory=list)
    listed: list[Target] = field(default_factory=list)
    groups: list[Target] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)
    times: list[tuple[Time, ColumnRef | None, bool]] = field(default_factory=list)
    belongings: list[Belonging] = field(default_factory=list)
    having: list[tuple[Target, Limit]] = field(default_factory=list)
    rank: Rank | None = None
    share: bool = False
    share_of: Target | None = None
    gap: bool = False
    outer: Aggregate | None = None
    elapsed: bool = False
    unit: str = "days"
    both: bool = False
    event: ColumnRef | None = None
    per: Target | None = None
    person: bool = False
    distinct: bool = False
    still: bool = False
    still_table: str | None = None
    sort: Rank | None = None
    chart: str | None = None
    log: bool = False
    each: bool = False
    cost: float = 0.0
    left: list[str] = field(default_factory=list)

"""The slots that the words of a question fill, before it is settled which column and which way each of them means."""

import re
from dataclasses import dataclass, field

from mirror.language.other_data.spans import Span
from mirror.language.other_data.vocabulary import QUOTED, Item, Words
from mirror.query.errors import Refusal
from mirror.query.other_data.form import Aggregate, Bucket, Operator
from mirror.query.spec import ChartWish
from mirror.schema.database import shown
from mirror.table.values import Value

DOWNWARD = ("best", "highest", "largest", "top")
UPWARD = ("worst", "lowest", "smallest", "bottom")
_QUOTES = re.compile(r"\"([^\"]{1,200})\"|“([^”]{1,200})”|(?<!\w)'([^']{1,200})'(?!\w)")
_ARITHMETIC = re.compile(r"\s[/+%]\s|(?<=\w)\s-\s(?=\w)")


@dataclass
class MeasureMention:
    """A number that is asked for: of a column, of two that are multiplied, or of the rows of a table."""

    aggregate: Aggregate | None
    item: Item
    times: Item | None = None


@dataclass
class By:
    """Something to group by: a column, a table, or a span of time, perhaps of a date that is named."""

    item: Item | None = None
    bucket: Bucket | None = None


@dataclass
class Test:
    """A condition: of a column, of values that name their column, or of a number that names none.

    Attributes:
        item: the column, or the values; None for a number without a column.
        of: the table whose usual number is compared, where no column is named.
        inside: the table that the condition is about, where it follows `without`.
        at: where a comparison without a column stands in the words.
    """

    operator: Operator
    values: tuple[Value, ...] = ()
    item: Item | None = None
    of: Item | None = None
    span: Span | None = None
    inside: "Belonging | None" = None
    at: int = 0


@dataclass
class Belonging:
    """Rows of another table that must (not) be there for those of `owner`, or of what is asked about."""

    item: Item
    absent: bool
    owner: Item | None = None


@dataclass
class Limit:
    """A condition on a number of each group: on a measure, or on how many rows of a table there are."""

    operator: Operator
    value: Value
    measure: int


@dataclass
class Slots:
    """What the words say."""

    measures: list[MeasureMention] = field(default_factory=list)
    groups: list[By] = field(default_factory=list)
    named: list[Item] = field(default_factory=list)
    context: list[Item] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)
    belongings: list[Belonging] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    superlative: str = ""
    sorted: bool = False
    dated: bool = False
    leading: int | None = None
    limit: int | None = None
    ascending: bool | None = None
    distinct: bool = False
    course: bool = False
    via: list[Item] = field(default_factory=list)
    chart: str = ""
    log: bool = False
    notes: list[str] = field(default_factory=list)


def prepared(question: str) -> tuple[str, list[str]]:
    """The question with marks in place of quoted texts, which are returned, and with minus signs as a word.

    Raises Refusal for arithmetic that would get lost.
    """
    quotes: list[str] = []

    def take(match: re.Match[str]) -> str:
        quotes.append(next(g for g in match.groups() if g is not None))
        return f" {QUOTED}{len(quotes) - 1} "

    text = _QUOTES.sub(take, question.replace("’", "'"))
    text = re.sub(r"\s[*×]\s", " times ", text)
    text = re.sub(r"(\w)n't\b", r"\1 not", text)
    if sign := _ARITHMETIC.search(text):
        raise Refusal(
            f"“{sign[0].strip()}” is not read: only “times” joins two columns, as in “total quantity times unit "
            "price”; anything else can be asked with SQL."
        )
    return re.sub(r"(?<![\w.])[-−](?=\.?\d)", "minus ", text), quotes


def wish(slots: Slots) -> ChartWish:
    """What was asked of the chart."""
    return ChartWish(slots.chart or None, slots.log, slots.log)  # type: ignore[arg-type]


def known_sentence(known: Words) -> str:
    """What can be asked about, in one sentence."""
    parts = []
    for relation in [r for r in known.database.relations if not r.view][:8]:
        columns = [c.name for c in relation.columns if c.type != "other"]
        parts.append(f"{relation.name} ({shown(columns, 6)})")
    more = len(known.database.relations) - len(parts)
    known_are = "Known is the table" if len(parts) + more == 1 else "Known are the tables"
    return f"{known_are} {', '.join(parts)}{f' and {more} more' if more > 0 else ''}."

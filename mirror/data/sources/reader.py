"""What every kind of source can do: list its tables, and run a SELECT that can change nothing, within limits."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mirror.data.data_source import QueryStopped
from mirror.data.sources.location import Source
from mirror.schema.database import ForeignKey, Relation

if TYPE_CHECKING:
    import duckdb

ROW_CAP = 1000
TIME_LIMIT_S = 10.0
# Time to wait for a lock that a writer holds.
LOCK_LIMIT_S = 3.0
# About what a browser can be sent; beyond it the answer is cut as if by the row cap.
ANSWER_CAP = 16_000_000
_BATCH = 100


@dataclass(frozen=True)
class Fetched:
    """Rows as the driver gives them.

    Attributes:
        columns: names as the database has them, perhaps twice the same.
        rows: at most as many as were asked for.
        truncated: whether there were more.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    truncated: bool = False


class Session(Protocol):
    """An open connection that can only read."""

    @property
    def parser(self) -> "duckdb.DuckDBPyConnection | None":
        """Where DuckDB runs the statements, what parses them as it will; else None."""

    def fetch(self, sql: str, row_cap: int = ROW_CAP, time_limit_s: float = TIME_LIMIT_S) -> Fetched:
        """Run one statement that the guard has passed, or one of our own.

        Raises QueryError (the SQL is wrong), QueryStopped (a limit) or SourceError (the database is gone).
        """


@dataclass(frozen=True)
class Structure:
    """Tables and declared keys, before anything is counted; `schema` and `any_case` as Database has them."""

    relations: list[Relation]
    foreign_keys: list[ForeignKey]
    notes: tuple[str, ...] = ()
    schema: tuple[str, ...] = ()
    any_case: bool = False


class Reader(Protocol):
    """A source that is read in the process of its own."""

    source: Source

    def session(self) -> AbstractContextManager[Session]:
        """A connection for one question. Raises SourceError."""

    def structure(self) -> Structure:
        """The tables, their columns and declared keys. Raises SourceError."""

    def version(self) -> str:
        """A text that changes when tables or columns do; cheap. Raises SourceError."""

    def sample(self, relation: Relation) -> tuple[int, str]:
        """How many rows of a table are looked at, and the SQL that may stand in FROM for them."""


def take(fetch_many: Callable[[int], Sequence[Sequence[Any]]], row_cap: int) -> tuple[list[tuple[Any, ...]], bool]:
    """Rows up to the cap, and whether there were more; a result that is too large to show is cut as well."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    for batch in _batches(fetch_many, row_cap + 1):
        for row in batch:
            rows.append(tuple(row))
            size += sum(len(v) if isinstance(v, str | bytes) else 8 for v in row)
            if size > ANSWER_CAP:
                return rows[:row_cap], True
    return rows[:row_cap], len(rows) > row_cap


def _batches(fetch_many: Callable[[int], Sequence[Sequence[Any]]], most: int) -> Iterator[Sequence[Sequence[Any]]]:
    while most > 0 and (batch := fetch_many(min(_BATCH, most))):
        most -= len(batch)
        yield batch


def too_slow(time_limit_s: float) -> QueryStopped:
    """The database has ended a query that took too long."""
    return QueryStopped(f"The query was stopped after {time_limit_s:g} s: ask for less, by a filter or fewer joins.")

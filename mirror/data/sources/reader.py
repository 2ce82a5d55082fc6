"""What every kind of location can do: list its tables, and run a SELECT that can change nothing, within limits."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mirror.data.data_source import QueryStopped
from mirror.data.sources.location import Location
from mirror.schema.database import ForeignKey, Relation

if TYPE_CHECKING:
    import duckdb

ROW_CAP = 1000
TIME_LIMIT_S = 10.0
# Time to wait for a lock that a writer holds.
LOCK_LIMIT_S = 3.0


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
    """What reads a location, in a process of its own."""

    location: Location

    def session(self) -> AbstractContextManager[Session]:
        """A connection for one question. Raises SourceError."""

    def structure(self) -> Structure:
        """The tables, their columns and declared keys. Raises SourceError."""

    def version(self) -> str:
        """A text that changes when tables or columns do; cheap. Empty where files tell it. Raises SourceError."""
        return ""

    def sample(self, relation: Relation) -> tuple[int, str]:
        """How many rows of a table are looked at, and the SQL that may stand in FROM for them."""

    def estimate(self, table: str) -> int | None:
        """The number of rows that a server expects; None where nobody knows."""
        return None


def too_slow(time_limit_s: float) -> QueryStopped:
    """The database has ended a query that took too long."""
    return QueryStopped(f"The query was stopped after {time_limit_s:g} s: ask for less, by a filter or fewer joins.")

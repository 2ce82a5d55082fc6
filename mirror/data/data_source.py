"""The one way to data: what results and other data have in common for whoever asks about them."""

from typing import Protocol

from mirror.schema.database import Database
from mirror.schema.profile import Profile
from mirror.table.table import Table

OUT_OF_MEMORY = "The query needed more memory than it may use: ask for fewer rows or shorter text."


class QueryError(ValueError):
    """The SQL is wrong; the message is a sentence, with the database's own hints."""


class UnreadableError(QueryError):
    """The text cannot even be parsed: perhaps it is no SQL at all."""


class QueryStopped(RuntimeError):
    """The query did not end by itself: time limit, memory, or a crash. The message is a sentence."""


class QueryCancelled(QueryStopped):
    """Somebody stopped the query: see Source.cancel."""

    def __init__(self) -> None:
        super().__init__("The query was cancelled.")


class Source(Protocol):
    """Something that SELECTs run on, in a process of its own, read only and within limits; safe to share."""

    def schema(self) -> Database | Profile:
        """What can be asked about: the Profile of results, the Database of other data. Raises what reading raises."""

    def run(self, sql: str, row_cap: int = 1000, time_limit_s: float = 10.0) -> Table:
        """Check and run one SELECT; at most `row_cap` rows come back.

        Raises GuardError (may not run), QueryError (wrong SQL), QueryStopped (limit, crash, cancelled), StoreError or
        SourceError (nothing to read).
        """

    def cancel(self, thread: int | None = None) -> None:
        """Stop what runs now, or what a thread has asked; to be called from another thread."""

    def close(self) -> None:
        """End the process once its query is done; a later query starts a new one."""

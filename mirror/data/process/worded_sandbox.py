"""A sandbox whose schema also knows words of people's own."""

from dataclasses import replace

from mirror.data.process.sandbox import Sandbox
from mirror.schema.own_words import OwnWord
from mirror.schema.profile import Profile
from mirror.table.table import Table


class WordedSandbox(Sandbox):
    """The sandbox of somebody else, asked through its own turns and process, with words that no results hold."""

    def __init__(self, of: Sandbox, words: tuple[OwnWord, ...]) -> None:
        """Ask what another sandbox holds.

        Args:
            of: the other sandbox.
            words: what people call parts of the results.
        """
        self._of, self._words = of, words

    def run(self, sql: str, row_cap: int = 1000, time_limit_s: float = 10.0) -> Table:
        """As of the other sandbox."""
        return self._of.run(sql, row_cap, time_limit_s)

    @property
    def url(self) -> str:
        """SQLAlchemy URL of the results."""
        return self._of.url

    def schema(self) -> Profile:
        """What the results hold now, and what people call it."""
        return replace(self._of.schema(), words=self._words)

    def version(self) -> str:
        """As of the other sandbox."""
        return self._of.version()

    def cancel(self, thread: int | None = None) -> None:
        """As of the other sandbox."""
        self._of.cancel(thread)

    def close(self) -> None:
        """Nothing: the other sandbox stays open."""

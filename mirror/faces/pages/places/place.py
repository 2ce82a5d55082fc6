"""Place: what is asked about, the results or other data, and how it is asked."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mirror.answer.answer import Answer
from mirror.answer.answering import ask, run_sql, subject_of
from mirror.answer.subject import Subject
from mirror.data.data_source import Source
from mirror.data.process.other_data_process import shared
from mirror.data.process.sandbox import Sandbox
from mirror.data.sources.location import Location, find
from mirror.query.saved import saved_path, saved_path_of
from mirror.schema.database import Database
from mirror.table.table import Table

Kind = Literal["results", "file", "folder", "database"]


@dataclass(frozen=True)
class Place:
    """One place that can be asked about.

    Attributes:
        kind: what it is.
        db: what `ask` takes as `db`, perhaps with a password; empty for the configured results.
        name: what to call it, without a password; empty for the configured results.
        link: what an address says of it, which of uploaded files leads nowhere else; empty for the configured results.
        box: where results are asked about, these or others; None for other data.
        location: where the other data were found.
        uploads: the folder of files that were uploaded, which goes with the session.
    """

    kind: Kind = "results"
    db: str = field(default="", repr=False)
    name: str = ""
    link: str = ""
    box: Sandbox | None = None
    location: Location | None = field(default=None, repr=False)
    uploads: "tempfile.TemporaryDirectory[str] | None" = field(default=None, repr=False)

    @property
    def is_own(self) -> bool:
        """Whether these are the results that Mirror is configured with, whose trials have pages of their own."""
        return not self.db

    @property
    def has_address(self) -> bool:
        """Whether a link to it works for others."""
        return self.uploads is None

    @property
    def subject(self) -> Subject:
        """What questions to it are about. Raises one of FAILURES."""
        return subject_of(self.box, self.db or None)

    @property
    def source(self) -> Source:
        """Where its SQL runs; nothing is read for it."""
        if self.box:
            return self.box
        assert self.location
        return shared(self.location)

    @property
    def saved_path(self) -> Path:
        """The file of its saved questions. Raises SourceError for a place that is not there any more."""
        return saved_path(self.box.url) if self.box else saved_path_of(find(self.db).where)

    def database(self) -> Database:
        """Its tables. Raises SourceError or QueryStopped."""
        return shared(find(self.db)).schema()

    def rows(self, sql: str, row_cap: int, time_limit_s: float) -> Table:
        """What a statement over its tables brings, as nobody asked it. Raises what `Source.run` raises."""
        return shared(find(self.db)).run(sql, row_cap, time_limit_s)

    def ask(self, question: str, use_model: bool = True, after: Answer | None = None, plans: bool = True) -> Answer:
        """Answer a question. Never raises."""
        return ask(question, sandbox=self.box, db=self.db or None, use_model=use_model, after=after, plans=plans)

    def run_sql(self, sql: str, question: str) -> Answer:
        """Run an edited statement of the answer of `question`. Never raises."""
        return run_sql(sql, sandbox=self.box, db=self.db or None, question=question)


def kind_of(location: Location, text: str) -> Kind:
    """What somebody names who names this location so."""
    if location.kind != "files":
        return "database"
    return "folder" if Path(text).expanduser().is_dir() else "file"

"""The one way that every question goes, whatever it is about: SQL or words; answered, asked back, refused or failed."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Protocol, TypeVar

from db.settings import SettingsError
from db.store import StoreError
from mirror.answer.answer import Answer
from mirror.data.data_source import QueryError, QueryStopped, Source
from mirror.data.guard.guard_errors import GuardError
from mirror.data.sources.location import SourceError
from mirror.query.errors import Ambiguity, Refusal

MAX_QUESTION = 1_000

FAILURES = (StoreError, SettingsError, QueryError, QueryStopped, SourceError)  # each a sentence

# What a statement holds and a question hardly ever, so that a slip in SQL is told as one.
_SIGNS = re.compile(r"[*(=;]|^\s*select\s+\w+\s*,", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\b", re.IGNORECASE)

Result = TypeVar("Result")


class Subject(Protocol):
    """What is asked about: results, or other data.

    Attributes:
        opening: how a statement about it begins: "With dim 16, which ..." does not, "Select the fastest method" may.
    """

    opening: re.Pattern[str]

    @property
    def source(self) -> Source:
        """Where its SQL runs. Raises one of FAILURES."""

    def is_readable(self, sql: str) -> bool:
        """Whether a text can be parsed as SQL, whatever it would do."""

    def examples(self) -> tuple[str, ...]:
        """Questions to show beside a refusal."""

    def in_words(self, question: str, use_model: bool, now: datetime | None, after: Answer | None) -> Answer:
        """The answer of a question in plain words. Raises Refusal or Ambiguity, or one of FAILURES."""

    def explain(self, question: str, now: datetime | None) -> str:
        """Which readings a question has and what they cost; empty where there is nothing beyond the answer itself."""

    def run_sql(self, sql: str, question: str = "") -> Answer:
        """The answer of a statement, which is known by its columns alone. Never raises."""


def ask_about(
    subject: Subject, question: str, use_model: bool = True, now: datetime | None = None, after: Answer | None = None
) -> Answer:
    """Answer a question. Never raises for anything that a person can type, a model can answer or a database can do.

    A text counts as SQL when it begins as a statement does, does not end with a question mark, and either holds one of
    the signs `* ( = ;` (or a comma after the first column) or has a FROM and can be parsed.
    """
    try:
        if not question.strip():
            return refused(question, "Ask something, for example one of these questions.", subject)
        if _is_sql(question, subject):
            return subject.run_sql(question, question)
        if len(question) > MAX_QUESTION:
            raise Refusal(f"The question is {len(question):,} characters long: ask in at most {MAX_QUESTION:,}.")
        return subject.in_words(question, use_model, now, after)
    except Refusal as error:
        return refused(question, str(error), subject)
    except Ambiguity as error:
        return asked_back(question, error)
    except FAILURES as error:
        return failed(question, error)


def _is_sql(text: str, subject: Subject) -> bool:
    if not subject.opening.match(text) or text.rstrip().endswith("?"):
        return False
    return bool(_SIGNS.search(text)) or bool(_FROM.search(text) and subject.is_readable(text))


def ran(blank: Answer, run: Callable[[], Result]) -> Result | Answer:
    """What running a statement brings, or the answer that says why it brings nothing."""
    try:
        return run()
    except GuardError as error:
        return replace(blank, status="refused", summary=str(error))
    except FAILURES as error:
        return replace(blank, summary=str(error))


def refused(question: str, why: str, subject: Subject) -> Answer:
    """A refusal, with what can be asked instead."""
    return Answer("refused", question[:MAX_QUESTION], summary=why, suggestions=subject.examples()[:3])


def asked_back(question: str, error: Ambiguity) -> Answer:
    """A question back."""
    return Answer("ambiguous", question, summary=str(error), suggestions=error.choices)


def failed(question: str, error: Exception) -> Answer:
    """What could not be read."""
    return Answer("error", question[:MAX_QUESTION], summary=str(error))

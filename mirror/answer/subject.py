"""The one way that every question goes, whatever it is about: SQL or words; answered, asked back, refused or failed."""

import contextlib
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

from db.plain_text import seen
from db.settings import SettingsError
from db.store import StoreError
from mirror.answer.answer import Answer
from mirror.answer.proposal import is_named
from mirror.data.data_source import QueryError, QueryStopped, Source
from mirror.data.guard.guard_errors import GuardError
from mirror.data.sources.location import SourceError
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.kept.habits import Habits
from mirror.query.kept.same_question import same_words
from mirror.query.saved import Saved, SavedError, most_alike
from mirror.table.table import Table
from mirror.table.values import Value

_log = logging.getLogger(__name__)

MAX_QUESTION = 1_000

FAILURES = (StoreError, SettingsError, QueryError, QueryStopped, SourceError)  # each a sentence

# What a statement holds and a question hardly ever, so that a slip in SQL is told as one.
_SIGNS = re.compile(r"[*(=;]|^\s*select\s+\w+\s*,", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\b", re.IGNORECASE)

GONE = "What was chosen for this question before has no rows any more, so it is read anew."
_NEAR = 2  # questions worded alike that are offered

Result = TypeVar("Result")


@dataclass(frozen=True)
class Lesson:
    """What a choice teaches: its form (None where its words say it), a word and its meaning, whether it holds later."""

    form: Mapping[str, Any] | None = None
    word: tuple[str, str] | None = None
    whole: bool = True


@dataclass(frozen=True)
class Behind:
    """What some rows of an answer were made from.

    Attributes:
        table: the trials, newest first, with the columns that differ and trial_id last; or the rows of other data.
        total: how many there are; None where there are more than anybody counted.
        trials: whether they are trials.
    """

    table: Table
    total: int | None
    trials: bool = False


class Subject(Protocol):
    """What is asked about: results, or other data.

    Attributes:
        opening: how a statement about it begins: "With dim 16, which ..." does not, "Select the fastest method" may.
    """

    opening: re.Pattern[str]

    @property
    def habits(self) -> Habits:
        """What was learnt about it. Raises one of FAILURES."""

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

    def of_form(self, question: str, form: Mapping[str, Any]) -> Answer:
        """The answer of a question whose reading was kept as a form. Raises Refusal, Ambiguity, ValueError (no form, or
        none any more) or one of FAILURES."""

    def behind(self, answer: Answer, places: Sequence[int]) -> Behind:
        """What the rows at some places of an answer were made from; the first MOST_ROWS of them, where there are more.

        Raises UntracedError, GuardError or one of FAILURES.
        """

    def lesson(self, back: Answer, taken: Answer, now: datetime) -> Lesson | None:
        """What a choice teaches that `back` offered and `taken` answers; None for nothing. May raise anything."""

    def alike(self, question: str, saved_alone: bool) -> tuple[str, ...]:
        """Questions that are known and worded like this one: saved, or answered by a choice before."""


def ask_about(
    subject: Subject, question: str, use_model: bool = True, now: datetime | None = None, after: Answer | None = None
) -> Answer:
    """Answer a question. Never raises for anything that a person can type, a model can answer or a database can do.

    A text counts as SQL when it begins as a statement does, does not end with a question mark, and either holds one of
    the signs `* ( = ;` (or a comma after the first column) or has a FROM and can be parsed.
    """
    try:
        if _is_sql(question, subject):
            return subject.run_sql(question, question)
        question = seen(question)
        if not question.strip():
            return refused(question, "Ask something, for example one of these questions.", subject)
        if len(question) > MAX_QUESTION:
            why = f"The question is {len(question):,} characters long: ask in at most {MAX_QUESTION:,}."
            return refused(question, why, subject)
        answer = _in_words(subject, question, use_model, now, after)
        return _learnt(subject, after, answer, now) if after and is_choice(question, after, answer) else answer
    except FAILURES as error:
        return failed(question, error)


def ask_kept(subject: Subject, question: str, sql: str, form: Mapping[str, Any] | None) -> Answer:
    """Ask a question anew that was kept with its SQL, and with its reading where that was no SQL. Never raises.

    A reading that the data leave no longer clear, or that is of another version, leaves the SQL.
    """
    try:
        if form is not None:
            with contextlib.suppress(Refusal, Ambiguity, ValueError, KeyError, TypeError, RecursionError):
                return subject.of_form(question, form)
        return subject.run_sql(sql, question)
    except FAILURES as error:
        return failed(question, error)


def _in_words(subject: Subject, question: str, use_model: bool, now: datetime | None, after: Answer | None) -> Answer:
    try:
        answer = subject.in_words(question, use_model, now, after)
    except Refusal as error:
        answer = refused(question, str(error), subject)
    except Ambiguity as error:
        answer = asked_back(question, error)
    if answer.status not in ("refused", "ambiguous") or not answer.teaches:
        return answer
    is_back, own = answer.status == "ambiguous", answer.suggestions
    near = tuple(q for q in subject.alike(question, saved_alone=is_back) if q not in own)
    # A choice keeps its number; beside a refusal, examples say less than what was asked before.
    return replace(answer, suggestions=(*own, *near) if is_back else (*near, *own))


def is_choice(question: str, back: Answer, taken: Answer) -> bool:
    """Whether a question was a choice of what another one's answer offered, which answered it with rows."""
    offered = any(is_named(p, question) for p in back.proposals)
    asked = back.status == "ambiguous" and question in back.suggestions
    rows = taken.table.rows if taken.status == "answered" and taken.table else ()
    return back.teaches and (offered or asked) and bool(rows)


def _learnt(subject: Subject, back: Answer, taken: Answer, now: datetime | None) -> Answer:
    """The answer of a choice, with what is learnt of it."""
    try:
        lesson = subject.lesson(back, taken, now or datetime.now(UTC).replace(tzinfo=None))
    except Exception:  # what was asked is answered: only the log need know that nothing is learnt of it
        _log.exception("A choice could not be learnt")
        return taken
    if lesson is None:
        return taken
    note, learnt = subject.habits.choose(back.question, taken.question, lesson.form, lesson.word, lesson.whole)
    return replace(taken, learnt=(*taken.learnt, *learnt), note=" ".join(filter(None, (taken.note, note))))


def _is_sql(text: str, subject: Subject) -> bool:
    if not subject.opening.match(text) or text.rstrip().endswith("?"):
        return False
    return bool(_SIGNS.search(text)) or bool(_FROM.search(text) and subject.is_readable(text))


def known_alike(question: str, saved: Path, learnt: Sequence[str]) -> tuple[str, ...]:
    """Questions worded like one: of those that are saved, and of those that were answered by a choice."""
    with contextlib.suppress(SavedError):  # which the answer has a note of
        known = list(dict.fromkeys((*(s.question for s in Saved(saved).all()), *learnt)))
        others = [q for q in known if same_words(q) != same_words(question)]
        return tuple(others[i] for i in most_alike(question, others, _NEAR))
    return ()


def rows_at(answer: Answer, places: Sequence[int]) -> list[dict[str, Value | None]]:
    """The rows at some places of an answer, by the names of its columns."""
    table = answer.table
    there = [i for i in places if table and i < len(table.rows)]
    return [dict(zip(table.names, table.rows[i], strict=True)) for i in there] if table else []


def ran(blank: Answer, run: Callable[[], Result]) -> Result | Answer:
    """What running a statement brings, or the answer that says why it brings nothing."""
    try:
        return run()
    except GuardError as error:
        return replace(blank, status="refused", summary=str(error))
    except FAILURES as error:
        return replace(blank, summary=str(error))
    except Exception:  # whatever was asked, the person gets a sentence, and the log what was wrong
        _log.exception("What a statement brings could not be told")
        told = "What was found could not be told, by a fault of Mirror's: ask in other words, or run the SQL as it is."
        return replace(blank, summary=told)


def refused(question: str, why: str, subject: Subject) -> Answer:
    """A refusal, with what can be asked instead."""
    return Answer("refused", question[:MAX_QUESTION], summary=why, suggestions=subject.examples()[:3])


def asked_back(question: str, error: Ambiguity) -> Answer:
    """A question back."""
    return Answer("ambiguous", question, summary=str(error), suggestions=error.choices)


def failed(question: str, error: Exception) -> Answer:
    """What could not be read."""
    return Answer("error", question[:MAX_QUESTION], summary=str(error))

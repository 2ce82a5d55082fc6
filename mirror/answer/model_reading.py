"""A language model beside the embedded readers of other data: asked for SQL, and compared with them by rows.

Where both come to the same rows, the form of the embedded readers is the answer, which can be edited. Where they
differ, both are offered if the embedded readers are sure, else the model's is the answer. Where it fails, they answer.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from db.plain_text import plain_text
from mirror.answer.answer import Answer
from mirror.answer.proposal import Proposal, is_named
from mirror.answer.subject import FAILURES, Subject, asked_back, refused
from mirror.data.data_source import QueryCancelled, QueryError, QueryStopped
from mirror.data.guard.guard_errors import GuardError
from mirror.data.process.other_data_process import OtherDataSource
from mirror.language.edit.edited import SeveralEdits, edited
from mirror.language.edit.fragment import fragment_of
from mirror.model.llm import Declined, LlmError
from mirror.model.other_data_llm import AskedBack, Chosen, write_sql
from mirror.model.other_data_prompt import Before
from mirror.query.agreement import Agreement
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.other_data.build import build
from mirror.query.other_data.form import Asked
from mirror.query.other_data.form_sentence import sentence
from mirror.query.saved import Saved, SavedError, SavedQuestion, saved_path_of
from mirror.query.token_count import Tokens
from mirror.schema.database import Database
from mirror.table.alike import Rows, holds, is_empty

_log = logging.getLogger(__name__)
_COMPARED_S = 3.0  # how long an embedded reading may run that is only compared
_NEAREST = 4  # saved questions that the model is shown
_MOST_CHOICES = 4
_MAX_CHOICE = 200  # characters
_AGREED = "The language model and the built-in reader come to the same rows."
_UNCONFIRMED = "The built-in reader does not understand this question, so nothing confirms the model's reading."
_INSTEAD = "The built-in reader read the question instead."


@dataclass(frozen=True)
class Embedded:
    """The embedded readers of other data.

    Attributes:
        subject: what is asked about.
        source: where its SQL runs.
        database: its tables.
        read: their answer of a question, or one that asks back; it raises Refusal or Ambiguity.
        of_form: the answer of a form; it raises Refusal.
        forms: the likeliest readings of a question.
    """

    subject: Subject
    source: OtherDataSource
    database: Database
    read: Callable[[str, datetime, Answer | None], Answer]
    of_form: Callable[[str, Asked], Answer]
    forms: Callable[[str, datetime], Sequence[Asked]]


def answer_of(question: str, now: datetime, after: Answer | None, embedded: Embedded) -> Answer:
    """The answer of a question that a language model reads as well.

    What was offered and is chosen, and a follow-up that the embedded readers know, are answered without it.
    """
    for offered in after.proposals if after else ():
        if is_named(offered, question):
            if offered.form is not None:
                return embedded.of_form(question, offered.form)
            return replace(embedded.subject.run_sql(offered.sql, question), engine="llm", read_as=offered.text)
    if answer := _of_follow_up(question, now, after, embedded):
        return answer
    first = _embedded(question, now, after, embedded)
    first = replace(first, teaches=first.teaches and not (after and fragment_of(question).sure))
    reading = _Comparison(question, now, embedded, first)
    try:
        before = Before(after.question, after.sql) if after and after.sql else None
        saved = _saved(question, embedded)
        outcome = write_sql(question, embedded.database, embedded.source, now, saved, before)
        answer = reading.beside(outcome.value)
        return replace(_with_sent(answer, outcome.sent, outcome.tokens), teaches=first.teaches)
    except Declined as declined:
        return replace(_with_sent(reading.without(declined), declined.sent, declined.tokens), teaches=first.teaches)
    except LlmError as error:
        note = " ".join(filter(None, (f"{error} {_INSTEAD}", first.note)))
        return _with_sent(replace(first, note=note), error.sent, error.tokens)
    except FAILURES:
        raise
    except Exception:  # as for any question: a fault of Mirror's is told, and the log has what was wrong
        _log.exception("A question could not be read with the language model")
        note = f"The language model could not be asked, by a fault of Mirror's. {_INSTEAD}"
        return replace(first, note=" ".join(filter(None, (note, first.note))))


def _with_sent(answer: Answer, sent: str, tokens: Tokens) -> Answer:
    return replace(answer, sent=sent, tokens=tokens)


def _of_follow_up(question: str, now: datetime, after: Answer | None, embedded: Embedded) -> Answer | None:
    """The answer of what the embedded readers know as a follow-up; None of all else."""
    if after is None or after.form is None:
        return None
    try:
        form = edited(question, after.form, embedded.database, now)
        return embedded.of_form(question, form) if form else None
    except (Refusal, SeveralEdits):
        return None
    except Exception:  # as for any question: a fault of a reader is not the person's
        _log.exception("A follow-up could not be read")
        return None


def _embedded(question: str, now: datetime, after: Answer | None, embedded: Embedded) -> Answer:
    """What the embedded readers say alone."""
    try:
        return embedded.read(question, now, after)
    except Refusal as refusal:
        return refused(question, str(refusal), embedded.subject)
    except Ambiguity as back:
        return asked_back(question, back)


def _saved(question: str, embedded: Embedded) -> tuple[SavedQuestion, ...]:
    try:
        return Saved(saved_path_of(embedded.source.location.where)).nearest(question, _NEAREST)
    except SavedError:  # which the answer has a note of
        return ()


@dataclass(frozen=True)
class _Comparison:
    """What the model says beside what the embedded readers say first."""

    question: str
    now: datetime
    embedded: Embedded
    first: Answer

    @property
    def _sure(self) -> bool:
        """Whether the embedded readers answer at once."""
        return self.first.status == "answered" and self.first.form is not None

    def _offered(self) -> tuple[Proposal, ...]:
        """What the embedded readers offer, or would answer."""
        if self._sure and self.first.form is not None:
            return (Proposal(sentence(self.first.form, self.embedded.database), self.first.form),)
        return self.first.proposals

    def beside(self, chosen: Chosen) -> Answer:
        """The answer where the model wrote SQL."""
        same, whole = self._agreeing(chosen.rows)
        if same is not None and (not self._sure or same == self.first.form):
            answer = self.first if same == self.first.form else self.embedded.of_form(self.question, same)
            answer = answer if whole else self._by_model(chosen)
            return replace(answer, engine="llm", agreement=Agreement(True, _AGREED))
        if self._sure:
            return self._both(chosen, same if whole else None)
        if self.first.status == "ambiguous":
            agreement = Agreement(None, f"The built-in reader would have asked back: {self.first.summary}")
        else:
            agreement = Agreement(None, _UNCONFIRMED)
        offered = self._offered()
        choices = self.first.suggestions if self.first.status == "ambiguous" else tuple(p.text for p in offered)
        answer = replace(self._by_model(chosen), agreement=agreement, suggestions=choices, proposals=offered)
        return replace(answer, note=" ".join(filter(None, (_split(chosen), answer.note))))

    def without(self, declined: Declined) -> Answer:
        """The answer where the model asks back, or finds none."""
        offered = self._offered()
        texts = tuple(p.text for p in offered)
        if isinstance(declined, AskedBack):
            mine = texts if self.first.status != "refused" else ()
            choices = (*mine, *declined.choices)[:_MOST_CHOICES]
            told = f"This can be read in {len(choices)} ways: which is meant?"
            answer = asked_back(self.question, Ambiguity(told, choices))
        elif self._sure:
            answer = asked_back(self.question, Ambiguity(f"{declined}\nThe built-in reader would answer this:", texts))
        else:
            answer = refused(self.question, str(declined), self.embedded.subject)
            answer = replace(answer, suggestions=(*texts, *answer.suggestions)[:3])
        return replace(answer, engine="llm", proposals=offered)

    def _by_model(self, chosen: Chosen) -> Answer:
        told = "; ".join(("SQL that the language model wrote", *chosen.notes))
        return replace(self.embedded.subject.run_sql(chosen.sql, self.question), engine="llm", read_as=told)

    def _both(self, chosen: Chosen, same: Asked | None) -> Answer:
        """A question back where the embedded readers are sure, and the model reads something else."""
        if same is not None:
            other = Proposal(sentence(same, self.embedded.database), same)
        else:
            said = f": {'; '.join(chosen.notes)}" if chosen.notes else ""
            other = Proposal(plain_text(f"As the language model reads it{said}", _MAX_CHOICE), None, chosen.sql)
        offered = (*self._offered(), other)
        told = Ambiguity("The language model and the built-in reader read this differently: which is meant?",
                         tuple(p.text for p in offered))  # fmt: skip
        agreement = Agreement(False, f"The built-in reader would answer otherwise: {offered[0].text}.")
        return replace(asked_back(self.question, told), engine="llm", proposals=offered, agreement=agreement)

    def _agreeing(self, rows: Rows) -> tuple[Asked | None, bool]:
        """The first embedded reading with the rows of the model, and whether it shows all of the model's columns."""
        for form in self._forms():
            theirs = self._rows_of(form)
            if theirs is None or (is_empty(theirs) and not (self._sure and form == self.first.form)):
                continue  # two readings that find nothing need not be the same
            if holds(theirs, rows):
                return form, True
            if holds(rows, theirs):
                return form, False
        return None, False

    def _forms(self) -> Iterator[Asked]:
        """The readings, each once, what is answered or offered before all others."""
        seen: list[Asked] = []
        for form in self._found():
            if form not in seen:
                seen.append(form)
                yield form

    def _found(self) -> Iterator[Asked]:
        if self._sure and self.first.form is not None:
            yield self.first.form
        if self.first.status == "ambiguous":
            yield from (p.form for p in self.first.proposals if p.form is not None)
        yield from self.embedded.forms(self.question, self.now)

    def _rows_of(self, form: Asked) -> Rows | None:
        """The rows of a form; None where they cannot be had."""
        if form == self.first.form and self.first.table is not None:
            return self.first.table.rows
        try:
            built = build(form, self.embedded.database)
            return self.embedded.source.run(built.sql, time_limit_s=_COMPARED_S).rows
        except QueryCancelled:
            raise
        except (Refusal, GuardError, QueryError, QueryStopped, KeyError, IndexError):
            return None


def _split(chosen: Chosen) -> str:
    """What is said where the candidates of the model differ."""
    if chosen.votes == chosen.candidates:
        return ""
    return f"Only {chosen.votes} of {chosen.candidates} answers of the language model came to these rows."

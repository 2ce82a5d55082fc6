"""Other data as what is asked about: words become a form, SQL, rows, chart and sentence.

A saved question is known, a choice that was offered is taken as it is, and a follow-up changes the form before. All
else is read by the readers of any wording, and `mirror.answer.policy` says what becomes of their readings.
"""

import contextlib
import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from mirror.answer import model_reading, policy
from mirror.answer.answer import Answer
from mirror.answer.explained import reading_in_words
from mirror.answer.proposal import Proposal, chosen
from mirror.answer.subject import FAILURES, GONE, Behind, Lesson, asked_back, known_alike, ran, refused, rows_at
from mirror.answer.whole import with_whole
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.choose import choose
from mirror.data.data_source import QueryCancelled, QueryError, QueryStopped
from mirror.data.guard import sqlglot_tree as guard
from mirror.data.guard.guard_errors import GuardError
from mirror.data.process.other_data_process import shared
from mirror.data.rows_behind import rows_behind
from mirror.data.sources.location import Location
from mirror.language.edit.edited import SeveralEdits, edited
from mirror.language.edit.still_there import missing
from mirror.language.learning.of_other_data import holds_later, taught_word
from mirror.language.learning.own_words_text import said_words, text_of_word, words_of_database
from mirror.language.ranking.candidate import Candidate, NotRun, Rows
from mirror.language.ranking.candidates import candidates
from mirror.language.reading.covers import covers_of, linker_of
from mirror.language.reading.reading import check_said, why_unread
from mirror.model.model_setting import configured
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.kept.habits import Habits
from mirror.query.kept.same_question import same_words
from mirror.query.other_data.build import Built, build
from mirror.query.other_data.first_questions import first_questions
from mirror.query.other_data.form import Asked
from mirror.query.other_data.form_in_words import read_back
from mirror.query.other_data.form_text import FormError
from mirror.query.other_data.learnt_form import asked_of_learnt, text_of_learnt
from mirror.query.saved import Saved, SavedError, saved_path_of
from mirror.query.spec import Order, Wanted
from mirror.schema.database import Database, known_sentence, shown
from mirror.sentence.summary import summarize
from mirror.table.table import Table
from mirror.table.wording import counted, in_words

_log = logging.getLogger(__name__)
_MOST_BEHIND = 100  # rows behind a point that are shown
_COMPARED_S = 3.0  # how long the readings of a question may run that are only compared with one another


class OtherData:
    """A database or files as what is asked about. Raises SourceError or QueryStopped where they cannot be read."""

    opening = re.compile(
        r"\s*(select\b|(un)?pivot\s+\w+\s+on\b|with\s+(recursive\s+)?\w+\s*(\([^()]*\)\s*)?as\s*\()", re.IGNORECASE
    )

    def __init__(self, location: Location, learnt: bool = True) -> None:
        self.source = shared(location)
        self.saved_path = saved_path_of(location.where)
        self.habits = Habits(self.saved_path, location.name, learnt)
        database = self.source.schema()
        self._words = words_of_database(self.habits.words, database)
        self._database = replace(database, words=self._words) if self._words else database

    def is_readable(self, sql: str) -> bool:
        """Whether a text can be parsed as SQL of this database."""
        return guard.is_readable(sql, self._database.dialect)

    def examples(self) -> tuple[str, ...]:
        """Questions that it can answer."""
        return first_questions(self._database)

    def run_sql(self, sql: str, question: str = "") -> Answer:
        """The answer of a statement, which is known by its columns alone. Never raises."""
        blank = Answer("error", question, "SQL as written", sql, engine="sql")

        def run() -> Answer:
            table, odd = self._rows(sql)
            chart = choose(table, None)
            answer = replace(blank, status="answered", table=table, chart=chart)
            return _with_sentence(answer, summarize(table, None, chart), odd)

        return ran(blank, run)

    def in_words(self, question: str, use_model: bool, now: datetime | None, after: Answer | None) -> Answer:
        """The answer of a question in plain words. Raises Refusal or Ambiguity."""
        kept, note = self._saved(question)
        if kept:
            return kept
        now = now or datetime.now(UTC).replace(tzinfo=None)
        recalled, stale = self._recalled(question, now, after)
        note = " ".join(filter(None, (note, self.habits.note, stale)))
        if recalled:
            return replace(recalled, note=" ".join(filter(None, (note, recalled.note))))
        if use_model and configured():
            embedded = model_reading.Embedded(
                self, self.source, self._database, self._read,
                lambda asked, form: self._of_form(asked, self._still(form)), self._forms,
            )  # fmt: skip
            answer = model_reading.answer_of(question, now, after, embedded)
        else:
            answer = self._read(question, now, after)
        used = self.habits.of_words({w.word: w.name for w in said_words(question, self._words)})
        return replace(answer, note=" ".join(filter(None, (note, answer.note))), learnt=used)

    def _saved(self, question: str) -> tuple[Answer | None, str]:
        """The answer of a question that was saved, and a note where saved questions cannot be read."""
        try:
            kept = Saved(self.saved_path).find(question)
        except SavedError as error:
            return None, str(error)
        return replace(self.run_sql(kept.sql, question), read_as=kept.said, engine="saved") if kept else None, ""

    def _recalled(self, question: str, now: datetime, after: Answer | None) -> tuple[Answer | None, str]:
        """The answer as it was chosen for this question before, or a note where that has no rows any more."""
        found = self.habits.recall(question)
        if found is None or (after and chosen(question, after.proposals)) or self._changes(question, now, after):
            return None, ""
        answer: Answer | None = None
        if found.form is None:
            answer = self._saved(found.meant)[0]
        else:
            with contextlib.suppress(FormError, Refusal, KeyError, IndexError, TypeError, ValueError):
                answer = self._of_form(question, self._still(asked_of_learnt(found.form, self._database)))
        if answer is None or answer.status != "answered" or not answer.table or not answer.table.rows:
            return None, GONE
        read_as = f"{answer.read_as} (you chose this before)"
        return replace(answer, question=question, read_as=read_as, learnt=(self.habits.of_question(found),)), ""

    def _changes(self, question: str, now: datetime, after: Answer | None) -> bool:
        """Whether a question changes the one before."""
        if after is None or after.form is None or same_words(question) == same_words(after.question):
            return False
        try:
            return edited(question, after.form, self._database, now) is not None
        except SeveralEdits:
            return True
        except Refusal:
            return False

    def of_form(self, question: str, form: Mapping[str, Any]) -> Answer:
        """The answer of a question whose reading was kept."""
        return self._of_form(question, self._still(asked_of_learnt(form, self._database)))

    def behind(self, answer: Answer, places: Sequence[int]) -> Behind:
        """The rows that some rows of an answer were made from."""
        sql = rows_behind(answer.sql or "", self._database.dialect, rows_at(answer, places))
        table = self.source.run(sql, row_cap=_MOST_BEHIND)
        return Behind(table, None if table.truncated else len(table.rows))

    def lesson(self, back: Answer, taken: Answer, now: datetime) -> Lesson | None:
        """What a choice teaches; None for nothing."""
        if taken.form is None:
            return Lesson() if taken.engine == "saved" else None
        own = taught_word(back.question, taken.form, self._database, now)
        word = (own.word, text_of_word(own)) if own else None
        return Lesson(text_of_learnt(taken.form), word, holds_later(back.question, taken.form, now))

    def alike(self, question: str, saved_alone: bool) -> tuple[str, ...]:
        """Questions that are known and worded like this one."""
        return known_alike(question, self.saved_path, () if saved_alone else self.habits.asked)

    def _read(self, question: str, now: datetime, after: Answer | None) -> Answer:
        try:
            if after and (form := chosen(question, after.proposals) or _chosen_before(question, after)):
                return self._of_form(question, self._still(form))
            if after and after.form and (form := edited(question, after.form, self._database, now)):
                return self._of_form(question, form)
            return self._read_anew(question, now)
        except SeveralEdits as several:
            offered = tuple(map(Proposal, several.choices, several.forms))
            return replace(asked_back(question, several), proposals=offered, teaches=False)
        except (Refusal, *FAILURES):
            raise
        except Exception:  # whatever was typed, the person gets a sentence, and the log what was wrong
            _log.exception("A question could not be read")
            raise Refusal("This question could not be read, by a fault of Mirror's: ask in other words.") from None

    def _still(self, asked: Asked) -> Asked:
        """The form of an earlier question. Raises Refusal where the tables no longer hold what it is about."""
        if gone := missing(asked, self._database):
            raise Refusal(f"The data have changed since, and no longer hold {shown(gone)} as it was: ask anew.")
        return asked

    def _of_form(self, question: str, asked: Asked) -> Answer:
        """The answer of a form. Raises Impossible for what the SQL of the database cannot say."""
        database = self._database
        built = build(asked, database)
        blank = Answer("error", question, read_back(asked, built, database), built.sql, form=asked)

        def run() -> Answer:
            wanted = _wanted(asked, built)
            table, odd = self._rows(built.sql, built, wanted or Wanted("rows", ()))
            return _answered(replace(blank, status="answered", table=table, wanted=wanted), built, odd, database)

        return ran(blank, run)

    def _read_anew(self, question: str, now: datetime) -> Answer:
        """What the readers make of a question of its own. Raises Refusal."""
        database = self._database
        check_said(question, database, now)
        decision = self._decided(question, now)[1]
        if decision.kind == "answer":
            return self._of_form(question, policy.with_notes(decision.readings[0]))
        offered = policy.proposals(decision.readings, database)
        choices = tuple(p.text for p in offered)
        texts = " ".join(note for note in database.notes if _is_of_text_named(note, question))
        if decision.kind == "show":
            told = " ".join(filter(None, (policy.told(decision), texts)))
            return replace(asked_back(question, Ambiguity(told, choices)), proposals=offered)
        why = texts or ("" if decision.unread else why_unread(question, database, now))
        why = why or policy.told(decision, linker_of(database).nearest) or "It is not said what to show."
        near = f"What can be answered: “{choices[0]}”." if choices else known_sentence(database)
        answer = refused(question, f"{why}\n{near}", self)
        return replace(answer, suggestions=(*choices, *answer.suggestions)[:3], proposals=offered)

    def explain(self, question: str, now: datetime | None) -> str:
        """What the readers make of a question, whoever answers it. Raises one of FAILURES."""
        now = now or datetime.now(UTC).replace(tzinfo=None)
        return reading_in_words(question, self._database, now, *self._decided(question, now))

    def _forms(self, question: str, now: datetime) -> list[Asked]:
        """The likeliest readings of a question."""
        return [c.asked for c in self._decided(question, now)[0]]

    def _decided(self, question: str, now: datetime) -> tuple[list[Candidate], policy.Decision]:
        """The readings of a question, and what becomes of them."""
        until: float | None = None  # from the first that runs: a busy machine may take as long to read the words

        def rows_of(built: Built) -> Rows | None:
            """The rows of a reading, to compare it with others; None where it does not run."""
            nonlocal until
            until = until or time.monotonic() + _COMPARED_S
            left = until - time.monotonic()
            if left <= 0:
                raise NotRun
            try:
                return self.source.counted(built.sql, time_limit_s=left, over=self._database)[0].rows
            except QueryCancelled:
                raise
            except QueryStopped:
                raise NotRun from None
            except (GuardError, QueryError):
                return None

        found = candidates(question, self._database, now, rows_of)
        covers = covers_of(question, self._database, now)
        return found, policy.decide(found, covers[0].skipped if covers else ())

    def _rows(self, sql: str, built: Built | None = None, wanted: Wanted | None = None) -> tuple[Table, int]:
        """The result, with what its columns are for and with all of its rows, and how many of its numbers are none."""
        table, odd = self.source.counted(sql, over=self._database if built else None)
        table = built.typed(table) if built else table
        return table if odd else with_whole(table, sql, wanted, self._whole, self._database.dialect), odd

    def _whole(self, sql: str, row_cap: int, time_limit_s: float) -> Table:
        table, odd = self.source.counted(sql, row_cap, time_limit_s)
        if odd:
            raise QueryError("A number of the rows is none (NaN or infinite).")
        return table


def _chosen_before(question: str, after: Answer) -> Asked | None:
    """The form of an answer that was recalled, where a question names it by the words of its choice."""
    recalled = (h for h in after.learnt if h.kind == "question" and same_words(h.means) == same_words(question))
    return after.form if any(recalled) else None


def _answered(answer: Answer, built: Built, odd: int, database: Database) -> Answer:
    """The answer with its chart and its sentence."""
    table, wanted = answer.table, answer.wanted
    assert table is not None
    if wanted is None:
        chart = ChartSpec("table", reason="The rows are listed as they are.")
        return _with_sentence(replace(answer, chart=chart), _listed(table), odd, database, built)
    chart = choose(table, wanted)
    text = summarize(table, wanted, chart)
    if len(table.rows) == 1 and wanted.dimensions:  # what a single row is about comes first
        key = {d: table.values(d)[0] for d in wanted.dimensions if d in table.names}
        text = f"{in_words(table, key)}: {text[:1].lower()}{text[1:]}"
    return _with_sentence(replace(answer, chart=chart), text, odd, database, built)


def _listed(table: Table) -> str:
    if not table.rows:
        return "No rows match."
    rows = counted(len(table.rows), "row")
    if not table.truncated:
        return f"{rows}."
    return f"The first {rows} of {sum(table.whole.tallies):,}." if table.whole else f"The first {rows}."


def _wanted(asked: Asked, built: Built) -> Wanted | None:
    """The result's columns by use, as chart and sentence ask for them; None where rows are listed as they are."""
    if not asked.measures:
        return None
    metrics = list(built.metrics)
    order: tuple[Order, ...] = ()
    if asked.order and not asked.count_groups:
        leading = metrics.pop(asked.order[0])
        metrics.insert(0, leading)
        order = (Order(leading, asked.order[1]),)
    ranked = asked.order is not None and (asked.ties or asked.limit is not None)
    return Wanted("ranking" if ranked else "groups", tuple(metrics), built.dimensions, order, asked.limit, asked.chart)


def _with_sentence(
    answer: Answer, summary: str, odd: int, database: Database | None = None, built: Built | None = None
) -> Answer:
    """The answer with its sentence, and with what the person must know besides."""
    notes = [note for note in database.notes if built and _concerns(note, built)] if database else []
    if odd:
        notes.append(f"{counted(odd, 'number')} of the result {'is' if odd == 1 else 'are'} none (NaN or infinite).")
    return replace(answer, summary=summary, note=" ".join(notes))


def _is_of_text_named(note: str, question: str) -> bool:
    """Whether a note says why a column that the question names is text and no numbers or dates."""
    name, is_text, _ = note.partition(" is read as text and not as ")
    words = [re.escape(word) for word in re.split(r"[\W_]+", name.partition(".")[2]) if word]
    return bool(is_text and words and re.search(rf"\b{'[ _]'.join(words)}\b", question, re.IGNORECASE))


def _concerns(note: str, built: Built) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(table)}(?!\w)", note) for table in built.tables)

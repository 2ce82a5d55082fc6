"""A language model writes SQL over other data: several candidates, of which the rows of most win, and one repair."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from db.plain_text import plain_text
from mirror.data.data_source import Source
from mirror.model.chat_server import LlmError, server_settings
from mirror.model.conversation import Declined, Outcome, Task, Unusable, converse, reason_of
from mirror.model.free_sql import WrittenSql, check_in, checked, sql_answer
from mirror.model.llm_summary import rows_allowed
from mirror.model.other_data_prompt import ANSWER_SCHEMA, Before, messages
from mirror.model.schema_extract import extract
from mirror.query.saved import SavedQuestion
from mirror.schema.database import Database
from mirror.table.alike import Rows, holds, is_empty

CANDIDATES = 3
_ROW_CAP = 1000  # of rows that are compared: as many as an answer shows
_MAX_REASON = 160  # characters: two lines with what stands before it
_MAX_CHOICE = 200
_MOST_CHOICES = 3
_LINK = re.compile(r"://|\bwww\.|\]\(", re.IGNORECASE)
_EMPTY = (
    "The statement runs, and its result is empty. Look again at the conditions, joins and how texts are spelt; where "
    "nothing is wrong with them, write the same statement again."
)


class AskedBack(Declined):
    """The model asks back: `choices` are whole questions."""

    def __init__(self, choices: tuple[str, ...]) -> None:
        super().__init__("The language model asks which of several readings is meant.")
        self.choices = choices


@dataclass(frozen=True)
class Chosen:
    """The SQL that won.

    Attributes:
        sql: one SELECT that runs.
        notes: what the model assumed, one phrase each.
        rows: what it gives.
        votes: how many candidates gave these rows.
        candidates: of how many.
    """

    sql: str
    notes: tuple[str, ...]
    rows: Rows
    votes: int = 1
    candidates: int = 1


def write_sql(
    question: str,
    database: Database,
    source: Source,
    now: datetime,
    saved: Sequence[SavedQuestion] = (),
    before: Before | None = None,
) -> Outcome[Chosen]:
    """One SELECT for a question about other data, which has run through guard and limits like any statement.

    The model sees what `extract` shows of the schema, saved questions and the question before; it is told errors as far
    as they hold no data, and whether a result was empty.

    Raises (each with what was sent as its `sent`, and what that took as its `tokens`):
        AskedBack: the model asks which of several readings is meant.
        Declined: the model says that the data cannot answer this.
        LlmError: the model is not set up, not reachable, too slow, or wrote nothing that runs.
    """
    found = extract(question, database, now, rows_allowed())
    count = _Count(source)
    task = Task("other_data_sql", ANSWER_SCHEMA, count.chosen, "SQL that can run", CANDIDATES, repairs=1)
    try:
        return converse(server_settings(), task, messages(question, database.dialect, found, now, saved, before))
    except LlmError as error:
        if count.empty is None:
            raise
        return Outcome(count.empty, error.sent, error.tokens)  # the repair failed: the empty result is the answer


@dataclass
class _Count:
    """The candidates of the answers to one question, counted by what they come to."""

    source: Source
    empty: Chosen | None = None
    known: dict[str, Rows] = field(default_factory=dict)

    def chosen(self, *texts: str) -> Chosen:
        """What most candidates come to; of equal numbers the first with rows. Raises Unusable or Declined."""
        ends: list[Chosen | Declined] = []
        problems: list[Unusable] = []
        for text in texts:
            try:
                ends.append(self._end(text))
            except Unusable as problem:
                problems.append(problem)
        if not ends:
            raise problems[0]
        votes = [sum(_same(end, other) for other in ends) for end in ends]
        most, best = max(zip(votes, ends, strict=True), key=lambda counted: (counted[0], _has_rows(counted[1])))
        if isinstance(best, Declined):
            raise best
        best = replace(best, votes=most, candidates=len(texts))
        if is_empty(best.rows) and self.empty is None:
            self.empty = best
            raise Unusable(_EMPTY)
        return best

    def _end(self, text: str) -> Chosen | Declined:
        """What one candidate comes to. Raises Unusable, and what no repair mends."""
        data = sql_answer(text)
        why = _reason(data)
        if why:
            return Declined(f"The language model finds no answer in these data: {why}")
        if choices := _choices(data):
            return AskedBack(choices)
        written: WrittenSql = checked(data, self._run)
        return Chosen(written.sql, written.notes, self.known[written.sql])

    def _run(self, sql: str) -> None:
        if sql not in self.known:
            self.known[sql] = check_in(self.source, row_cap=_ROW_CAP)(sql).rows


def _same(end: Chosen | Declined, other: Chosen | Declined) -> bool:
    """Whether two candidates come to the same: rows of which one may show some columns more, or no answer."""
    if isinstance(end, Chosen) and isinstance(other, Chosen):
        return holds(other.rows, end.rows) or holds(end.rows, other.rows)
    return type(end) is type(other)


def _has_rows(end: Chosen | Declined) -> bool:
    return isinstance(end, Chosen) and not is_empty(end.rows)


def _reason(data: dict[str, Any]) -> str:
    """Why there is no answer, in plain words of at most two lines: none that lead elsewhere."""
    why = reason_of(data, "cannot_answer")
    return "it gives no reason that can be shown." if _LINK.search(why) else plain_text(why, _MAX_REASON) if why else ""


def _choices(data: dict[str, Any]) -> tuple[str, ...]:
    """The questions of a model that asks back; none where it has written SQL, or gives no choice."""
    given = data.get("choices")
    sql = data.get("sql")
    if not isinstance(given, list) or (isinstance(sql, str) and sql.strip()):
        return ()
    texts = (plain_text(text, _MAX_CHOICE) for text in given if isinstance(text, str) and not _LINK.search(text))
    choices = tuple(dict.fromkeys(text for text in texts if text))[:_MOST_CHOICES]
    return choices if len(choices) > 1 else ()

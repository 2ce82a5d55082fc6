"""What the address of the page Ask says: what is asked about, the questions, what was changed of them, edited SQL."""

from dataclasses import dataclass, field

import streamlit as st

from mirror.faces.pages.trails.trail import MOST_STEPS, Trail
from mirror.table.wording import counted

LONGEST_FORM = 2_000
ABOUT = "about"  # the kind of place that is about to be opened
PARAMETERS = (ABOUT, "source", "q", "sql", "form", "seen")
_LONGEST_MARK = 40
_LONGEST_SQL = 4_000  # characters of edited SQL in an address: some browsers and proxies cut longer ones


@dataclass(frozen=True)
class Address:
    """What an address says: what is asked about, questions, the first and its follow-ups, and the SQL of the last.

    The SQL is there where it was edited or is a language model's, which a link does not start again. Two are the same
    that lead to the same answer, whatever was seen of it.

    `forms` has as many texts: the query of a question that was made by changing parts, empty for those of words alone.
    `seen` is the mark of the rows of its answer when the address was made (`Table.mark`). `source` is the link of what
    is asked about (`Place.link`), empty for the results.
    """

    questions: tuple[str, ...] = ()
    sql: str = ""
    forms: tuple[str, ...] = ()
    seen: str = field(default="", compare=False)
    source: str = ""

    @classmethod
    def now(cls) -> "Address":
        """The address as the browser has it."""
        source = str(st.query_params.get("source", "")).strip()
        linked = tuple(q for q in st.query_params.get_all("q") if q.strip())[:MOST_STEPS]
        if not linked:
            return cls(source=source)
        given = (text.partition(":") for text in st.query_params.get_all("form"))
        known = {at: form for at, _, form in given if len(form) <= LONGEST_FORM}
        forms = tuple(known.get(str(i), "") for i in range(len(linked)))
        seen = str(st.query_params.get("seen", ""))[:_LONGEST_MARK]
        sql = str(st.query_params.get("sql", ""))
        if len(sql) > _LONGEST_SQL:  # half a statement may run, and say something else
            sql = seen = ""
        return cls(linked, sql, forms, seen, source)

    @classmethod
    def of(cls, shown: Trail | None, source: str) -> "Address":
        """The address that leads to what is shown of a source."""
        if shown is None:
            return cls(source=source)
        answer = shown.step.shown
        sql, table = answer.sql or "", answer.table
        not_of_words = shown.step.edited or answer.engine == "llm"
        kept = not_of_words and shown.questions and len(sql) <= _LONGEST_SQL
        lost = not_of_words and not kept  # then the address leads to the question as it was asked: to other rows
        mark = table.mark if table and not lost else ""
        return cls(shown.questions, sql if kept else "", shown.forms, mark, source)

    @property
    def rest(self) -> "Address":
        """The same without its first question."""
        return Address(self.questions[1:], self.sql, self.forms[1:])

    @property
    def said(self) -> dict[str, list[str]]:
        """As parameters of an address; nothing for what it does not say."""
        forms = [f"{i}:{form}" for i, form in enumerate(self.forms) if form]
        texts = {"source": [self.source], "q": list(self.questions), "sql": [self.sql], "form": forms}
        said = {**texts, "seen": [self.seen]}
        return {name: given for name, given in said.items() if any(given)}

    def told_since(self, now: str) -> str:
        """A sentence where the rows behind its answer are others now, by their mark; else nothing."""
        if not self.seen or not now or self.seen == now:
            return ""
        then, rows = self.seen.partition("-")[0], now.partition("-")[0]
        told = f"The {'data' if self.source else 'results'} behind this answer have changed since the link was made"
        counts = f": {counted(int(then), 'row')} then, {int(rows):,} now" if then.isdecimal() and then != rows else ""
        return f"{told}{counts}."


NOTHING = Address()

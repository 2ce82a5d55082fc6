"""What the address of the page Ask says: the questions, what was changed of them, edited SQL."""

from dataclasses import dataclass

import streamlit as st

from mirror.faces.pages.trails.trail import MOST_STEPS, Trail

LONGEST_FORM = 2_000
PARAMETERS = ("q", "sql", "form")
_LONGEST_SQL = 4_000  # characters of edited SQL in an address: some browsers and proxies cut longer ones


@dataclass(frozen=True)
class Address:
    """What an address says: questions, the first and its follow-ups, and the SQL of the last as it was edited.

    `forms` has as many texts: the query of a question that was made by changing parts, empty for those of words alone.
    """

    questions: tuple[str, ...] = ()
    sql: str = ""
    forms: tuple[str, ...] = ()

    @classmethod
    def now(cls) -> "Address":
        """The address as the browser has it."""
        linked = tuple(q for q in st.query_params.get_all("q") if q.strip())[:MOST_STEPS]
        if not linked:
            return cls()
        given = (text.partition(":") for text in st.query_params.get_all("form"))
        known = {place: form for place, _, form in given if len(form) <= LONGEST_FORM}
        forms = tuple(known.get(str(i), "") for i in range(len(linked)))
        return cls(linked, str(st.query_params.get("sql", ""))[:_LONGEST_SQL], forms)

    @classmethod
    def of(cls, shown: Trail) -> "Address":
        """The address that leads to what is shown."""
        sql = shown.step.shown.sql or ""
        kept = shown.step.edited and shown.questions and len(sql) <= _LONGEST_SQL
        return cls(shown.questions, sql if kept else "", shown.forms)

    @property
    def rest(self) -> "Address":
        """The same without its first question."""
        return Address(self.questions[1:], self.sql, self.forms[1:])

    @property
    def said(self) -> dict[str, list[str]]:
        """As parameters of an address; nothing for what it does not say."""
        forms = [f"{i}:{form}" for i, form in enumerate(self.forms) if form]
        said = {"q": list(self.questions), "sql": [self.sql] if self.sql else [], "form": forms}
        return {name: texts for name, texts in said.items() if texts}


NOTHING = Address()

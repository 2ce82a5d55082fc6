"""A reading that is offered in words, to be clicked or asked again."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirror.query.other_data.form import Asked
from mirror.query.spec import QuerySpec


@dataclass(frozen=True)
class Proposal:
    """A reading that is offered: asked in these words after the answer that offers it, it is taken as it is.

    Attributes:
        text: the words.
        form: what they mean over other data; None where a language model wrote SQL.
        sql: that SQL.
        asked: what they mean over the results.
    """

    text: str
    form: Asked | None
    sql: str = ""
    asked: QuerySpec | None = None


def chosen(question: str, offered: Sequence[Proposal]) -> Asked | None:
    """The form that a question names by its words; None where it is none of those offered."""
    return next((p.form for p in offered if is_named(p, question)), None)


def chosen_of_results(question: str, offered: Sequence[Proposal]) -> QuerySpec | None:
    """The query over the results that a question names by its words; None where it is none of those offered."""
    return next((p.asked for p in offered if is_named(p, question)), None)


def is_named(offered: Proposal, question: str) -> bool:
    """Whether a question names a reading that was offered."""
    return _plain(offered.text) == _plain(question)


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".?! ").casefold()

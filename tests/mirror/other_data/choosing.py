"""Questions that are only a test's means: their answer, where need be by way of the choices that are shown first."""

from typing import Any

from mirror.answer.answer import Answer
from mirror.answer.answering import ask


def answer_with(rows: object, question: str, **given: Any) -> Answer:
    """The answer of these rows: at once, or of the one of the choices shown that has them."""
    first = ask(question, **given)
    if first.status != "ambiguous":
        assert first.table is not None, first.summary
        assert first.table.rows == rows
        return first
    answers = [ask(choice, **given | {"after": first}) for choice in first.suggestions]
    assert all(answer.status == "answered" for answer in answers), [answer.summary for answer in answers]
    right = [answer for answer in answers if answer.table is not None and answer.table.rows == rows]
    assert right, [(answer.read_as, answer.table and answer.table.rows) for answer in answers]
    return right[0]

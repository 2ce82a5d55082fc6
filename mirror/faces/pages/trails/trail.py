"""Trail: a question and the follow-ups that changed it, each with its answer; what the page Ask remembers."""

from dataclasses import dataclass, replace

from mirror.answer.answer import Answer
from mirror.answer.answering import MAX_QUESTION
from mirror.data.data_source import QueryCancelled

MOST_STEPS = 20  # a link asks them all again, in order
CANCELLED = str(QueryCancelled())


@dataclass(frozen=True)
class Step:
    """One question of a trail.

    Attributes:
        question: as typed.
        answer: as it was asked.
        shown: the same, or that of its SQL as it was edited.
        form: of a question that was made by changing parts of the one before in place: its query, as JSON.
    """

    question: str
    answer: Answer
    shown: Answer
    form: str = ""

    @property
    def edited(self) -> bool:
        """Whether what is shown is the answer of an edited statement."""
        return self.shown is not self.answer


@dataclass(frozen=True)
class Trail:
    """Questions in order; each but the first changes the one before.

    Attributes:
        steps: the questions, at least one.
        at: the one that is shown; later ones stay until another follow-up takes their place.
        reply: what became of a follow-up that has no answer to show in the place of the one before.
    """

    steps: tuple[Step, ...]
    at: int = 0
    reply: Answer | None = None

    @property
    def step(self) -> Step:
        """The question that is shown."""
        return self.steps[self.at]

    @property
    def sql_before(self) -> str | None:
        """The statement that the shown one came from: its question's own where it was edited, else that of the question
        before; None for a first question."""
        if self.step.edited:
            return self.step.answer.sql
        return self.steps[self.at - 1].shown.sql if self.at else None

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions up to the one that is shown: asked in this order, they lead here again."""
        return tuple(question for question, _ in self._asked)

    @property
    def forms(self) -> tuple[str, ...]:
        """Of each of `questions` its form, empty where it has none but its words."""
        return tuple(form for _, form in self._asked)

    @property
    def _asked(self) -> tuple[tuple[str, str], ...]:
        asked = ((step.question.strip()[:MAX_QUESTION], step.form) for step in self.steps[: self.at + 1])
        return tuple((question, form) for question, form in asked if question)

    @property
    def is_full(self) -> bool:
        """Whether no step more is kept."""
        return self.at + 1 >= MOST_STEPS

    def followed(self, question: str, answer: Answer, form: str = "") -> "Trail":
        """With a follow-up. One that became no query, or was cancelled, leaves the answer before where it is.

        One with a form takes the place of another with a form: many small changes are one step.
        """
        if answer.sql is None or answer.summary == CANCELLED:
            return replace(self, reply=answer)
        at = self.at if form and self.step.form else self.at + 1
        return Trail((*self.steps[:at], Step(question, answer, answer, form)), at)

    def back_to(self, at: int) -> "Trail":
        """The same trail, showing another of its questions."""
        return replace(self, at=at, reply=None)

    def showing(self, answer: Answer) -> "Trail":
        """With the answer of an edited statement in the place of the one that is shown."""
        step = replace(self.step, shown=answer)
        return Trail((*self.steps[: self.at], step, *self.steps[self.at + 1 :]), self.at)


def begun(question: str, answer: Answer) -> Trail:
    """A trail of one question."""
    return Trail((Step(question, answer, answer),))

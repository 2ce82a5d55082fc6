"""Asks every question of every fixture and scores what comes back."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mirror.answer.answer import Answer
from mirror.answer.answering import ask
from mirror.data.process.sandbox import Sandbox
from mirror.evaluation.fixture_trials import build
from mirror.evaluation.fixtures import NOW, Fixture
from mirror.evaluation.golds import Golds
from mirror.evaluation.questions import Question
from mirror.evaluation.scoring import GoldAnswers, Outcome, Verdict, score, worst
from mirror.model.llm import LlmFrontEnd

Engine = Literal["grammar", "llm"]
Progress = Callable[[int, int], None]
_WARM_UP = "SELECT count(*) AS n FROM results"


class NoModelError(RuntimeError):
    """A language model is to read the questions and none is configured; the message says what to do."""


@dataclass(frozen=True)
class Scored:
    """One question and what came of it.

    Attributes:
        question: the question.
        outcomes: one for each fixture it was asked of.
        seconds: what each answer took, in the same order.
        fallbacks: fixtures of which the grammar answered in the place of the model.
    """

    question: Question
    outcomes: tuple[Outcome, ...]
    seconds: tuple[float, ...]
    fallbacks: int = 0

    @property
    def verdict(self) -> Verdict:
        """Right only where it is right in every fixture."""
        return worst([o.verdict for o in self.outcomes])

    @property
    def chart(self) -> bool | None:
        """Whether the charts of a right answer all fit; None where there are none."""
        if self.verdict != "right":
            return None
        known = [o.chart for o in self.outcomes if o.chart is not None]
        return all(known) if known else None


def run(
    questions: Sequence[Question],
    engine: Engine,
    fixtures: Sequence[Fixture],
    progress: Progress | None = None,
) -> list[Scored]:
    """Ask the questions of freshly built fixtures. Raises NoModelError."""
    if engine == "llm" and not LlmFrontEnd().configured():
        raise NoModelError("No language model is configured: set MIRROR_LLM_MODEL (docs/settings.md).")
    scored = []
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mirror-eval-")))
        asked = [stack.enter_context(_session(fixture, folder, engine)) for fixture in fixtures]
        for number, question in enumerate(questions):
            if progress:
                progress(number, len(questions))
            if found := _scored(question, asked):
                scored.append(found)
    return scored


class _Session:
    """One fixture, ready to be asked."""

    def __init__(self, fixture: Fixture, golds: Golds, sandbox: Sandbox, engine: Engine) -> None:
        self.name = fixture.name
        self.golds = golds
        self.engine = engine
        self._sandbox = sandbox
        self._before: dict[str, Answer] = {}  # first questions of follow-ups
        self._ask(_WARM_UP)  # loads the results, which no question is to be charged with

    def answer(self, question: Question) -> tuple[Answer, float]:
        """The answer and the seconds that it took; the question before, where there is one, is not counted."""
        before = None
        if question.after:
            if question.after not in self._before:
                self._before[question.after] = self._ask(question.after)
            before = self._before[question.after]
        began = time.perf_counter()
        answer = self._ask(question.ask, before)
        return answer, time.perf_counter() - began

    def _ask(self, words: str, after: Answer | None = None) -> Answer:
        return ask(words, sandbox=self._sandbox, use_model=self.engine == "llm", now=NOW, after=after)


@contextlib.contextmanager
def _session(fixture: Fixture, folder: Path, engine: Engine) -> Iterator[_Session]:
    path = build(fixture, folder)
    with contextlib.closing(Golds(path)) as golds, Sandbox(str(path)) as sandbox:
        yield _Session(fixture, golds, sandbox, engine)


def _scored(question: Question, sessions: Sequence[_Session]) -> Scored | None:
    """A question asked of all fixtures that can answer it; None where there is none."""
    outcomes: list[Outcome] = []
    seconds: list[float] = []
    fallbacks = 0
    for session in sessions:
        golds = GoldAnswers(question, session.golds)
        chosen = not question.fixtures or session.name in question.fixtures
        if not chosen or (question.expect == "answered" and not golds.answerable):
            continue
        answer, took = session.answer(question)
        fallbacks += session.engine == "llm" and answer.engine == "grammar"
        outcomes.append(score(golds, answer, session.name))
        seconds.append(took)
    return Scored(question, tuple(outcomes), tuple(seconds), fallbacks) if outcomes else None

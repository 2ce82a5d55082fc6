"""Asks every question of every fixture and scores what comes back."""

import contextlib
import logging
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from mirror.answer.answer import Answer
from mirror.answer.answering import ask
from mirror.data.process.other_data_process import shared
from mirror.data.process.sandbox import Sandbox
from mirror.data.sources.location import find
from mirror.evaluation.fixture_trials import build
from mirror.evaluation.fixtures import NOW, Fixture
from mirror.evaluation.foreign_databases import ForeignDatabase, ForeignError, ForeignGolds
from mirror.evaluation.golds import Golds
from mirror.evaluation.questions import Question
from mirror.evaluation.scoring import GoldAnswers, GoldTables, Outcome, Verdict, score, worst
from mirror.model.model_setting import configured

Engine = Literal["grammar", "llm"]
Progress = Callable[[int, int], None]


class NoModelError(RuntimeError):
    """A language model is to read the questions and none is configured; the message says what to do."""


class HeldOutError(RuntimeError):
    """Something failed over a question that is held out; the message says which and holds none of its words."""


@dataclass(frozen=True)
class Scored:
    """One question and what came of it.

    Attributes:
        question: the question.
        outcomes: one for each fixture it was asked of.
        seconds: what each answer took, in the same order.
        fallbacks: fixtures of which the built-in reader answered in the place of the model.
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
    def at_once(self) -> bool:
        """Whether it was answered, right or wrong, in any fixture."""
        return any(o.at_once for o in self.outcomes)

    @property
    def among(self) -> bool | None:
        """Of a question back, whether a choice leads to the right answer in every fixture; None of all others."""
        known = [o.among for o in self.outcomes if o.among is not None]
        return all(known) if known and self.verdict == "asked back" else None

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
    fixtures: Sequence[Fixture | ForeignDatabase],
    progress: Progress | None = None,
) -> list[Scored]:
    """Ask the questions of freshly built fixtures, each opened by the first question that needs it.

    Raises NoModelError, ForeignError, and HeldOutError for what fails over a question that nobody may see.
    """
    if engine == "llm" and not configured():
        raise NoModelError("No language model is configured: set MIRROR_LLM_MODEL (docs/settings.md).")
    scored = []
    with Asking(engine, fixtures) as asking:
        for number, question in enumerate(questions):
            if progress:
                progress(number, len(questions))
            if found := asking.scored(question):
                scored.append(found)
    return scored


class Asking(contextlib.AbstractContextManager["Asking"]):
    """Fixtures that questions are asked of, each built and opened by the first question that needs it."""

    def __init__(self, engine: Engine, fixtures: Sequence[Fixture | ForeignDatabase]) -> None:
        self._engine = engine
        self._fixtures = fixtures
        self._stack = contextlib.ExitStack()
        self._opened: dict[str, _Session] = {}

    def __enter__(self) -> "Asking":
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="mirror-eval-")))
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def scored(self, question: Question) -> Scored | None:
        """Ask a question of all fixtures that can answer it; None where there is none.

        Raises ForeignError, and HeldOutError for what fails over a question that nobody may see.
        """
        with _discreet(question):
            chosen = [f for f in self._fixtures if not question.fixtures or f.name in question.fixtures]
            for fixture in chosen:
                if fixture.name not in self._opened:
                    self._opened[fixture.name] = self._stack.enter_context(
                        _session(fixture, self._folder, self._engine)
                    )
            return _scored(question, [self._opened[f.name] for f in chosen])

    def forget(self) -> None:
        """Ask the questions anew that follow-ups come after: how questions are read has changed."""
        for session in self._opened.values():
            session.before.clear()


class _Session:
    """One fixture, ready to be asked; `where` says to `ask` what it is."""

    def __init__(self, name: str, golds: GoldTables, engine: Engine, warm_up: str, **where: Any) -> None:
        self.name = name
        self._tables = golds
        self.engine = engine
        self._where = where
        self.before: dict[str, Answer] = {}  # first questions of follow-ups
        self._golds: dict[str, GoldAnswers] = {}
        self._ask(warm_up)  # loads the data, which no question is to be charged with

    def golds(self, question: Question) -> GoldAnswers:
        """The right rows of a question, run once however often it is asked."""
        if question.id not in self._golds:
            self._golds[question.id] = GoldAnswers(question, self._tables)
        return self._golds[question.id]

    def answer(self, question: Question) -> tuple[Answer, float]:
        """The answer and the seconds that it took; the question before, where there is one, is not counted."""
        before = None
        if question.after:
            if question.after not in self.before:
                self.before[question.after] = self._ask(question.after)
            before = self.before[question.after]
        began = time.perf_counter()
        answer = self._ask(question.ask, before)
        return answer, time.perf_counter() - began

    def choice(self, words: str, back: Answer) -> Answer:
        """The answer where one of the choices of a question back is clicked."""
        return self._ask(words, back)

    def _ask(self, words: str, after: Answer | None = None) -> Answer:
        return ask(words, **self._where, use_model=self.engine == "llm", now=NOW, after=after, learnt=False)


@contextlib.contextmanager
def _session(fixture: Fixture | ForeignDatabase, folder: Path, engine: Engine) -> Iterator[_Session]:
    if isinstance(fixture, ForeignDatabase):
        with ForeignGolds(fixture) as golds:
            path = str(golds.write(folder))
            try:
                yield _Session(fixture.name, golds, engine, "How many rows are there?", db=path)
            finally:
                shared(find(path)).close()
        return
    built = build(fixture, folder)
    with contextlib.closing(Golds(built)) as golds_of_results, Sandbox(str(built)) as sandbox:
        yield _Session(fixture.name, golds_of_results, engine, "SELECT count(*) AS n FROM results", sandbox=sandbox)


@contextlib.contextmanager
def _discreet(question: Question) -> Iterator[None]:
    """Around a question that is held out: nothing is logged, warned of or raised that could hold its words."""
    if not question.held_out:
        yield
        return
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except ForeignError:
        raise
    except Exception as error:
        raise HeldOutError(f"Question {question.id}, which is held out, failed with {type(error).__name__}.") from None
    finally:
        logging.disable(before)


def _scored(question: Question, sessions: Sequence[_Session]) -> Scored | None:
    """A question asked of all fixtures that can answer it; None where there is none."""
    outcomes: list[Outcome] = []
    seconds: list[float] = []
    fallbacks = 0
    for session in sessions:
        golds = session.golds(question)
        if question.expect == "answered" and not golds.answerable:
            continue
        answer, took = session.answer(question)
        fallbacks += session.engine == "llm" and answer.engine == "grammar"
        outcome = score(golds, answer, session.name)
        if answer.status == "ambiguous" and question.expect == "answered":
            led = (score(golds, session.choice(text, answer), session.name) for text in answer.suggestions)
            outcome = replace(outcome, among=any(found.verdict == "right" for found in led))
        outcomes.append(outcome)
        seconds.append(took)
    return Scored(question, tuple(outcomes), tuple(seconds), fallbacks) if outcomes else None

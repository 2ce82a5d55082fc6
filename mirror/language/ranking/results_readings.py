"""The readings of a question over the results: those of the grammar and of the network, weighed against one another."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

from mirror.data.data_source import QueryError
from mirror.data.process.sandbox import Sandbox
from mirror.language.grammar import grammar
from mirror.language.ranking.ranker import RESULTS_RANKER, trained
from mirror.language.ranking.results_decision import hang_on_rows
from mirror.language.ranking.results_evidence import ResultsCandidate, is_about_results, with_results_evidence
from mirror.language.ranking.settled_benchmark import has_rows, settle, settled_ways
from mirror.language.second.items import Items
from mirror.language.second.results_items import results_items
from mirror.language.second.results_reader import SecondResultsReading, score_of, second_results_readings
from mirror.query.check import SpecError, check
from mirror.query.errors import Ambiguity, NotUnderstood, Refusal
from mirror.query.sql import compile_sql
from mirror.schema.profile import Profile

MOST = 4  # readings of the network


def results_readings(
    question: str, sandbox: Sandbox, now: datetime | None, is_answered: Callable[[str], bool]
) -> tuple[list[ResultsCandidate], Refusal | Ambiguity | None]:
    """The readings of a question, the likeliest first, and why the grammar does not read it; None where it does.

    Args:
        question: as typed.
        sandbox: the results.
        now: the present, for `last week`; by default the clock's.
        is_answered: whether a question that is to be offered is answered with rows.
    """
    found, cause = weighed(question, sandbox, now, is_answered)
    return _ranked(found), cause


def readings_to_decide(
    question: str, sandbox: Sandbox, now: datetime | None, is_answered: Callable[[str], bool]
) -> tuple[list[ResultsCandidate], Refusal | Ambiguity | None]:
    """The same as far as it takes to decide what becomes of the question, which is most of the time that it takes.

    A reading is not run, and counts as one with rows, where nothing depends on whether it has any.
    """
    read = _read(question, sandbox, now, is_answered)
    found = _by_both(read, question, sandbox)
    if not found:
        return [], read.cause
    with_rows, without = (read.weighed([replace(c, empty=empty) for c in found]) for empty in (False, True))
    both = list(zip(_with_chances(with_rows), _with_chances(without), strict=True))
    if any(depends := hang_on_rows(both)):
        run = (_run(c, sandbox) if needed else c for c, needed in zip(found, depends, strict=True))
        with_rows = read.weighed([c for c in run if c])
    return _ranked(with_rows), read.cause


def weighed(
    question: str, sandbox: Sandbox, now: datetime | None, is_answered: Callable[[str], bool]
) -> tuple[list[ResultsCandidate], Refusal | Ambiguity | None]:
    """The readings with what speaks for them, that of the grammar first; and why the grammar gives none."""
    read = _read(question, sandbox, now, is_answered)
    run = [c for c in (_run(c, sandbox) for c in _by_both(read, question, sandbox)) if c]
    return (read.weighed(run) if run else []), read.cause


@dataclass(frozen=True)
class _Read:
    """What the grammar made of a question.

    Attributes:
        now: the present.
        reading: that of the grammar; None where it has none.
        cause: why it has none; None where it has one.
        final: whether the network is not asked: every word is understood, and there is nothing of the kind.
    """

    question: str
    profile: Profile
    now: datetime
    reading: ResultsCandidate | None = None
    cause: Refusal | Ambiguity | None = None
    final: bool = False

    @cached_property
    def items(self) -> Items:
        """The question as the network sees it."""
        return results_items(self.question, self.profile, self.now)

    def weighed(self, found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
        """The readings with what speaks for them."""
        made = "read" if self.cause is None else "asked back" if isinstance(self.cause, Ambiguity) else "refused"
        return with_results_evidence(found, self.items, made)


def _read(question: str, sandbox: Sandbox, now: datetime | None, is_answered: Callable[[str], bool]) -> _Read:
    profile = sandbox.schema()
    blank = _Read(question, profile, now or datetime.now(UTC).replace(tzinfo=None))
    try:
        asked = grammar.parse(question, profile, blank.now)
    except (NotUnderstood, Ambiguity) as error:
        return replace(blank, cause=error)
    except Refusal as error:
        return replace(blank, cause=error, final=True)
    try:
        settled = settle(asked, question, sandbox, is_answered)
    except Ambiguity as error:
        return replace(blank, cause=error)
    except Refusal as error:
        return replace(blank, cause=error, final=True)
    return replace(blank, reading=ResultsCandidate(asked, settled.spec, settled.others, by_grammar=True))


def _by_both(read: _Read, question: str, sandbox: Sandbox) -> list[ResultsCandidate]:
    """The readings of both, each statement once, that of the grammar first."""
    if read.final:
        return []
    found = {compile_sql(read.reading.spec): read.reading} if read.reading else {}
    if is_about_results(read.items):
        for reading in second_results_readings(read.items, read.profile, MOST):
            for sql, candidate in _ways(reading, question, sandbox):
                known = found.get(sql, candidate)
                found[sql] = replace(known, second=known.second or reading)
    return [_scored(c, read) for c in found.values()]


def _scored(candidate: ResultsCandidate, read: _Read) -> ResultsCandidate:
    """With the probability that the network gives it, whoever reads so."""
    second = candidate.second
    return replace(candidate, score=second.score if second else score_of(candidate.asked, read.items, read.profile))


def _with_chances(found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
    told = trained(RESULTS_RANKER).chances([c.features for c in found])
    return [replace(c, chance=p) for c, p in zip(found, told, strict=True)]


def _ranked(found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
    """The likeliest first; of two alike the one found first, whatever their chances are rounded to."""
    return sorted(_with_chances(found), key=lambda c: -round(c.chance, 9))


def _run(candidate: ResultsCandidate, sandbox: Sandbox) -> ResultsCandidate | None:
    """The reading with whether it has rows; None for one of the network alone that no statement can say."""
    try:
        return replace(candidate, empty=not has_rows(candidate.spec, sandbox))
    except QueryError:
        return candidate if candidate.by_grammar else None


def _ways(reading: SecondResultsReading, question: str, sandbox: Sandbox) -> Iterator[tuple[str, ResultsCandidate]]:
    """A reading of the network in each benchmark that may be meant; none where it cannot be answered."""
    try:
        ways, sure = settled_ways(reading.asked, question, sandbox)
        for asked, spec in ways:
            check(spec)
            yield compile_sql(spec), ResultsCandidate(asked, spec, sure_benchmark=sure, second=reading)
    except (Refusal, Ambiguity, SpecError, QueryError, KeyError):
        return

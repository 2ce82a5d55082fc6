"""The readings of a question over the results: what the network makes of it, weighed by what speaks for each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mirror.data.data_source import QueryError
from mirror.data.process.sandbox import Sandbox
from mirror.language.neural.items import Items
from mirror.language.neural.results_items import results_items
from mirror.language.neural.results_reader import ResultsReading, network_readings
from mirror.language.ranking import cannot_be_asked
from mirror.language.ranking.ranker import RESULTS_RANKER, trained
from mirror.language.ranking.results_decision import hang_on_rows
from mirror.language.ranking.results_evidence import ResultsCandidate, is_about_results, with_results_evidence
from mirror.language.ranking.said_groups import heeding
from mirror.language.ranking.settled_benchmark import settled_ways, which_have_rows
from mirror.query.check import SpecError, check
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import QuerySpec
from mirror.query.sql import compile_sql
from mirror.schema.profile import Profile

MOST = 4  # readings of the network


def results_readings(question: str, sandbox: Sandbox, now: datetime | None = None) -> list[ResultsCandidate]:
    """The readings of a question, the likeliest first.

    Args:
        question: as typed.
        sandbox: the results.
        now: the present, for `last week`; by default the clock's.

    Raises:
        Refusal: nothing of the kind can be asked in words, or the results hold nothing of what is surely meant.
    """
    return _ranked(weighed(question, sandbox, now))


def readings_to_decide(question: str, sandbox: Sandbox, now: datetime | None) -> list[ResultsCandidate]:
    """The same as far as it takes to decide what becomes of the question, which is most of the time that it takes.

    A reading is not run, and counts as one with rows, where nothing depends on whether it has any.
    """
    read = _read(question, sandbox, now)
    if not read.found:
        return []
    with_rows, without = (read.weighed([replace(c, empty=empty) for c in read.found]) for empty in (False, True))
    both = list(zip(_with_chances(with_rows), _with_chances(without), strict=True))
    if any(depends := hang_on_rows(both)):
        ran = iter(_run([c for c, needed in zip(read.found, depends, strict=True) if needed], sandbox))
        run = [next(ran) if needed else c for c, needed in zip(read.found, depends, strict=True)]
        with_rows = read.weighed([c for c in run if c])
    return _ranked(with_rows)


def weighed(question: str, sandbox: Sandbox, now: datetime | None) -> list[ResultsCandidate]:
    """The readings with what speaks for them, in the order of the network."""
    read = _read(question, sandbox, now)
    run = [c for c in _run(read.found, sandbox) if c]
    return read.weighed(run) if run else []


def likeliest(question: str, sandbox: Sandbox, now: datetime | None) -> QuerySpec | None:
    """The likeliest reading, however likely; None where there is none."""
    try:
        found = results_readings(question, sandbox, now)
    except (Refusal, Ambiguity):
        return None
    return found[0].asked if found else None


@dataclass(frozen=True)
class _Read:
    """The items of a question, what the results hold, and what the network makes of the question."""

    items: Items
    profile: Profile
    found: tuple[ResultsCandidate, ...]

    def weighed(self, found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
        """The readings with what speaks for them."""
        return with_results_evidence(found, self.items, self.profile)


def _read(question: str, sandbox: Sandbox, now: datetime | None) -> _Read:
    profile = sandbox.schema()  # first: it says what metrics of plug-ins there are
    cannot_be_asked.check(question)
    items = results_items(question, profile, now or datetime.now(UTC).replace(tzinfo=None))
    found: dict[str, ResultsCandidate] = {}
    refused: Refusal | Ambiguity | None = None
    if is_about_results(items):
        for i, reading in enumerate(network_readings(items, profile, MOST)):
            try:
                for sql, candidate in _ways(reading, question, sandbox):
                    found.setdefault(sql, candidate)
            except (Refusal, Ambiguity) as error:
                refused = error if i == 0 else refused
    if refused and not found:
        raise refused
    return _Read(items, profile, tuple(heeding(list(found.values()), items)))


def _with_chances(found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
    told = trained(RESULTS_RANKER).chances([c.features for c in found])
    return [replace(c, chance=p) for c, p in zip(found, told, strict=True)]


def _ranked(found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
    """The likeliest first; of two alike the one found first, whatever their chances are rounded to."""
    return sorted(_with_chances(found), key=lambda c: -round(c.chance, 9))


def _run(found: Sequence[ResultsCandidate], sandbox: Sandbox) -> list[ResultsCandidate | None]:
    """The readings with whether they have rows; None for one that no statement can say."""
    has = which_have_rows([c.spec for c in found], sandbox)
    return [None if rows is None else replace(c, empty=not rows) for c, rows in zip(found, has, strict=True)]


def _ways(reading: ResultsReading, question: str, sandbox: Sandbox) -> Iterator[tuple[str, ResultsCandidate]]:
    """A reading in each benchmark that may be meant. Raises Refusal or Ambiguity where the results do not hold it."""
    try:
        ways, sure = settled_ways(reading.asked, question, sandbox)
        for asked, spec in ways:
            check(spec)
            yield compile_sql(spec), ResultsCandidate(asked, spec, reading, sure_benchmark=sure)
    except (SpecError, QueryError, KeyError):
        return

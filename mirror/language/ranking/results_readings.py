"""The readings of a question over the results: those of the grammar and of the network, weighed against one another."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from mirror.data.data_source import QueryError
from mirror.data.process.sandbox import Sandbox
from mirror.language.grammar import grammar
from mirror.language.ranking.ranker import RESULTS_RANKER, trained
from mirror.language.ranking.results_evidence import ResultsCandidate, is_about_results, with_results_evidence
from mirror.language.ranking.settled_benchmark import has_rows, settle, settled_ways
from mirror.language.second.results_items import results_items
from mirror.language.second.results_reader import SecondResultsReading, second_results_readings
from mirror.query.check import SpecError, check
from mirror.query.errors import Ambiguity, NotUnderstood, Refusal
from mirror.query.sql import compile_sql

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
    told = trained(RESULTS_RANKER).chances([c.features for c in found])
    ranked = sorted((replace(c, chance=p) for c, p in zip(found, told, strict=True)), key=lambda c: -c.chance)
    return ranked, cause


def weighed(
    question: str, sandbox: Sandbox, now: datetime | None, is_answered: Callable[[str], bool]
) -> tuple[list[ResultsCandidate], Refusal | Ambiguity | None]:
    """The readings with what speaks for them, that of the grammar first; and why the grammar gives none."""
    profile = sandbox.schema()
    now = now or datetime.now(UTC).replace(tzinfo=None)
    found: dict[str, ResultsCandidate] = {}
    cause: Refusal | Ambiguity | None = None
    try:
        asked = grammar.parse(question, profile, now)
    except (NotUnderstood, Ambiguity) as error:
        cause = error
    except Refusal as error:
        return [], error
    else:
        try:
            settled = settle(asked, question, sandbox, is_answered)
            found[compile_sql(settled.spec)] = ResultsCandidate(asked, settled.spec, settled.others, by_grammar=True)
        except Ambiguity as error:
            cause = error
        except Refusal as error:  # every word is understood, and the results hold nothing of the kind
            return [], error
    items = results_items(question, profile, now)
    if is_about_results(items):
        for reading in second_results_readings(question, profile, now, MOST):
            for sql, candidate in _ways(reading, question, sandbox):
                known = found.get(sql, candidate)
                found[sql] = replace(known, second=known.second or reading)
    made = "read" if cause is None else "asked back" if isinstance(cause, Ambiguity) else "refused"
    run = [c for c in (_run(c, sandbox) for c in found.values()) if c]
    return with_results_evidence(run, items, made), cause


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

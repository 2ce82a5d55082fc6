"""What a follow-up over the results makes of the question before it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from mirror.answer.answer import Answer
from mirror.answer.proposal import Proposal
from mirror.answer.results_policy import Shown, proposals
from mirror.data.data_source import QueryError
from mirror.data.process.sandbox import Sandbox
from mirror.language.edit.without_outliers import outlier_filters
from mirror.language.ranking.follow_up_readings import (
    MOST_CHOICES,
    bare,
    follow_up_readings,
    is_sure,
    to_choose_from,
    too_long_with,
)
from mirror.language.ranking.results_decision import answered_at_once, shown
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.language.ranking.settled_benchmark import has_rows
from mirror.query.complete import complete
from mirror.query.errors import Ambiguity, NotUnderstood, Refusal
from mirror.query.spec import QuerySpec
from mirror.schema import catalog
from mirror.words import phrasebook
from mirror.words.phrasebook import one_of

_OUTLIERS = re.compile(
    rf"\W*(?:and |please |now |then |but )*(?:{one_of(phrasebook.words('follow_ups', 'outliers'))})"
    r"(?: (?:the|all|any|that|those|this|these|its))* outlier(?:s| points?| rows?)?(?: please)?\W*",
    re.IGNORECASE,
)


_OF_TIME = ("time", "times", "date", "dates", "period")
_DROPS = re.compile(r"\W*(?:drop|remove|lift|clear) the (?P<of>.+?) (?:filter|limit)s?\W*", re.IGNORECASE)


def without_filter(question: str, before: QuerySpec) -> QuerySpec | None:
    """The question before without its conditions on a column; None where a follow-up asks for something else.

    Raises Refusal where there is no condition on it.
    """
    asked = _DROPS.fullmatch(question)
    if not asked:
        return None
    of = " ".join(asked["of"].casefold().split())
    meant = {e.name for e in catalog.entries().values() if of in (e.name, e.label.casefold(), *e.synonyms)}
    if of in _OF_TIME and any(f.column == "started_at" for f in before.filters):
        meant = {"started_at"}
    if not meant:
        return None
    kept = tuple(f for f in before.filters if f.column not in meant)
    lifted = replace(before, filters=kept, within=None if "auc" in meant else before.within)
    if lifted == before:
        raise Refusal(f"The question has no filter on {asked['of']}.")
    return lifted


def without_outliers(question: str, before: QuerySpec, after: Answer) -> QuerySpec | None:
    """The question before without the outliers of its answer; None where a follow-up asks for something else.

    Raises Refusal where there are none, or no way to tell them apart.
    """
    if not _OUTLIERS.fullmatch(question):
        return None
    filters, notes = outlier_filters(before, after.table)
    return replace(before, filters=(*before.filters, *filters), notes=(*before.notes, *notes))


def changed(
    question: str,
    before: QuerySpec,
    sandbox: Sandbox,
    now: datetime | None,
    alone: Callable[[], Sequence[ResultsCandidate]],
) -> QuerySpec | None:
    """What a follow-up makes of the query before it; None where it makes nothing of it. Raises Shown, and NotUnderstood
    where the two are more than is read.

    It is answered at once where it is sure, or where the question says the same by itself: `alone` gives its readings
    without the one before it, the likeliest first.
    """
    if too_long := too_long_with(question, before):  # the conditions of the question before would be left out unseen
        if answered_at_once(alone()):
            return None  # a question of its own
        raise NotUnderstood(too_long)
    found = follow_up_readings(question, before, sandbox.schema(), now or datetime.now(UTC).replace(tzinfo=None))
    if not found:
        return None
    best = found[0]
    if is_sure(best):
        return best.asked
    own = alone()
    if own and bare(own[0].asked) == bare(best.asked):
        return best.asked
    offered = _with_rows(to_choose_from(found), question, sandbox)
    if not offered:
        return None
    beside = proposals(shown(own)[:1])
    raise Shown((*offered, *(p for p in beside if all(p.text != o.text for o in offered)))[:MOST_CHOICES])


def _with_rows(found: Sequence[ResultsCandidate], question: str, sandbox: Sandbox) -> tuple[Proposal, ...]:
    """The readings that have rows, to choose from."""
    profile, kept = sandbox.schema(), []
    for one in found:
        try:
            if has_rows(complete(one.asked, profile, question), sandbox):
                kept.append(one)
        except (Refusal, Ambiguity, QueryError):
            continue
    return proposals(kept)

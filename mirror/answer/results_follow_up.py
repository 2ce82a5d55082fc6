"""What a follow-up over the results makes of the question before it, by the rules and by the network."""

from datetime import UTC, datetime

from mirror.answer.answer import Answer
from mirror.answer.proposal import Proposal
from mirror.answer.results_policy import Shown, proposals
from mirror.data.data_source import QueryError
from mirror.data.process.sandbox import Sandbox
from mirror.language.ranking.follow_up_readings import MOST_CHOICES, follow_up_readings, is_sure, to_choose_from
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.language.ranking.settled_benchmark import has_rows
from mirror.query.complete import complete
from mirror.query.errors import Ambiguity, NotUnderstood, Refusal
from mirror.query.spec import QuerySpec
from mirror.schema.profile import Profile


def by_rules(
    question: str, before: QuerySpec, profile: Profile, now: datetime | None, after: Answer
) -> QuerySpec | None:
    """What a follow-up makes of the query before it; None where the question stands alone."""
    from mirror.language.followup import followup  # here: a first question needs none of its patterns

    return followup.read(question, before, profile, now, after.table)


def changed(
    question: str, before: QuerySpec, sandbox: Sandbox, now: datetime | None, after: Answer
) -> QuerySpec | None:
    """What both readers make of a follow-up; None where the rules take it for a question of its own. Raises Refusal or
    Ambiguity, which may be Shown."""
    profile = sandbox.schema()
    try:
        rules = by_rules(question, before, profile, now, after)
    except NotUnderstood as error:
        return late(question, before, sandbox, now, error)
    if rules is None:
        return None
    found = follow_up_readings(question, before, rules, True, profile, _present(now))
    if is_sure(found[0]):
        return found[0].asked
    beyond_network = any(c.by_grammar and c.score is None for c in found)
    offered = () if beyond_network else _offered_after(found, question, sandbox)
    if not offered:
        return rules
    raise Shown(offered)


def late(
    question: str, before: QuerySpec, sandbox: Sandbox, now: datetime | None, why: NotUnderstood | Shown
) -> QuerySpec | None:
    """What the network makes of a question, as a follow-up, that nobody else has read. Raises `why`, or Shown."""
    known = isinstance(why, Shown)
    found = follow_up_readings(question, before, None, known, sandbox.schema(), _present(now))
    if found and is_sure(found[0]):
        return found[0].asked
    offered = _offered_after(found, question, sandbox)
    if not offered:
        raise why
    others = why.proposals if isinstance(why, Shown) else ()
    raise Shown((*offered, *(p for p in others if all(p.text != o.text for o in offered)))[:MOST_CHOICES])


def _offered_after(found: list[ResultsCandidate], question: str, sandbox: Sandbox) -> tuple[Proposal, ...]:
    """The readings of a follow-up that have rows, to choose from."""
    profile, kept = sandbox.schema(), []
    for one in to_choose_from(found):
        try:
            if has_rows(complete(one.asked, profile, question), sandbox):
                kept.append(one)
        except (Refusal, Ambiguity, QueryError):
            continue
    return proposals(kept)


def _present(now: datetime | None) -> datetime:
    return now or datetime.now(UTC).replace(tzinfo=None)

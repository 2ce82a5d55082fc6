"""The readings of a follow-up over the results.

The network reads a follow-up behind the question before it, in words, and says the whole question that the two make. A
question of its own behind another one is read in the same way: what was asked before is then no part of it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from mirror.language.neural.items import MOST_TOKENS
from mirror.language.neural.results_items import results_items, tokens_in
from mirror.language.neural.results_reader import network_readings, strange_words
from mirror.language.ranking.ranker import FOLLOW_UP_RANKER, trained
from mirror.language.ranking.results_evidence import LEAST_SCORE, ResultsCandidate
from mirror.query.in_words import question_of
from mirror.query.spec import QuerySpec
from mirror.schema.profile import Profile

MOST = 4  # readings of the network
# From this chance on the likeliest reading is answered at once. The limits were set on open follow-ups that neither the
# network nor the ranker had learnt from.
AT_ONCE = 0.7
SHOWN, BESIDE, MOST_CHOICES = 0.1, 0.03, 4
SHOWN_STRANGE = 0.3  # where a word names nothing and was never learnt


def follow_up_readings(question: str, before: QuerySpec, profile: Profile, now: datetime) -> list[ResultsCandidate]:
    """The readings of a follow-up, not completed, the likeliest first.

    Args:
        question: as typed.
        before: the question before it, before it was completed.
        profile: what the results hold.
        now: the present.
    """
    found = weighed_follow_ups(question, before, profile, now)
    chances = trained(FOLLOW_UP_RANKER).chances([c.features for c in found])
    return sorted(
        (replace(c, chance=p) for c, p in zip(found, chances, strict=True)), key=lambda c: -round(c.chance, 6)
    )


def weighed_follow_ups(question: str, before: QuerySpec, profile: Profile, now: datetime) -> list[ResultsCandidate]:
    """The same with what speaks for them, and no chances yet; what changes nothing is no reading."""
    items = results_items(question, profile, now, question_of(before))
    read = [r for r in network_readings(items, profile, MOST) if bare(r.asked) != bare(before)]
    scores = sorted((r.score for r in read), reverse=True)
    strange = len(strange_words(results_items(question, profile, now)))
    found = (ResultsCandidate(r.asked, r.asked, r) for r in read)
    return [replace(c, features=_of(c, scores, question, strange)) for c in found]


def too_long_with(question: str, before: QuerySpec) -> str:
    """A sentence where a follow-up and the question before it are more than is read; empty where they are not."""
    length = len(tokens_in(question)[1]) + len(tokens_in(question_of(before))[1])
    if length <= MOST_TOKENS:
        return ""
    return (
        f"With the question before it this is {length} words, numbers and signs, of which {MOST_TOKENS} are read: ask "
        "it as one short question."
    )


def is_sure(one: ResultsCandidate) -> bool:
    """Whether the likeliest reading is answered without asking."""
    return one.chance >= AT_ONCE and not one.read.unread


def to_choose_from(found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
    """The readings to show where none is sure; none where none is likely enough."""
    if not found or found[0].chance < (SHOWN_STRANGE if found[0].features["strange"] else SHOWN):
        return []
    return [c for c in found if c.chance >= BESIDE][:MOST_CHOICES]


def bare(spec: QuerySpec) -> QuerySpec:
    """The query without what was noted about it, its conditions in one order."""
    return replace(spec, notes=(), filters=tuple(sorted(spec.filters, key=str)))


def _of(one: ResultsCandidate, scores: Sequence[float], question: str, strange: int) -> dict[str, float]:
    score = max(one.read.score, LEAST_SCORE)
    others = [s for s in scores if s != one.read.score]
    told: dict[str, Any] = {
        "score": score,
        "probability": math.exp(score),
        "best": one.read.score == scores[0],
        "best score": max(scores[0], LEAST_SCORE),
        "ahead": min(max(score - max(others, default=LEAST_SCORE), -4.0), 4.0),
        "unread": min(len(one.read.unread), 3),
        "strange": min(strange, 4),
        "words": min(len(question.split()), 25) / 10,
    }
    return {name: float(value) for name, value in told.items()}

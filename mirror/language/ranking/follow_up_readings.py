"""The readings of a follow-up over the results: that of the rules and those of the network, weighed.

The network reads a follow-up behind the question before it, in words, and says the whole question that the two make.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from mirror.language.ranking.ranker import FOLLOW_UP_RANKER, trained
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.language.second.results_items import results_items
from mirror.language.second.results_reader import score_of, second_results_readings, strange_words
from mirror.query.in_words import question_of
from mirror.query.spec import QuerySpec
from mirror.schema.profile import Profile

MOST = 4  # readings of the network
_NO_SCORE = -8.0
# From this chance on the likeliest reading is answered at once: one of the rules, and one of the network alone. The
# limits were set on open follow-ups that neither the network nor the ranker had learnt from.
RULES_AT_ONCE, AT_ONCE = 0.5, 0.85
SHOWN, BESIDE, MOST_CHOICES = 0.1, 0.03, 4
SHOWN_STRANGE = 0.3  # where a word names nothing and was never learnt, and the rules know one of the words not


def follow_up_readings(
    question: str, before: QuerySpec, rules: QuerySpec | None, known: bool, profile: Profile, now: datetime
) -> list[ResultsCandidate]:
    """The readings of a follow-up, not completed, the likeliest first.

    Args:
        question: as typed.
        before: the question before it, before it was completed.
        rules: what the rules make of the two; None where that is nothing.
        known: whether the rules know all words.
        profile: what the results hold.
        now: the present.
    """
    found = weighed_follow_ups(question, before, rules, known, profile, now)
    chances = trained(FOLLOW_UP_RANKER).chances([c.features for c in found])
    return sorted(
        (replace(c, chance=p) for c, p in zip(found, chances, strict=True)), key=lambda c: -round(c.chance, 6)
    )


def weighed_follow_ups(
    question: str, before: QuerySpec, rules: QuerySpec | None, known: bool, profile: Profile, now: datetime
) -> list[ResultsCandidate]:
    """The same with what speaks for them, and no chances yet."""
    found = list(_found(question, before, rules, profile, now))
    scores = sorted((c.second.score for c in found if c.second), reverse=True)
    strange = len(strange_words(results_items(question, profile, now)))
    return [replace(c, features=_of(c, scores, question, rules is not None, known, strange)) for c in found]


def is_sure(one: ResultsCandidate) -> bool:
    """Whether the likeliest reading is answered without asking."""
    return one.chance >= (RULES_AT_ONCE if one.by_grammar else AT_ONCE)


def to_choose_from(found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
    """The readings to show where none is sure; none where none is likely enough."""
    strange = found and found[0].features["strange"] and found[0].features["rules know no word"]
    if not found or found[0].chance < (SHOWN_STRANGE if strange else SHOWN):
        return []
    return [c for c in found if c.chance >= BESIDE][:MOST_CHOICES]


def bare(spec: QuerySpec) -> QuerySpec:
    """The query without what was noted about it, its conditions in one order."""
    return replace(spec, notes=(), filters=tuple(sorted(spec.filters, key=str)))


def _found(
    question: str, before: QuerySpec, rules: QuerySpec | None, profile: Profile, now: datetime
) -> Iterator[ResultsCandidate]:
    """Both readings, each form once; what changes nothing is none."""
    items = results_items(question, profile, now, question_of(before))
    of_rules = bare(rules) if rules else None
    both = False
    for reading in second_results_readings(items, profile, MOST):
        alike = bare(reading.asked) == of_rules
        both = both or alike
        if alike and rules:
            yield ResultsCandidate(rules, rules, by_grammar=True, second=reading, score=reading.score)
        elif bare(reading.asked) != bare(before):
            yield ResultsCandidate(reading.asked, reading.asked, second=reading, score=reading.score)
    if rules and not both:
        score = score_of(replace(rules, notes=()), items, profile)
        yield ResultsCandidate(rules, rules, by_grammar=True, score=score)


def _of(
    one: ResultsCandidate, scores: Sequence[float], question: str, read: bool, known: bool, strange: int
) -> dict[str, float]:
    score = _NO_SCORE if one.score is None else max(one.score, _NO_SCORE)
    others = [s for s in scores if s != one.score]
    told: dict[str, Any] = {
        "rules": one.by_grammar,
        "network": one.second is not None,
        "both": one.by_grammar and one.second is not None,
        "rules read": read,
        "rules read otherwise": read and not one.by_grammar,
        "rules know no word": not known,
        "score": score,
        "probability": math.exp(score),
        "best": bool(scores) and one.score == scores[0],
        "best score": max(scores[0], _NO_SCORE) if scores else _NO_SCORE,
        "ahead": min(max(score - max(others, default=_NO_SCORE), -4.0), 4.0),
        "unread": min(len(one.second.unread), 3) if one.second else 0,
        "unsayable": one.score is None,
        "strange": min(strange, 4),
        "words": min(len(question.split()), 25) / 10,
    }
    return {name: float(value) for name, value in told.items()}

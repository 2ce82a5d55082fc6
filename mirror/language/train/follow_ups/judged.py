"""What both readers make of follow-ups: readings, what speaks for them, whether they are right."""

from collections import Counter
from collections.abc import Iterable, Iterator

from mirror.language.followup import followup
from mirror.language.ranking.follow_up_readings import (
    AT_ONCE,
    BESIDE,
    RULES_AT_ONCE,
    SHOWN,
    SHOWN_STRANGE,
    bare,
    weighed_follow_ups,
)
from mirror.language.ranking.ranker import Ranker
from mirror.language.train.judged import NOT_HERE, NOW, Judged
from mirror.language.train.results_wordings import worded_for
from mirror.language.train.variants.results_variants import ResultsWording
from mirror.query.errors import Ambiguity, Refusal


def follow_ups_judged(wordings: Iterable[ResultsWording]) -> Iterator[Judged]:
    """Each follow-up with its readings; right is what makes the very question that was worded, and nothing of a
    question that the results cannot answer. Those that the rules ask back are left out."""
    profile = worded_for()
    for wording in wordings:
        assert wording.before
        rules, known = None, True
        try:
            rules = followup.read(wording.text, wording.before, profile, NOW)
        except Refusal:
            known = False
        except Ambiguity:
            continue
        found = weighed_follow_ups(wording.text, wording.before, rules, known, profile, NOW)
        right = (wording.voice != NOT_HERE and bare(c.asked) == bare(wording.asked) for c in found)
        yield Judged(wording.query, wording.voice, wording.text, tuple(c.features for c in found), tuple(right))


def counted_follow_ups(questions: Iterable[Judged], ranker: Ranker) -> dict[str, int]:
    """What becomes of follow-ups, by voice."""
    told = Counter[str]()
    for one in questions:
        told[one.voice] += 1
        ranked = sorted(zip(ranker.chances(one.features), one.features, one.right, strict=True), key=lambda c: -c[0])
        if not ranked:
            continue
        chance, features, right = ranked[0]
        if chance < (SHOWN_STRANGE if features["strange"] and features["rules know no word"] else SHOWN):
            continue
        if chance >= (RULES_AT_ONCE if features["rules"] else AT_ONCE):
            told[f"{one.voice}, at once"] += 1
            told[f"{one.voice}, at once and right"] += right
        else:
            told[f"{one.voice}, shown"] += 1
            told[f"{one.voice}, shown with the right one"] += any(r for p, _, r in ranked if p >= BESIDE)
    return dict(sorted(told.items()))

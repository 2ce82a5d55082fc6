"""What becomes of the readings of a question over the results: one is answered at once, some are shown, or none is.

The limits were set on open wordings that neither the network nor the ranker had learnt from.
"""

import math
from collections.abc import Sequence

from mirror.language.neural.unread import NEGATIONS
from mirror.language.ranking.results_evidence import ResultsCandidate

AT_ONCE = 0.9  # from this chance on the likeliest reading is answered at once
# A first reading below this chance is not shown, nor another one beside it.
SHOWN, BESIDE = 0.05, 0.02
# The same, where a word of the question names nothing and was never learnt.
SHOWN_STRANGE = 0.3
MOST_CHOICES = 4
BESIDE_ANSWER, MOST_BESIDE = 0.3, 2
SAID = 0.6  # probability by the network of what is answered though it has no rows


def answered_at_once(found: Sequence[ResultsCandidate]) -> ResultsCandidate | None:
    """The reading that is answered without asking; None where none is sure enough. `found` has the likeliest first."""
    if not found:
        return None
    best = found[0]
    # "why is it not faster" is asked of what is slower.
    unread = any(word not in NEGATIONS or not best.spec.explain for word in best.read.unread)
    sure = best.chance >= AT_ONCE and best.sure_benchmark and not best.features.get("strange") and not unread
    return best if sure and not best.empty else None


def nothing_of_it(found: Sequence[ResultsCandidate]) -> ResultsCandidate | None:
    """The reading that is answered though there are no rows, since no reading has any and it is what is most likely
    said; None where another has rows, or none is likely enough."""
    if not found or not all(c.empty for c in found):
        return None
    best = max(found, key=lambda c: c.read.score)
    sure = math.exp(best.read.score) >= SAID and not best.read.unread and not best.features.get("strange")
    return best if sure else None


def told_beside(found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
    """What else a question that is answered may well mean."""
    return [c for c in found[1:] if c.chance >= BESIDE_ANSWER and not c.empty][:MOST_BESIDE]


def shown(found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
    """The readings to choose from; none where none is likely enough."""
    if not found or found[0].chance < (SHOWN_STRANGE if found[0].features.get("strange") else SHOWN):
        return []
    return [c for c in found if c.chance >= BESIDE and not c.empty][:MOST_CHOICES]


def hang_on_rows(found: Sequence[tuple[ResultsCandidate, ResultsCandidate]]) -> list[bool]:
    """Which readings decide nothing before it is known whether they have rows.

    Args:
        found: each reading as it is if it has rows, and as it is if it has none, with its chance.
    """
    most = [max(one.chance, other.chance) for one, other in found]
    strange = any(one.features.get("strange") for one, _ in found)
    if max(most) < (SHOWN_STRANGE if strange else SHOWN):
        return [False] * len(found)
    return [p >= BESIDE for p in most]

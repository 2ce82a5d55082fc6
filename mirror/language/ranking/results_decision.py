"""What becomes of the readings of a question over the results: one is answered at once, some are shown, or none is.

The limits were set on open wordings that neither the network nor the ranker had learnt from.
"""

from collections.abc import Sequence

from mirror.language.ranking.results_evidence import ResultsCandidate

# From this chance on a reading is answered at once; one that the grammar shares, from a lower one on.
AT_ONCE, AT_ONCE_SHARED = 0.75, 0.4
# A first reading below this chance is not shown, nor another one beside it.
SHOWN, BESIDE = 0.2, 0.08
MOST_CHOICES = 3


def answered_at_once(found: Sequence[ResultsCandidate]) -> ResultsCandidate | None:
    """The reading that is answered without asking; None where none is sure enough. `found` has the likeliest first."""
    if not found:
        return None
    best = found[0]
    if best.by_grammar:
        return best if best.chance >= AT_ONCE_SHARED else None
    return best if best.chance >= AT_ONCE and best.sure_benchmark and not best.empty else None


def shown(found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
    """The readings to choose from; none where none is likely enough."""
    if not found or found[0].chance < SHOWN:
        return []
    return [c for c in found if c.chance >= BESIDE and (c.by_grammar or not c.empty)][:MOST_CHOICES]

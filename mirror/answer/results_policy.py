"""What becomes of the readings of a question over the results: one is answered at once, some are shown, or none is.

The chances come from the ranker of `mirror.language.ranking.results_readings`; the limits were set on open wordings
that neither the network nor the ranker had learnt from.
"""

from collections.abc import Sequence

from mirror.answer.proposal import Proposal
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.query.errors import Ambiguity
from mirror.query.in_words import read_back

# From this chance on a reading is answered at once; one that the grammar shares, from a lower one on.
AT_ONCE, AT_ONCE_SHARED = 0.75, 0.4
# A first reading below this chance is not shown, nor another one beside it.
SHOWN, BESIDE = 0.2, 0.08
MOST_CHOICES = 3
NOT_CLEAR = "It is not clear what is asked: name what was measured, and of which methods or settings."


class Shown(Ambiguity):
    """Readings that are shown to choose from: `proposals`."""

    def __init__(self, proposals: tuple[Proposal, ...]) -> None:
        several = f"This can be read in {len(proposals)} ways: which is meant?"
        super().__init__(several if len(proposals) > 1 else "Is this meant?", tuple(p.text for p in proposals))
        self.proposals = proposals


def answered_at_once(found: Sequence[ResultsCandidate]) -> ResultsCandidate | None:
    """The reading that is answered without asking; None where none is sure enough."""
    if not found:
        return None
    best = found[0]
    enough = AT_ONCE_SHARED if best.by_grammar else AT_ONCE
    return best if best.chance >= enough and (best.by_grammar or (best.sure_benchmark and not best.empty)) else None


def shown(found: Sequence[ResultsCandidate]) -> tuple[Proposal, ...]:
    """The readings to choose from, in words that tell them apart; none where none is likely enough."""
    if not found or found[0].chance < SHOWN:
        return ()
    offered: dict[str, Proposal] = {}
    for reading in found:
        if reading.chance >= BESIDE and not reading.empty:
            text = read_back(reading.asked)
            if text in offered:
                text = read_back(reading.spec)
            offered.setdefault(text, Proposal(text, None, asked=reading.asked))
    return tuple(offered.values())[:MOST_CHOICES]

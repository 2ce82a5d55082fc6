"""What becomes of the readings of a question over the results: one is answered at once, some are shown, or none is.

The limits were set on open wordings that neither the network nor the ranker had learnt from.
"""

from collections.abc import Sequence

from mirror.language.ranking.results_evidence import ResultsCandidate

# From this chance on a reading of the network is answered at once, or told beside one of the grammar's: of such open
# wordings about one in thirty is read wrongly.
AT_ONCE = 0.97
# A first reading below this chance is not shown, nor another one beside it.
SHOWN, BESIDE = 0.15, 0.02
# The same, where a word of the question names nothing and was never learnt.
SHOWN_STRANGE = 0.6
MOST_CHOICES = 3
# Beside the choices of the grammar.
WITH_CHOICES, MOST_BESIDE = 0.5, 2


def answered_at_once(found: Sequence[ResultsCandidate]) -> ResultsCandidate | None:
    """The reading that is answered without asking; None where none is sure enough. `found` has the likeliest first.

    The grammar takes in every word or refuses: what it reads is answered.
    """
    grammars = next((c for c in found if c.by_grammar), None)
    if grammars or not found:
        return grammars
    best = found[0]
    sure = best.chance >= AT_ONCE and best.sure_benchmark and not best.features.get("strange")
    return best if sure and not best.empty else None


def told_beside(found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
    """What the network is sure of where the grammar reads otherwise."""
    return [c for c in found[:1] if not c.by_grammar and c.chance >= AT_ONCE and not c.empty]


def shown(found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
    """The readings to choose from; none where none is likely enough."""
    if not found or found[0].chance < (SHOWN_STRANGE if found[0].features.get("strange") else SHOWN):
        return []
    return [c for c in found if c.chance >= BESIDE and not c.empty][:MOST_CHOICES]


def shown_with_choices(found: Sequence[ResultsCandidate]) -> list[ResultsCandidate]:
    """The readings that may stand beside the choices of the grammar where it asks back."""
    return [c for c in shown(found) if c.chance >= WITH_CHOICES]


def hang_on_rows(found: Sequence[tuple[ResultsCandidate, ResultsCandidate]]) -> list[bool]:
    """Which readings decide nothing before it is known whether they have rows.

    Args:
        found: each reading as it is if it has rows, and as it is if it has none, with its chance.
    """
    most = [max(one.chance, other.chance) for one, other in found]
    if any(one.by_grammar for one, _ in found):  # another is told beside it where it is sure and comes first
        sure = [p >= AT_ONCE and not one.by_grammar for p, (one, _) in zip(most, found, strict=True)]
        return [any(sure) and (s or one.by_grammar) for s, (one, _) in zip(sure, found, strict=True)]
    strange = any(one.features.get("strange") for one, _ in found)
    if max(most) < (SHOWN_STRANGE if strange else SHOWN):
        return [False] * len(found)
    return [p >= BESIDE for p in most]

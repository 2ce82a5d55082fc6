"""Readings of a question over the results that are shown to choose from, each as a question to click."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mirror.answer.proposal import Proposal
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.query.errors import Ambiguity
from mirror.query.in_words import question_of
from mirror.query.spec import QuerySpec

NOT_CLEAR = "It is not clear what is asked: name what was measured, and of which methods or settings."


class Shown(Ambiguity):
    """Readings to choose from: `proposals`, and in front of them the `choices` of the grammar where it asks back."""

    def __init__(self, proposals: tuple[Proposal, ...], asked_back: Ambiguity | None = None) -> None:
        several = f"This can be read in {len(proposals)} ways: which is meant?"
        sentence = str(asked_back) if asked_back else several if len(proposals) > 1 else "Is this meant?"
        super().__init__(sentence, asked_back.choices if asked_back else ())
        self.proposals = proposals


def unlike(readings: Sequence[ResultsCandidate], asked: Iterable[QuerySpec]) -> list[ResultsCandidate]:
    """The readings that say something else, whichever the benchmark; none where the likeliest says the same."""
    known = {_whichever_benchmark(spec) for spec in asked}
    others = [c for c in readings if _whichever_benchmark(c.asked) not in known]
    return others if others[:1] == list(readings[:1]) else []


def _whichever_benchmark(spec: QuerySpec) -> QuerySpec:
    left = sorted((f for f in spec.filters if f.column != "benchmark"), key=str)
    return replace(spec, filters=tuple(left), notes=())


def proposals(readings: Sequence[ResultsCandidate]) -> tuple[Proposal, ...]:
    """The readings in words that tell them apart."""
    offered: dict[str, Proposal] = {}
    for reading in readings:
        text = question_of(reading.asked)
        text = question_of(reading.spec) if text in offered else text
        offered.setdefault(text, Proposal(text, None, asked=reading.asked))
    return tuple(offered.values())

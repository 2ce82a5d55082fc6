"""Readings of a question over the results that are shown to choose from, each as a question to click; and refusals."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from mirror.answer.proposal import Proposal
from mirror.language.neural.results_items import results_items
from mirror.language.neural.results_phrases import phrases_of
from mirror.language.neural.results_reader import strange_words
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.query.errors import Ambiguity
from mirror.query.in_words import question_of
from mirror.query.spec import QuerySpec
from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.table.wording import join

NOT_CLEAR = "It is not clear what is asked: name what was measured, and of which methods or settings."
_MOST_WORDS = 6  # that a refusal names


class Shown(Ambiguity):
    """Readings to choose from: `proposals`; `left` are words that the likeliest leaves out."""

    def __init__(self, proposals: tuple[Proposal, ...], sentence: str = "", left: Sequence[str] = ()) -> None:
        several = f"This can be read in {len(proposals)} ways: which is meant?"
        beside = f" Left out: {join([f'“{word[:40]}”' for word in left[:_MOST_WORDS]])}." if left else ""
        super().__init__(sentence or (several if len(proposals) > 1 else "Is this meant?") + beside, ())
        self.proposals = proposals


def not_known(question: str, profile: Profile, now: datetime | None) -> str:
    """Why a question that no reading is likely of is refused: the words that name nothing, and what is known."""
    words = strange_words(results_items(question, profile, now or datetime.now(UTC).replace(tzinfo=None)))
    if not words:
        return f"{NOT_CLEAR} {_known_sentence()}"
    named = join([f"“{word[:40]}”" for word in words[:_MOST_WORDS]])
    more = f" and {len(words) - _MOST_WORDS} more words" if len(words) > _MOST_WORDS else ""
    phrases = phrases_of(profile)
    near = list(dict.fromkeys(name for word in words[:_MOST_WORDS] for name in phrases.nearest(word)))
    hint = f" Did you mean {join(near, word='or')}?" if near else ""
    return f"The results say nothing about {named}{more}.{hint} {_known_sentence()}"


def _known_sentence() -> str:
    among = (e for e in catalog.entries().values() if e.role == "metric")
    metrics = [e.label for e in among if not e.name.startswith("latency_") and "_ci_" not in e.name]
    groups = "method, data set, compression, dim, batch size and machine to group or filter by"
    return f"Known are the metrics latency (with its percentiles), {join(metrics)}; {groups}."


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

"""Questions over the results read by a network alone: forms as they were asked, with what they leave unread."""

from dataclasses import dataclass
from pathlib import Path

from mirror.language.neural.action_language import Inexpressible
from mirror.language.neural.items import KIND, RELATION, Items
from mirror.language.neural.network import BEAM, trained
from mirror.language.neural.results_actions import ResultsReader
from mirror.language.neural.results_grammar import RESULTS_LANGUAGE
from mirror.language.neural.results_items import RESULTS_FEATURES
from mirror.language.neural.unread import unread
from mirror.query.spec import QuerySpec
from mirror.schema.profile import Profile

RESULTS_WEIGHTS = Path(__file__).with_name("results.npz")
# What tells that a negation of the question was read: "not dominated", "no more than", "without losing quality".
_DENIED = frozenset(("not", "<>", "not in", "front", "within", "<=", ">=", "slower", "worse"))
_BEFORE = RESULTS_FEATURES.index("before")
_NAMING = frozenset(RELATION[name] for name in ("names", "part of", "like", "in literal"))


@dataclass(frozen=True)
class ResultsReading:
    """One reading of the network.

    Attributes:
        asked: the form as it was asked.
        score: logarithm of its probability.
        unread: numbers, times and negations that it leaves out.
    """

    asked: QuerySpec
    score: float
    unread: tuple[str, ...]


def network_readings(items: Items, profile: Profile, beam: int = BEAM) -> list[ResultsReading]:
    """The likeliest readings of a question's items, the likeliest first; none where no network ships or there is no
    word."""
    network = trained(RESULTS_WEIGHTS, RESULTS_LANGUAGE)
    if network is None or not items.tokens:
        return []
    before = int(items.features[: len(items.tokens), _BEFORE].sum())
    found: dict[QuerySpec, ResultsReading] = {}
    for line in network.lines(items, beam):
        try:
            asked = ResultsReader(line.actions, items, profile).asked()
        except (Inexpressible, KeyError):
            continue
        found.setdefault(asked, ResultsReading(asked, line.score, unread(items, line.actions, _DENIED, before)))
    return list(found.values())


def strange_words(items: Items) -> tuple[str, ...]:
    """Words of a question that name nothing of the results and that the network has not learnt."""
    network = trained(RESULTS_WEIGHTS, RESULTS_LANGUAGE)
    found = []
    for token, kind, relations in zip(items.tokens, items.kinds, items.relations, strict=False):
        named = _NAMING & set(relations.tolist())
        if int(kind) == KIND["word"] and not named and not (network and network.knows(token.stem)):
            found.append(token.text)
    return tuple(dict.fromkeys(found))

"""Questions over the results read by a network alone: forms as they were asked, with what they leave unread."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

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
_SETS = ("in", "not in")
_PLACES = frozenset(["second", "third", "fourth", "fifth", "2nd", "3rd", "4th", "5th"])
_SUPERLATIVES = frozenset(["best", "worst", "most", "least"])
_EACH, _SPANS = (
    frozenset(["per", "by", "each", "every"]),
    frozenset(["hour", "day", "week", "month", "quarter", "year"]),
)
_ALIKE = 2  # so many lines of actions more than readings are asked for: some say the same
_BEFORE = RESULTS_FEATURES.index("before")
_NAMING = frozenset(RELATION[name] for name in ("names", "part of", "like", "in literal"))


@dataclass(frozen=True)
class ResultsReading:
    """One reading of the network.

    Attributes:
        asked: the form as it was asked.
        score: logarithm of its probability, of all the ways in which the network says it.
        unread: numbers, times, negations and places that it leaves out.
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
    for line in network.lines(items, beam + _ALIKE):
        try:
            asked = ResultsReader(line.actions, items, profile).asked()
        except (Inexpressible, KeyError):
            continue
        left = (*unread(items, line.actions, _DENIED, before), *_unplaced(items, asked, before))
        one = found.setdefault(_in_order(asked), ResultsReading(asked, -math.inf, tuple(dict.fromkeys(left))))
        found[_in_order(asked)] = replace(one, score=float(np.logaddexp(one.score, line.score)))
    return sorted(found.values(), key=lambda reading: -reading.score)[:beam]


def _unplaced(items: Items, asked: QuerySpec, first: int) -> list[str]:
    """Words that no query over the results can hold: the "second" best, and "per day" where times are no groups."""
    pairs = list(pairwise(token.text for token in items.tokens[first:]))
    found = [one for one, other in pairs if one in _PLACES and (other.endswith("est") or other in _SUPERLATIVES)]
    if asked.shape != "change" and "started_at" not in asked.dimensions:
        found += [other for one, other in pairs if one in _EACH and other in _SPANS]
    return found


def _in_order(asked: QuerySpec) -> QuerySpec:
    """The same for queries that differ in nothing but the order in which conditions and their values are said."""
    named = (replace(f, values=tuple(sorted(f.values, key=repr))) if f.operator in _SETS else f for f in asked.filters)
    return replace(asked, filters=tuple(sorted(named, key=repr)))


def strange_words(items: Items) -> tuple[str, ...]:
    """Words of a question that name nothing of the results and that the network has not learnt."""
    network = trained(RESULTS_WEIGHTS, RESULTS_LANGUAGE)
    found = []
    for token, kind, relations in zip(items.tokens, items.kinds, items.relations, strict=False):
        named = _NAMING & set(relations.tolist())
        if int(kind) == KIND["word"] and not named and not (network and network.knows(token.stem)):
            found.append(token.text)
    return tuple(dict.fromkeys(found))

"""What a question says in so many words to group by: `by operator`, `per data set`, `which operators`."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mirror.language.neural.items import RELATION, Items
from mirror.language.neural.results_phrases import RESULTS
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.query.spec import QuerySpec
from mirror.schema import catalog

_BEFORE, _BETWEEN = {"by", "per"}, {"each", "every", "the"}
_FIRST = {"which", "what"}  # of a question
_NAMES = RELATION["names"]


def heeding(found: Sequence[ResultsCandidate], items: Items) -> list[ResultsCandidate]:
    """The readings that have what the question says to group by, where some do and others do not.

    What the network gave the others goes to these.
    """
    said = list(_said(items))
    kept = [c for c in found if all(_used(c.asked) & columns for columns in said)]
    if not kept or len(kept) == len(found):
        return list(found)
    among, of_all = (sum(math.exp(score) for score in _scores(part)) for part in (kept, found))
    more = math.log(of_all / among) if among > 0 else 0.0
    return [replace(c, read=replace(c.read, score=c.read.score + more)) for c in kept]


def _scores(found: Sequence[ResultsCandidate]) -> list[float]:
    """Of the readings, each once: one reading is a candidate in each benchmark that may be meant."""
    return list({id(c.read): c.read.score for c in found}.values())


def _said(items: Items) -> Iterator[set[str]]:
    """For each place the columns that its word is the name of; metrics are no groups."""
    texts = [token.text for token in items.tokens]
    for at, text in enumerate(texts):
        place = at + 1
        while place < len(texts) and texts[place] in _BETWEEN:
            place += 1
        if place < len(texts) and (text in _BEFORE or (at == 0 and text in _FIRST)):
            columns = set(_named(items, place))
            if columns and all(catalog.entry(name).role != "metric" for name in columns):
                yield columns


def _named(items: Items, token: int) -> Iterator[str]:
    for i, (table, name) in enumerate(items.columns):
        if table == RESULTS and items.relations[token, items.first_column + i] == _NAMES:
            yield name


def _used(spec: QuerySpec) -> set[str]:
    """The columns that a form groups by, or says something else of."""
    used = {*spec.dimensions, *spec.partitions, *spec.averaged, spec.distinct}
    used |= {f.column for f in spec.filters} | {o.column for o in spec.order}
    used |= {spec.against.column} if spec.against else set()
    return {str(name) for name in used if name}

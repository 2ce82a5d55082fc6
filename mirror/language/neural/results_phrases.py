"""What the words of a question may name in the results: benchmarks, columns, curves, facts of machines and values."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from db.columns import Column
from mirror.language.phrases import machine_names
from mirror.language.reading.lexemes import Token, stems
from mirror.language.reading.linking import EXACT, LEARNT, PART, TYPO, Link
from mirror.schema import catalog, own_metrics, own_words
from mirror.schema.own_words import OwnWord
from mirror.schema.profile import Profile
from mirror.table.values import Value
from mirror.words import phrasebook
from mirror.words.close_words import close_words

RESULTS, CURVES, MACHINES = own_words.RESULTS, own_words.CURVES, "machines"  # tables of columns
_SYNONYM, _PART_OF_VALUE, _FAMILY = 0.05, 0.5, 0.45
_LONGEST = 7
_TYPO_ALIKE, _NEAR = 0.8, 0.7
_MOST_CORRECTED = 10_000
# Text columns whose values are named in parts: "epyc", "the hashes".
_FAMILIES = ("method", "dataset", "machine")
_OF_NO_MACHINE = frozenset(s for word in phrasebook.phrases("names", "machines")["everyday"] for s in stems(word))
_STATUS = "status:"
# Values that are everyday words: alone they may well mean something else.
_EVERYDAY = frozenset(("op", "sum", "mean", "max", "same", "faster", "slower", "plain", "test", "data", "size", "flat"))
_BESIDE_THEIR_COLUMN = 0.3
_SAYS_NOTHING = frozenset(
    ("of", "the", "a", "an", "per", "in", "by", "with", "to", "and", "or", "how", "what", "which")
)


def statuses() -> dict[str, Sequence[str]]:
    """How trials may end, each with what that is called."""
    said = phrasebook.phrases("outcomes", "results").items()
    return {meaning.removeprefix(_STATUS): phrases for meaning, phrases in said if meaning.startswith(_STATUS)}


def phrases_of(profile: Profile) -> "Phrases":
    """The phrases of these results, made once for all questions about them."""
    texts = (e.name for e in catalog.entries().values() if e.type == "text")
    values = tuple((column, profile.values(column)) for column in texts)
    return _phrases(values, profile.curves, profile.benchmarks, profile.words, own_metrics.known())


@lru_cache(maxsize=16)
def _phrases(
    values: tuple[tuple[str, tuple[Value, ...]], ...],
    curves: tuple[str, ...],
    benchmarks: tuple[str, ...],
    words: tuple[OwnWord, ...],
    own: tuple[Column, ...],
) -> "Phrases":
    del own  # are in the catalogue, and make it another one
    return Phrases(dict(values), curves, benchmarks, words)


class Phrases:
    """Stems of a phrase -> what it may name, with its cost."""

    def __init__(
        self,
        values: Mapping[str, Sequence[Value]],
        curves: Sequence[str],
        benchmarks: Sequence[str],
        words: Sequence[OwnWord] = (),
    ) -> None:
        self._index: dict[tuple[str, ...], dict[tuple[str, str, str | None, object], float]] = defaultdict(dict)
        for entry in catalog.entries().values():
            self._name(Link("col", RESULTS, entry.name), (entry.name, entry.label), entry.synonyms)
        for own in own_metrics.known():
            self._put(stems(own_metrics.one_word(own.name)), Link("col", RESULTS, own.name, cost=EXACT))
        for curve, synonyms in (dict.fromkeys(curves, ()) | dict(catalog.curve_synonyms())).items():
            self._name(Link("col", CURVES, curve), (curve,), synonyms)
        for fact, names in catalog.words()["machine_facts"].items():
            self._name(Link("col", MACHINES, fact), (fact,), names)
        known = catalog.value_synonyms("benchmark")
        for benchmark in dict.fromkeys([*benchmarks, *known]):
            self._name(Link("rel", benchmark), (benchmark,), known.get(benchmark, ()))
        for column in dict.fromkeys([*values, *catalog.words()["values"]]):
            if column != "benchmark":
                self._values(column, values.get(column, ()))
        for machine, names in _machine_names(values.get("machine", ())).items():
            for name in names:
                self._put(stems(name), Link("val", RESULTS, "machine", machine, 0.2))
        for status, phrases in statuses().items():
            for phrase in phrases:
                self._put(stems(phrase), Link("val", RESULTS, "status", status))
        for said in words:
            kind = "col" if said.value is None else "val"
            self._put(stems(said.word), Link(kind, said.table, said.column, said.value, LEARNT))
        self._corrected: dict[str, list[Link]] = {}
        self.longest = min(_LONGEST, max(map(len, self._index)))
        self._vocabulary = sorted({p[0] for p in self._index if len(p) == 1 and len(p[0]) >= 3 and p[0].isalpha()})

    def _put(self, phrase: tuple[str, ...], link: Link) -> None:
        if phrase and not set(phrase) <= _SAYS_NOTHING:
            known = self._index[phrase]
            at = (link.kind, link.table, link.column, link.value)
            known[at] = min(link.cost, known.get(at, 99.0))

    def _name(self, link: Link, names: Sequence[str], synonyms: Iterable[str]) -> None:
        """The names of a column or benchmark, parts of them, and what else it is called."""
        for name in names:
            words = stems(name.replace("_", " "))
            self._put(words, _at_cost(link, EXACT))
            for size in range(1, len(words)):
                for start in range(len(words) - size + 1):
                    part = words[start : start + size]
                    if any(len(w) > 2 for w in part):
                        self._put(part, _at_cost(link, PART + 0.1 * (len(words) - size)))
        for synonym in synonyms:
            self._put(stems(synonym), _at_cost(link, _SYNONYM))

    def _values(self, column: str, held: Sequence[Value]) -> None:
        synonyms = catalog.value_synonyms(column)
        parts: dict[str, set[Value]] = defaultdict(set)
        for value in dict.fromkeys([*held, *synonyms]):
            text = str(value).replace("_", " ")
            link = Link("val", RESULTS, column, value)
            for name in (text, *synonyms.get(str(value), ())):
                words = stems(name)
                self._put(words, _at_cost(link, _BESIDE_THEIR_COLUMN if name in _EVERYDAY else _SYNONYM))
                for word in words if value in held else ():
                    parts[word].add(value)
            words = stems(text)
            if len(words) > 1:
                self._put(("".join(words),), _at_cost(link, 0.1))
                for word in words:
                    if len(word) > 2 and word.isalpha():
                        self._put((word,), _at_cost(link, _PART_OF_VALUE))
        for word, values in parts.items():
            if column not in _FAMILIES or len(values) < 2 or not word.isalpha() or word in _SAYS_NOTHING:
                continue
            if column == "machine":  # a word that several have names all of them, or none
                for value in (v for v in values if stems(str(v)) != (word,)):
                    self._index[(word,)].pop(("val", RESULTS, column, value), None)
                if word in _OF_NO_MACHINE:
                    continue
            self._put((word,), Link("val", RESULTS, column, tuple(v for v in held if v in values), _FAMILY))

    def at(self, phrase: tuple[str, ...]) -> list[Link]:
        """All that a phrase may name, the surest first."""
        found = [Link(*at, cost) for at, cost in self._index.get(phrase, {}).items()]
        return sorted(found, key=lambda link: link.cost)

    def nearest(self, word: str) -> list[str]:
        """What a word that names nothing looks like most: names as people see them; none where nothing is near."""
        close = close_words(word, self._vocabulary, 1, _NEAR) if word.isalpha() else []
        links = [link for stem in close for link in self.at((stem,))[:1]]
        return [
            catalog.entry(k.column).label if k.kind == "col" and k.column else _as_text(k.value or k.table)
            for k in links
        ]

    def corrected(self, token: Token) -> list[Link]:
        """What a word that names nothing may be a slip of."""
        if len(token.text) < 4 or not token.text.isalpha():
            return []
        known = self._corrected.get(token.stem)
        if known is None:
            close = close_words(token.stem, self._vocabulary, 2, _TYPO_ALIKE)
            known = [_at_cost(k, k.cost + TYPO) for word in close for k in self.at((word,))[:3]]
            if len(self._corrected) < _MOST_CORRECTED:
                self._corrected[token.stem] = known
        return known


def _as_text(value: object) -> str:
    return " or ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _at_cost(link: Link, cost: float) -> Link:
    return Link(link.kind, link.table, link.column, link.value, cost)


def _machine_names(machines: Sequence[Value]) -> Mapping[Value, list[str]]:
    """Shorter names of machines, of those that only one has."""
    profile = Profile(distinct={"machine": tuple(machines)})
    found: dict[Value, list[str]] = defaultdict(list)
    for name, those in machine_names.shorter(profile).items():
        if len(those) == 1:
            found[those[0]].append(name)
    for name, machine in machine_names.parts(profile).items():
        if not re.fullmatch(r"\d+", name):
            found[machine].append(name)
    return found

"""What speaks for a reading of a question over the results and against it, as numbers that the ranker weighs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mirror.language.neural.items import KIND, RELATION, Items
from mirror.language.neural.results_items import RESULTS_FEATURES
from mirror.language.neural.results_phrases import CURVES, MACHINES, RESULTS
from mirror.language.neural.results_reader import ResultsReading, strange_words
from mirror.query.spec import QuerySpec
from mirror.schema.profile import Profile

LEAST_SCORE = -8.0  # all that is less likely counts as this
_NAMED = {RELATION["names"]: 1.0, RELATION["part of"]: 0.7, RELATION["like"]: 0.4}
_SURE = 0.7  # how well a column or value that a reading leaves out must be named to count
_SHAPES = ("points", "groups", "best", "ranking", "front", "relative", "count", "rows", "change")
_WHOLE_VALUE = RESULTS_FEATURES.index("whole_value")


@dataclass(frozen=True)
class ResultsCandidate:
    """A reading, completed.

    Attributes:
        asked: the form as the question says it.
        spec: the same, completed with what the results leave open.
        read: what the network says.
        sure_benchmark: whether one benchmark is named or has clearly most to say.
        empty: whether there are no rows.
        features: what speaks for it and against it, by name.
        chance: how likely it is what was asked, from 0 to 1.
    """

    asked: QuerySpec
    spec: QuerySpec
    read: ResultsReading
    sure_benchmark: bool = True
    empty: bool = False
    features: dict[str, float] = field(default_factory=dict)
    chance: float = 0.0


def is_about_results(items: Items) -> bool:
    """Whether a word of the question names something of the results."""
    named = {RELATION[name] for name in ("names", "part of")}
    of_words = items.relations[: len(items.tokens)]
    values = any(k.kind == "value" and k.start < k.end for k in items.literals)
    return values or bool(named & set(of_words.ravel().tolist()))


def with_results_evidence(found: Sequence[ResultsCandidate], items: Items, profile: Profile) -> list[ResultsCandidate]:
    """The candidates of a question, each with its features.

    Args:
        found: the candidates.
        items: the question as the network sees it.
        profile: what the results hold.
    """
    scores = sorted((c.read.score for c in found), reverse=True)
    support = _Support(items, bool(profile.values("verdict")))
    return [replace(c, features=_features(c, scores, support, items)) for c in found]


def _features(one: ResultsCandidate, scores: Sequence[float], support: "_Support", items: Items) -> dict[str, float]:
    score = max(one.read.score, LEAST_SCORE)
    others = [s for s in scores if s != one.read.score]
    spec = one.asked
    told: dict[str, Any] = {
        "score": score,
        "probability": math.exp(score),
        "ahead": min(max(score - max(others, default=LEAST_SCORE), -4.0), 4.0),
        "best": score == scores[0],
        "best score": max(scores[0], LEAST_SCORE),
        "unread": min(len(one.read.unread), 3),
        "unknown": min(support.unknown, 6),
        "strange": min(len(support.strange), 4),
        "words": min(len(items.tokens), 40) / 10,
        "empty": one.empty,
        "sure benchmark": one.sure_benchmark,
        "metrics": min(len(spec.metrics), 3),
        "conditions": min(len(spec.filters), 5),
        **support.of(spec),
        **{f"shape {shape}": spec.shape == shape for shape in _SHAPES},
    }
    return {name: float(value) for name, value in told.items()}


class _Support:
    """How well the columns and values of a form are named by the words of the question."""

    def __init__(self, items: Items, with_verdicts: bool) -> None:
        """`with_verdicts`: whether `faster` may be a verdict, which a reading can leave out, and no mere comparison."""
        tokens = len(items.tokens)
        relations = items.relations[:tokens]
        first = items.first_column
        self._columns: dict[str, float] = {}
        for i, (table, name) in enumerate(items.columns):
            named = max((_NAMED.get(int(r), 0.0) for r in relations[:, first + i]), default=0.0)
            if table in (RESULTS, CURVES, MACHINES):
                self._columns[name] = max(named, self._columns.get(name, 0.0))
        self._tables = {
            name: max((_NAMED.get(int(r), 0.0) for r in relations[:, items.first_table + i]), default=0.0)
            for i, name in enumerate(items.tables)
        }
        self._values: dict[tuple[str, object], float] = {}
        for i, literal in enumerate(items.literals):
            if literal.kind == "value" and literal.link and literal.start < literal.end:
                whole = items.features[items.first_literal + i, _WHOLE_VALUE]
                values: Any = literal.value if isinstance(literal.value, tuple) else (literal.value,)
                for value in values if with_verdicts or literal.link.column != "verdict" else ():
                    key = (str(literal.link.column), value)
                    self._values[key] = max(1.0 if whole else 0.5, self._values.get(key, 0.0))
        self._numbers = {k.value for k in items.literals if k.kind == "number"}
        self.strange = strange_words(items)
        linked = {"names", "named", "part of", "like", "in literal"}
        known = {RELATION[name] for name in linked}
        self.unknown = sum(
            1
            for i, token in enumerate(items.tokens)
            if int(items.kinds[i]) == KIND["word"] and len(token.text) > 3 and not known & set(relations[i].tolist())
        )

    def of(self, spec: QuerySpec) -> dict[str, float]:
        """Support of metrics, groups and conditions, and what is named and left out."""
        metrics = [self._columns.get(m.name or m.column, 0.0) for m in spec.metrics]
        groups = [self._columns.get(d, 0.0) for d in (*spec.dimensions, *spec.partitions) if d != "method"]
        conditions = list(self._of_conditions(spec))
        used = {m.name or m.column for m in spec.metrics} | {*spec.dimensions, *spec.partitions, *spec.averaged}
        used |= {f.column for f in spec.filters} | {o.column for o in spec.order}
        used |= {str(v) for f in spec.filters if f.column == "metric" for v in f.values}
        held = {(f.column, v) for f in spec.filters for v in f.values}
        held |= {(spec.against.column, v) for v in spec.against.values} if spec.against else set()
        touched = {column for column, _ in held}
        left = [n for n, s in self._columns.items() if s >= 1.0 and n not in used]
        values = [k for k, s in self._values.items() if s >= _SURE and k not in held and k[0] not in touched]
        return {
            "metric least": min(metrics, default=0.5),
            "metrics unnamed": sum(1 for s in metrics if not s),
            "groups unnamed": sum(1 for s in groups if not s),
            "conditions unsaid": sum(1 for s in conditions if not s),
            "conditions partly": sum(1 for s in conditions if 0 < s < 1),
            "columns left": min(len(left), 4),
            "values left": min(len({column for column, _ in values}), 4),
        }

    def _of_conditions(self, spec: QuerySpec) -> Iterator[float]:
        for f in spec.filters:
            if f.column == "benchmark":
                yield max((self._tables.get(str(v), 0.0) for v in f.values), default=0.0)
            elif f.column in ("started_at", "metric"):
                yield 1.0
            elif all(isinstance(v, str) for v in f.values):
                yield min((self._values.get((f.column, v), 0.0) for v in f.values), default=0.0)
            else:
                yield float(all(v in self._numbers for v in f.values))

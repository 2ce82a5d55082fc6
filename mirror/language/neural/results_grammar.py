"""The language of actions of questions over the results: its words, and which action may come after which."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import get_args

from mirror.language.neural.action_language import ActionLanguage, State
from mirror.language.neural.results_items import RESULTS_FEATURES, pointer_of
from mirror.query.spec import Aggregate, ChartType, Claim, Shape

_SHAPES, AGGREGATES, _CHARTS, CLAIMS = map(get_args, (Shape, Aggregate, ChartType, Claim))
SOURCES = ("results", "history", "failures", "curves", "machines")
_COMPARED = ("=", "<>", "<", "<=", ">", ">=")
NUMBERS = ("#0", "#1", "#2", "#3", "#5", "#10", "max", "min")
PLACES = ("1st", "2nd", "3rd")
# Sections in their order; of those that stand together only one is said.
_SECTIONS = (
    ("by",), ("each",), ("where",), ("order",), ("top",), ("split",), ("against",), ("within",), ("over",),
    ("distinct",), ("verdicts",), CLAIMS, ("inverse",), ("keep",), ("why",), ("last",), ("as",), ("log x",),
    ("log y",), ("linear",), ("end",),
)  # fmt: skip
_SECTION_AT = {word: i for i, words in enumerate(_SECTIONS) for word in words}
_WORDS = (
    *_SHAPES, *(f"of {source}" for source in SOURCES), "raw", *AGGREGATES, *_SECTION_AT, *_COMPARED, "not", "or",
    "and", "in", "not in", "between", "since", "before", "until", *NUMBERS, *PLACES, "trials", "asc", "desc", ",",
    "baseline", "as good", *_CHARTS, "no chart",
)  # fmt: skip
RESULTS_WORDS = tuple(dict.fromkeys(_WORDS))  # `count` is a shape and an aggregate
TABLE, COLUMN, NUMBER, TIME, VALUE, METRIC = _POINTERS = (
    "<table>", "<column>", "<number>", "<time>", "<value>", "<metric>",
)  # fmt: skip
MOST_ACTIONS = 48
TO_FINISH = 8  # actions that the rest of a line may need
# Sections that only some shapes have, and shapes that cannot do without one.
_ONLY = {
    "split": ("change",), "against": ("relative",), "inverse": ("relative",), "distinct": ("count",),
    "each": ("best", "ranking", "front", "relative"), "verdicts": ("groups", "points"),
}  # fmt: skip
_NEEDED = {"change": "split", "relative": "against"}
_MEASURED = ("points", "ranking", "best", "front", "relative", "change")
_UNMEASURED = ("count", "rows")


def _then(words: Sequence[str], place: str) -> dict[str, str]:
    return dict.fromkeys(words, place)


_STEPS: dict[str, dict[str, str]] = {
    "start": _then(_SHAPES, "shape"),
    "shape": _then([f"of {source}" for source in SOURCES], "source"),
    "taken": {METRIC: "measured"},
    "by": {COLUMN: "grouped"},
    "grouped": {COLUMN: "grouped"},
    "condition": {
        VALUE: "value said", TABLE: "table said", TIME: "condition said", "not": "denied", COLUMN: "tested",
        METRIC: "tested", **_then(("since", "before", "until"), "bound"),
    },
    "denied": {VALUE: "value said", TABLE: "table said"},
    "value said": {"or": "or value"},
    "or value": {VALUE: "value said"},
    "table said": {"or": "or table"},
    "or table": {TABLE: "table said"},
    "bound": {TIME: "condition said"},
    "tested": {**_then(_COMPARED, "operand"), "in": "operands", "not in": "operands", "between": "low"},
    "operand": _then((NUMBER, *NUMBERS), "condition said"),
    "operands": _then((NUMBER, *NUMBERS), "more operands"),
    "more operands": _then((NUMBER, *NUMBERS), "more operands"),
    "low": _then((NUMBER, *NUMBERS), "high"),
    "high": _then((NUMBER, *NUMBERS), "condition said"),
    "order": {**_then(PLACES, "direction"), COLUMN: "direction", METRIC: "direction", "trials": "direction"},
    "direction": _then(("asc", "desc"), "ordered"),
    "ordered": {",": "order"},
    "top": _then((NUMBER, *NUMBERS[:-2]), "said"),
    "split": {TIME: "said"},
    "against": {VALUE: "said", TABLE: "said", COLUMN: "reference", "baseline": "said"},
    "reference": _then((NUMBER, *NUMBERS), "said"),
    "within": {NUMBER: "said", "as good": "said"},
    "over": {COLUMN: "collapsed"},
    "collapsed": {COLUMN: "collapsed"},
    "distinct": {COLUMN: "said"},
    "as": _then((*_CHARTS, "no chart"), "said"),
}  # fmt: skip
_OPENS = {"by": "by", "each": "by", "where": "condition"} | {
    word: word for word in ("order", "top", "split", "against", "within", "over", "distinct", "as", "end")
}
_SAID = ("value said", "table said", "condition said", "more operands")
_WHOLE = ("shape", "source", "measured", "grouped", "ordered", "said", "collapsed", *_SAID)
# Words that need something to point at behind them.
_NEEDS = {
    "not": (VALUE, TABLE), "or": (VALUE, TABLE), "since": (TIME,), "before": (TIME,), "until": (TIME,),
    "split": (TIME,), "change": (TIME,), "by": (COLUMN,), "each": (COLUMN,), "over": (COLUMN,), "distinct": (COLUMN,),
    "where": (COLUMN, METRIC), **dict.fromkeys((*AGGREGATES, *_MEASURED, "raw"), (METRIC,)),
}  # fmt: skip


def _allowed(state: State, there: frozenset[str]) -> list[str]:
    """Words and kinds of pointers that may come next; only such as can be said to their end."""
    long = state.length >= MOST_ACTIONS - TO_FINISH
    found = [] if long and state.at in _WHOLE else list(_STEPS.get(state.at, {}))
    unmeasured = not state.measured and state.inside in _MEASURED
    if state.at in ("shape", "source", "measured") and (unmeasured or not long):
        found += () if state.inside in _UNMEASURED else (METRIC, *AGGREGATES, "raw")
    if state.at in _SAID and not long:
        found.append("and")
    if state.at in _WHOLE and not unmeasured:
        found += _later(state, long)
    found = [w for w in found if any(kind in there for kind in _NEEDS.get(w, there))]
    if "change" in found and TIME not in there:
        found.remove("change")
    return [w for w in found if w not in _POINTERS or w in there]


def _later(state: State, long: bool) -> list[str]:
    needed = _NEEDED.get(state.inside)
    at = _SECTION_AT[needed] if needed else -1
    if needed and state.section < at:
        words = [w for w, i in _SECTION_AT.items() if state.section < i <= at]
        return [needed] if long else [w for w in words if state.inside in _ONLY.get(w, (state.inside,))]
    words = ["end"] if long else [w for w, i in _SECTION_AT.items() if i > state.section]
    return [w for w in words if state.inside in _ONLY.get(w, (state.inside,))]


def _step(state: State, word: str) -> State:
    length = state.length + 1
    if state.at == "start":
        return State("shape", -1, word, False, length)
    if word in _STEPS.get(state.at, {}):
        return replace(state, at=_STEPS[state.at][word], length=length)
    if word == METRIC:
        return replace(state, at="measured", measured=True, length=length)
    if word in AGGREGATES or word == "raw":
        return replace(state, at="taken", measured=True, length=length)
    if word == "and":
        return replace(state, at="condition", length=length)
    return replace(state, at=_OPENS.get(word, "said"), section=_SECTION_AT[word], length=length)


_known = lru_cache(maxsize=10_000)  # lines of all questions stand in the same few states
RESULTS_LANGUAGE = ActionLanguage(
    RESULTS_WORDS, _POINTERS, MOST_ACTIONS, _known(_allowed), _known(_step), RESULTS_FEATURES, pointer_of
)  # fmt: skip

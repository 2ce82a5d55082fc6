"""The questions of the evaluation: what is asked, what a right answer is, and which of them are held out."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from mirror.evaluation.worlds import WORLDS
from mirror.runs.run_plan import Scalar

FOLDER = Path(__file__).parent / "questions"
HELD_OUT_OF = 3  # one in so many is held out
STATUSES = ("answered", "ambiguous", "refused", "action", "error")
_CHARTS = frozenset(("scatter", "line", "bar", "box", "histogram", "heatmap", "tiles", "table"))
_SEED = "held out"


class QuestionError(ValueError):
    """A question that cannot be used; the message says which and why."""


@dataclass(frozen=True)
class Gold:
    """One right answer, as SQL over the views and the named queries of `mirror.evaluation.databases`.

    Attributes:
        sql: the statement. A column whose name begins with `_` only tells rows apart.
        order: column and direction ("auc desc") in which the rows must come; empty where order means nothing.
        top: only the first so many of them, ties at the end in any choice.
        per: the first so many of each kind of work.
        pareto: the chart must draw the Pareto front.
        keys: further columns that only tell rows apart.
        aside: columns that an answer may do without.
        replicates: its column n counts replicates, without which an answer may do where it has another number.
        either_sign: columns that are a difference, which an answer may take the other way round.
        of: what it reads, which is kept to the values that an answer fixed and named.
    """

    sql: str
    order: str = ""
    top: int | None = None
    per: bool = False
    pareto: bool = False
    keys: frozenset[str] = frozenset()
    aside: frozenset[str] = frozenset()
    replicates: bool = False
    either_sign: frozenset[str] = frozenset()
    of: Literal["runs", "results"] = "runs"


@dataclass(frozen=True)
class PlanGold:
    """What a plan must be.

    Attributes:
        sweep: name of the ready sweep; empty for none.
        benchmark, methods, parameters: what the question names; a baseline may join the methods.
        seeds: how many; None where the question is silent.
        free: axes that the plan may set as it likes.
        default: axes among the parameters that are asked for at their default, so that a plan may leave them out.
    """

    sweep: str = ""
    benchmark: str = ""
    methods: tuple[str, ...] = ()
    parameters: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    seeds: int | None = None
    free: tuple[str, ...] = ()
    default: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        id: its name, never used again for another question.
        category: kind of question.
        ask: the words.
        expect: the right status.
        also: statuses that are as right; `empty` is an answer without rows.
        golds: right answers; one of them must be met.
        charts: kinds of chart that fit, beside tiles for a single row; empty where charts are not judged.
        after: the question before, which this one changes; empty for none.
        plan: for an action, what must be planned.
        worlds: names of the worlds that it is asked in; empty for all in which a gold has rows.
        held_out: whether nobody looks at it while the product is changed.
        silent: column -> the value that the golds take where the words do not name one. An answer that shows others
            too, in that column, is compared by its rows at this value.
    """

    id: str
    category: str
    ask: str
    expect: str = "answered"
    also: tuple[str, ...] = ()
    golds: tuple[Gold, ...] = ()
    charts: frozenset[str] = frozenset()
    after: str = ""
    plan: PlanGold | None = None
    worlds: tuple[str, ...] = ()
    held_out: bool = False
    silent: Mapping[str, Scalar] = field(default_factory=dict)


def load(folder: Path = FOLDER) -> tuple[Question, ...]:
    """All questions, in the order of the files. Raises QuestionError."""
    found: list[Question] = []
    for path in sorted(folder.glob("*.yaml")):
        found += _hold_out(_category(yaml.safe_load(path.read_text()), path.name))
    ids = [q.id for q in found]
    if again := sorted({i for i in ids if ids.count(i) > 1}):
        raise QuestionError(f"two questions are called {again[0]}: give one another id.")
    return tuple(found)


def _hold_out(questions: Iterable[Question]) -> list[Question]:
    """Of every three questions of a category, in their order, one is held out; a hash picks its place.

    So an appended question leaves the earlier ones as they are.
    """
    return [
        replace(q, held_out=place % HELD_OUT_OF == _pick(q.category, place // HELD_OUT_OF))
        for place, q in enumerate(questions)
    ]


def _pick(category: str, group: int) -> int:
    digest = hashlib.sha256(f"{_SEED}: {category} {group}".encode()).digest()
    return int.from_bytes(digest[:6], "big") % HELD_OUT_OF


def _category(entry: Any, file: str) -> list[Question]:
    try:
        shared = {"expect": entry.get("expect", "answered"), "charts": entry.get("charts", ())}
        return [_question({**shared, **given}, entry["category"]) for given in entry["questions"]]
    except (AttributeError, KeyError, TypeError) as error:
        raise QuestionError(f"{file} lacks a key or has one of another kind ({error!r}).") from error


_KEYS = {"id", "ask", "expect", "also", "gold", "charts", "after", "plan", "worlds"}


def _question(given: Mapping[str, Any], category: str) -> Question:
    name = given["id"]
    if unknown := sorted(set(given) - _KEYS):
        raise QuestionError(f"question {name} has the key {unknown[0]!r}: it may have {', '.join(sorted(_KEYS))}.")
    question = Question(
        id=name,
        category=category,
        ask=given["ask"],
        expect=given["expect"],
        also=tuple(given.get("also", ())),
        golds=tuple(gold for entry in given.get("gold", ()) for gold in _golds(entry)),
        charts=frozenset(given["charts"]),
        after=given.get("after", ""),
        plan=_plan(given["plan"]) if "plan" in given else None,
        worlds=tuple(given.get("worlds", ())),
    )
    if problem := _problem(question):
        raise QuestionError(f"question {name} {problem}.")
    return question


def _problem(question: Question) -> str:
    if question.expect not in STATUSES or not set(question.also) <= {*STATUSES, "empty"}:
        return f"expects a status that there is not: {question.expect}, {', '.join(question.also)}"
    if question.expect == "answered" and not question.golds:
        return "has no gold"
    if question.golds and not question.charts:
        return "has golds and no charts"
    if not question.charts <= _CHARTS:
        return f"names a chart that there is not: {', '.join(sorted(question.charts - _CHARTS))}"
    if (question.expect == "action") != (question.plan is not None):
        return "is an action without a plan, or the other way round"
    if unknown := set(question.worlds) - {w.name for w in WORLDS}:
        return f"names a world that there is not: {', '.join(sorted(unknown))}"
    return ""


def _golds(entry: str | Mapping[str, Any]) -> list[Gold]:
    """The golds of an entry: its SQL, or one for each text that stands for `{each}`."""
    if isinstance(entry, str):
        return [Gold(entry)]
    rest = {k: v for k, v in entry.items() if k not in ("sql", "each")}
    return [Gold(entry["sql"].replace("{each}", text), **rest) for text in entry.get("each", ("",))]


def _plan(entry: Mapping[str, Any]) -> PlanGold:
    parameters = {axis: tuple(values) for axis, values in entry.get("parameters", {}).items()}
    tuples = {k: tuple(entry.get(k, ())) for k in ("methods", "free", "default")}
    return PlanGold(entry.get("sweep", ""), entry.get("benchmark", ""), parameters=parameters,
                    seeds=entry.get("seeds"), **tuples)  # fmt: skip

"""The questions of the evaluation: what is asked, what a right answer is, and which of them are held out."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from db.columns import AXES
from mirror.evaluation.fixtures import SetName, fixtures
from mirror.evaluation.foreign_databases import ForeignDatabase, databases
from mirror.runs.run_plan import Scalar

FOLDER = Path(__file__).parent
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FILES = {"categories": "questions/*.yaml", "paraphrases": "paraphrases.yaml"}
_FORBID = ConfigDict(extra="forbid")

QuestionSet = SetName | Literal["foreign"]
Status = Literal["answered", "ambiguous", "refused", "action", "error"]
Chart = Literal["scatter", "line", "bar", "box", "histogram", "heatmap", "tiles", "table"]
Persona = Literal["", "researcher", "engineer", "newcomer", "stranger"]
PERSONAS = get_args(Persona)[1:4]

# What tells rows apart, or says more of a row. A method is what most questions are about, so an answer has to name it.
_KEY_COLUMNS = frozenset(
    (
        *AXES, "machine", "machine_id", "trial_id", "sweep", "status", "error", "started_at", "day", "week",
        "code_version", "stop_reason", "verdict",
    )
) - {"method"}  # fmt: skip
# Words that speak of a column of which most questions are silent.
_SPEAKS_OF = {"direction": r"\bfwd|forward|backward|\bdirection", "cache": r"\bcaches?\b|\bwarm|\bcold"}


class QuestionError(ValueError):
    """A question that cannot be used; the message says which and why."""


@dataclass(frozen=True)
class Gold:
    """One right answer, as SQL over the views and the named queries of `mirror.evaluation.golds`.

    Attributes:
        sql: the statement. A column whose name begins with `_` only tells rows apart.
        order: column and direction ("auc desc") in which the rows must come; empty where order means nothing.
        top: only the first so many of them, ties at the end in any choice.
        per: the first so many of each kind of work.
        pareto: the chart must draw the Pareto front.
        must: columns that an answer has to show although they tell rows apart; with it all others of that kind only
            tell rows apart, and a column n counts replicates. None where the names of the columns say all that.
        aside: columns that an answer may do without.
        either_sign: columns that are a difference, which an answer may take the other way round.
        of: what it reads, which is kept to the values that an answer fixed and named.
        flags: truth values, the numbers 1 and 0, and the words yes and no are the same: how a kind of file holds what
            is true, and how it is read, is not what is asked.
    """

    __pydantic_config__ = _FORBID

    sql: str
    order: str = ""
    top: int | None = None
    per: bool = False
    pareto: bool = False
    must: frozenset[str] | None = None
    aside: frozenset[str] = frozenset()
    either_sign: frozenset[str] = frozenset()
    of: Literal["runs", "results"] = "runs"
    flags: bool = False

    @property
    def keys(self) -> frozenset[str]:
        """Columns that only tell rows apart, beside those whose names begin with `_`."""
        return frozenset() if self.must is None else _KEY_COLUMNS - self.must

    @property
    def replicates(self) -> bool:
        """Whether its column n counts replicates, without which an answer may do where it has another number."""
        return self.must is not None and "n" not in self.must


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

    __pydantic_config__ = _FORBID

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
        fixtures: names of the fixtures that it is asked of; empty for all in which a gold has rows.
        persona: whose words they are; empty where nobody in particular asks.
        held_out: whether nobody looks at it while the product is changed.
        silent: column -> the value that the golds take where the words do not name one. An answer that shows others
            too, in that column, is compared by its rows at this value.
    """

    __pydantic_config__ = _FORBID

    id: str
    category: str
    ask: str
    expect: Status = "answered"
    also: tuple[Status | Literal["empty"], ...] = ()
    golds: tuple[Gold, ...] = ()
    charts: frozenset[Chart] = frozenset()
    after: str = ""
    plan: PlanGold | None = None
    fixtures: tuple[str, ...] = ()
    persona: Persona = ""
    held_out: bool = False
    silent: Mapping[str, Scalar] = field(default_factory=dict)


_READER = TypeAdapter(Question)
_OF_GOLDS = ("order", "top", "per", "pareto", "must", "aside", "either_sign", "of", "flags")


def load(of: QuestionSet = "categories", folder: Path = FOLDER) -> tuple[Question, ...]:
    """All questions of a set, in the order of the files. Raises QuestionError or ForeignError."""
    found: list[Question] = []
    if of == "foreign":
        found = [question for database in databases(folder / "foreign") for question in foreign_questions(database)]
    else:
        for path in sorted(folder.glob(_FILES[of])):
            found += _file(yaml.load(path.read_text(), _Loader), path.name, {f.name for f in fixtures(of)})
    ids = [q.id for q in found]
    if again := sorted({i for i in ids if ids.count(i) > 1}):
        raise QuestionError(f"two questions are called {again[0]}: give one another id.")
    return tuple(found)


def foreign_questions(database: ForeignDatabase) -> tuple[Question, ...]:
    """The questions of somebody else's database; a sealed one's are held out. Raises QuestionError."""
    shared = {"persona": "stranger", "fixtures": [database.name], "flags": True}
    try:
        found = _read({**shared, "questions": database.questions}, database.name, {database.name})
    except QuestionError:
        if not database.sealed:
            raise
        raise QuestionError(
            f"a question of {database.name} cannot be used (it is sealed, so no more is told)."
        ) from None
    return tuple(replace(q, held_out=database.sealed) for q in found)


def _file(file: Any, name: str, known: set[str]) -> list[Question]:
    """The questions of a file of the results."""
    return [replace(q, held_out=_is_held_out(q, place)) for place, q in enumerate(_read(file, name, known))]


def _read(file: Any, name: str, known: set[str]) -> list[Question]:
    """The questions of a file; what it says beside them holds for each that does not say otherwise."""
    try:
        shared = {k: v for k, v in file.items() if k not in ("about", "questions")}
        found = [_question({**shared, **given}) for given in file["questions"]]
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise QuestionError(f"{name}, {error.title}: {place}: {first['msg']}, not {first['input']!r}.") from error
    except (AttributeError, KeyError, TypeError) as error:
        raise QuestionError(f"{name} lacks a key or has one of another kind ({error!r}).") from error
    for question in found:
        if problem := _problem(question, known):
            raise QuestionError(f"question {question.id} {problem}.")
    return found


def _question(given: dict[str, Any]) -> Question:
    shared = {k: given.pop(k) for k in _OF_GOLDS if k in given}
    golds = [gold for entry in given.pop("golds", ()) for gold in _golds(entry, shared)]
    silent = given.pop("silent", {})
    given["silent"] = {c: v for c, v in silent.items() if not re.search(_SPEAKS_OF[c], given["ask"], re.IGNORECASE)}
    return _READER.validate_python({**given, "golds": golds})


def _golds(entry: str | Mapping[str, Any], shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The golds of an entry: its SQL, or one for each text that stands for `{each}`."""
    if isinstance(entry, str):
        return [{"sql": entry, **shared}]
    rest = {k: v for k, v in entry.items() if k not in ("sql", "each")}
    return [{**shared, **rest, "sql": entry["sql"].replace("{each}", text)} for text in entry.get("each", ("",))]


def _problem(question: Question, known: set[str]) -> str:
    """What is wrong with a question beyond the kinds of its parts; empty where nothing is."""
    if question.expect == "answered" and not question.golds:
        return "has no gold"
    if question.golds and question.persona and question.expect != "answered":
        return "has golds and expects no answer"
    if question.golds and not question.charts and not question.persona:
        return "has golds and no charts"
    if (question.expect == "action") != (question.plan is not None):
        return "is an action without a plan, or the other way round"
    if unknown := set(question.fixtures) - known:
        return f"names a fixture that there is not: {', '.join(sorted(unknown))}"
    return ""


def _is_held_out(question: Question, place: int) -> bool:
    """Of a persona's questions a hash of the id holds out half; of others one of every three in their order.

    A hash picks the place among three, so an appended question leaves the earlier ones as they are.
    """
    if question.persona:  # "voices", what personas were called when the halves were drawn
        return hashlib.sha256(f"voices: {question.id}".encode()).digest()[0] % 2 == 1
    digest = hashlib.sha256(f"held out: {question.category} {place // 3}".encode()).digest()
    return place % 3 == int.from_bytes(digest[:6], "big") % 3

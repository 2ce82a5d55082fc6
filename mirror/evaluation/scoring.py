"""What an answer is worth: right, wrong, refused, asked back or an error, and whether its chart fits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from mirror.answer.answer import Answer
from mirror.evaluation.questions import Gold, PlanGold, Question
from mirror.evaluation.same_rows import difference
from mirror.runs.run_plan import RunPlan, Scalar
from mirror.table.table import Table, plain_table
from mirror.table.values import Value

Verdict = Literal["right", "wrong", "refused", "asked back", "error"]
# From the worst: what a question is worth of several fixtures is what it is worth in the worst one.
VERDICTS: tuple[Verdict, ...] = ("wrong", "error", "refused", "asked back", "right")
# Axes that an answer may keep to one value where the question leaves them open, if it says so.
FIXABLE = frozenset(
    (
        "split", "device", "dtype", "threads", "num_tables", "num_rows", "embedding_dim", "optimizer", "pooling_mode",
        "bag_size", "bag_sizes", "batch_size", "direction", "structure", "model", "zipf_s", "cache", "output",
    )
)  # fmt: skip
_BASELINES = ("dense", "eager")


class GoldTables(Protocol):
    """Whatever knows the rows of golds: of the results, or of somebody else's database."""

    def table(
        self, sql: str, fixed: Mapping[str, Value] | None = None, of: Literal["runs", "results"] = "runs", /
    ) -> Table:
        """The rows of a gold."""


@dataclass(frozen=True)
class Outcome:
    """One answer, scored.

    Attributes:
        question: id of the question.
        fixture: what it was asked of.
        verdict: what it is worth.
        why: in a few words, why it is not right; empty where it is.
        chart: whether the chart fits; None where the answer has no rows or is not right.
        chart_why: why it does not.
        narrowed: whether it is right for the values that it fixed and named, and left others out.
        response: status and reading or message of the answer, for the list of failures.
        at_once: whether it was an answer, right or wrong, and neither a refusal nor a question back.
        among: of a question back where there is an answer, whether one of its choices leads to it; None of others.
    """

    question: str
    fixture: str
    verdict: Verdict
    why: str = ""
    chart: bool | None = None
    chart_why: str = ""
    narrowed: bool = False
    response: str = ""
    at_once: bool = False
    among: bool | None = None


class GoldAnswers:
    """The right rows of a question in one database, each gold run once."""

    def __init__(self, question: Question, golds: GoldTables) -> None:
        self.question = question
        self._golds = golds
        self._tables = [_asked_for(g, golds.table(g.sql)) for g in question.golds]

    @property
    def answerable(self) -> bool:
        """Whether a gold has rows."""
        return any(t.rows for t in self._tables)

    def why_not(self, answer: Answer) -> tuple[str, bool]:
        """Why an answer with rows is not right, empty where it is; and whether it is right only for what it fixed."""
        assert answer.table
        why = self._nearest(self._tables, answer)
        if not why:
            return "", False
        if fixed := _fixed(answer):
            narrowed = [_asked_for(g, self._golds.table(g.sql, fixed, g.of)) for g in self.question.golds]
            return ("", True) if not self._nearest(narrowed, answer) else (why, False)
        return why, False

    def _nearest(self, tables: Sequence[Table], answer: Answer) -> str:
        """Empty where one gold is met, else why the first is not."""
        assert answer.table
        whole, first = answer.table, ""
        cut = _at(whole, self.question.silent)
        for gold, right in zip(self.question.golds, tables, strict=True):
            why = _why_not(gold, right, answer, whole)
            if not why or (cut != whole and not _why_not(gold, right, answer, cut)):
                return ""
            first = first or why
        return first


def _asked_for(gold: Gold, table: Table) -> Table:
    """The rows of a gold with what its columns are there for: `_` before those that only tell rows apart."""
    numbers = [c for c in table.names if c not in gold.keys and c != "method"]
    aside = gold.aside | ({"n"} if gold.replicates and numbers != ["n"] else set())
    kept = [i for i, c in enumerate(table.names) if c not in aside]
    names = [table.names[i] for i in kept]
    marked = [f"_{c}" if c in gold.keys else c for c in names]
    if len(table.rows) == 1 and all(c.startswith("_") for c in marked):
        marked = names  # nothing tells one row apart: it is what was asked for
    return plain_table(marked, [tuple(row[i] for i in kept) for row in table.rows])


def _at(table: Table, silent: Mapping[str, Value]) -> Table:
    """The rows at the values that are meant where the words name none, of columns that show others too."""
    rows = table.rows
    for column, value in silent.items():
        if column in table.names:
            at = table.names.index(column)
            rows = tuple(row for row in rows if row[at] is None or row[at] == value)
    return replace(table, rows=rows)


def _why_not(gold: Gold, right: Table, answer: Answer, table: Table) -> str:
    if not right.rows:
        return "no row is right here"
    if table.truncated:
        return "the answer was cut off"
    if gold.pareto and not (answer.chart and answer.chart.pareto):
        return "no Pareto front is drawn"
    why = difference(gold, right, table)
    if why and gold.either_sign and not difference(gold, _turned(gold, right), table):
        return ""
    return why


def _turned(gold: Gold, table: Table) -> Table:
    """The rows with their differences taken the other way round."""
    turned = [c in gold.either_sign for c in table.names]
    return replace(
        table,
        rows=tuple(
            tuple(-x if t and isinstance(x, int | float) else x for t, x in zip(turned, row, strict=True))
            for row in table.rows
        ),
    )


def _fixed(answer: Answer) -> dict[str, Value]:
    """Open axes that the answer keeps to one value and says so."""
    shown = f"{answer.read_as} {answer.summary}"
    equal = [f for f in (answer.spec.filters if answer.spec else ()) if f.column in FIXABLE and f.operator == "="]
    return {f.column: f.values[0] for f in equal if _is_shown(f.values[0], shown)}


def _is_shown(value: Value, text: str) -> bool:
    forms = [str(value)] if isinstance(value, str | bool) else [f"{value:g}", f"{value:,}", str(value)]
    return any(form in text for form in forms)


def score(golds: GoldAnswers, answer: Answer, fixture: str) -> Outcome:
    """One answer to one question of one fixture."""
    question = golds.question
    response = f"{answer.status}: {answer.read_as or answer.summary}"

    def outcome(verdict: Verdict, why: str = "", narrowed: bool = False) -> Outcome:
        chart_why = None
        if verdict == "right" and answer.table and answer.table.rows and question.charts:
            chart_why = _chart_problem(question, answer)
        return Outcome(
            question.id, fixture, verdict, why, None if chart_why is None else not chart_why, chart_why or "",
            narrowed, "" if verdict == "right" and not chart_why else response, answer.status == "answered",
        )  # fmt: skip

    accepted = {question.expect, *question.also}
    rows = answer.table.rows if answer.table else ()
    if answer.status == "answered":
        if not rows and "empty" in accepted:
            return outcome("right")
        if not question.golds:
            return outcome("wrong", f"it was answered, where {question.expect} is right")
        if not rows:
            return outcome("wrong", "it has no rows")
        why, narrowed = golds.why_not(answer)
        return outcome("wrong", why) if why else outcome("right", narrowed=narrowed)
    if answer.status == "action":
        if not question.plan:
            return outcome("wrong", f"it is a plan, where {question.expect} is right")
        why = plan_problem(question.plan, answer.plan)
        return outcome("wrong", why) if why else outcome("right")
    if answer.status == "ambiguous":
        if "ambiguous" not in accepted:
            return outcome("asked back", f"it was asked back, where {question.expect} is right")
        if len(answer.suggestions) < 2:
            return outcome("asked back", "the question back offers no choices")
        return outcome("right")
    if answer.status in accepted:
        return outcome("right")
    verdict: Verdict = "refused" if answer.status == "refused" else "error"
    return outcome(verdict, f"{verdict}, where {question.expect} is right")


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """What several verdicts come to."""
    return min(verdicts, key=VERDICTS.index)


def _chart_problem(question: Question, answer: Answer) -> str:
    """Why the chart does not fit; empty where it does."""
    chart, table = answer.chart, answer.table
    assert table
    if chart is None:
        return "there is no chart and no word why"
    if chart.type == "tiles" and len(table.rows) == 1:
        return ""
    if chart.type == "table" and not chart.reason:
        return "there is no chart and no reason why"
    if chart.type not in question.charts:
        return f"{chart.type}, where {', '.join(sorted(question.charts))} would fit"
    return ""


def plan_problem(gold: PlanGold, plan: RunPlan | None) -> str:
    """Why a plan is not what was asked for; empty where it is.

    A baseline may join the methods, and the axes in `free` may be set; anything else that nobody asked for is wrong.
    """
    if plan is None:
        return "there is no plan"
    if gold.sweep != plan.sweep:
        return f"the sweep is {plan.sweep or 'none'}, not {gold.sweep or 'none'}"
    if gold.benchmark and gold.benchmark != plan.benchmark:
        return f"the benchmark is {plan.benchmark or 'none'}, not {gold.benchmark}"
    missing = [m for m in gold.methods if m not in plan.methods]
    strange = [m for m in plan.methods if m not in (*gold.methods, *_BASELINES)]
    if gold.methods and (missing or strange):
        return f"the methods are {', '.join(plan.methods)}, not {', '.join(gold.methods)}"
    planned = dict(plan.parameters)
    for axis, values in gold.parameters.items():
        if axis in gold.default and axis not in planned:
            continue
        if not _same_values(values, planned.pop(axis, ())):
            return f"{axis} is {dict(plan.parameters).get(axis, 'not set')}, not {values}"
    if extra := sorted(set(planned) - set(gold.free)):
        return f"{extra[0]} is set, which nobody asked for"
    if gold.seeds is not None and gold.seeds != plan.seeds:
        return f"it has {plan.seeds} seeds, not {gold.seeds}"
    return ""


def _same_values(wanted: Sequence[Scalar], planned: Sequence[Scalar]) -> bool:
    return len(wanted) == len(planned) and set(wanted) == set(planned)

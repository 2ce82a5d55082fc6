"""What an answer is worth, also one that is right by luck of one fixture only."""

from dataclasses import replace
from typing import Any

import pytest

from mirror.answer.answer import Answer
from mirror.chart.chart_spec import ChartSpec
from mirror.evaluation.golds import Golds
from mirror.evaluation.questions import Gold, PlanGold, Question
from mirror.evaluation.runner import Scored
from mirror.evaluation.scoring import GoldAnswers, Outcome, plan_problem, score, worst
from mirror.query.spec import Filter, Metric, QuerySpec
from mirror.runs.run_plan import RunPlan
from mirror.schema.result_columns import result_table
from mirror.table.table import Table

BARS = frozenset({"bar"})
BEST = (
    "SELECT method, auc, {rest} FROM cfg WHERE dataset = 'frappe' AND compression = 0.1 AND embedding_dim = 16 "
    "QUALIFY rank() OVER (ORDER BY auc DESC) = 1"
)
QUESTION = Question("q", "test", "best AUC on frappe at 0.1, dim 16", golds=(Gold(BEST),), charts=BARS)
TWO = ("alpha", "gamma")  # of which the first has the winner that a lucky query names


def answered(table: Table, chart: str = "bar", **more: object) -> Answer:
    return Answer("answered", "?", table=table, chart=ChartSpec(chart), **more)  # type: ignore[arg-type]


def of(question: Question, answer: Answer, golds: dict[str, Golds], fixture: str = "alpha") -> Outcome:
    return score(GoldAnswers(question, golds[fixture]), answer, fixture)


def test_an_answer_that_is_right_by_luck_is_wrong(golds: dict[str, Golds]) -> None:
    """A query that always names alpha's winner is right in alpha alone."""
    outcomes = []
    for fixture in TWO:
        lucky = golds[fixture].table("SELECT method, auc FROM cfg WHERE dataset = 'frappe' AND method = 'fiited' AND "
                                   "compression = 0.1 AND embedding_dim = 16 AND num_chunks = 4")  # fmt: skip
        outcomes.append(of(QUESTION, answered(lucky), golds, fixture))
    assert [o.verdict for o in outcomes] == ["right", "wrong"]
    assert Scored(QUESTION, tuple(outcomes), (0.1, 0.1)).verdict == "wrong"


def test_a_right_answer_of_all_fixtures(golds: dict[str, Golds]) -> None:
    outcomes = [of(QUESTION, answered(golds[fixture].table(BEST)), golds, fixture) for fixture in TWO]
    assert [(o.verdict, o.chart, o.why) for o in outcomes] == [("right", True, "")] * 2


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (Answer("refused", "?", summary="No."), "refused"),
        (Answer("ambiguous", "?", suggestions=("a", "b")), "asked back"),
        (Answer("error", "?", summary="Broken."), "error"),
        (Answer("action", "?", plan=RunPlan("quick")), "wrong"),
        (answered(result_table(("method",), ())), "wrong"),
        (answered(result_table(("method", "auc"), (("dense", 0.5),))), "wrong"),
    ],
)
def test_what_is_not_right(answer: Answer, verdict: str, golds: dict[str, Golds]) -> None:
    outcome = of(QUESTION, answer, golds)
    assert outcome.verdict == verdict
    assert outcome.why
    assert outcome.chart is None


def test_refusals_and_questions_back(golds: dict[str, Golds]) -> None:
    unanswerable, ambiguous = Question("q", "t", "?", "refused"), Question("q", "t", "?", "ambiguous")
    refusal, choices = Answer("refused", "?"), Answer("ambiguous", "?", suggestions=("a", "b"))
    rows = answered(result_table(("n",), ((1,),)))
    assert of(unanswerable, refusal, golds).verdict == "right"
    assert of(unanswerable, choices, golds).verdict == "asked back"
    assert of(unanswerable, rows, golds).verdict == "wrong"
    assert of(ambiguous, choices, golds).verdict == "right"
    assert of(ambiguous, replace(choices, suggestions=("a",)), golds).verdict == "asked back"
    assert of(ambiguous, refusal, golds).verdict == "refused"
    assert of(ambiguous, rows, golds).verdict == "wrong"
    empty = answered(result_table(("n",), ()))
    assert of(unanswerable, empty, golds).verdict == "wrong"
    assert of(replace(unanswerable, also=("empty",)), empty, golds).verdict == "right"


def test_a_chart_that_does_not_fit(golds: dict[str, Golds]) -> None:
    right = golds["alpha"].table(BEST)
    chosen = replace(QUESTION, charts=frozenset({"bar", "table"}))
    assert of(chosen, answered(right, "line"), golds).chart is False
    assert of(chosen, answered(right, "tiles"), golds).chart is True  # one row
    assert of(chosen, answered(right, "table"), golds).chart is False  # no reason
    reasoned = replace(answered(right), chart=ChartSpec("table", reason="One row of words."))
    assert of(chosen, reasoned, golds).chart is True
    assert of(QUESTION, reasoned, golds).chart is False
    assert of(chosen, replace(answered(right), chart=None), golds).chart is False


def test_an_axis_that_is_open_may_be_fixed_and_named(golds: dict[str, Golds]) -> None:
    sql = "SELECT latency_us, {rest} FROM cfg WHERE benchmark = 'lookup' AND method = 'inductor' AND batch_size = 64"
    question = Question("q", "t", "latency of inductor lookups at batch 64", golds=(Gold(sql),), charts=BARS)
    narrow = golds["alpha"].table(sql, {"direction": "forward"})
    spec = QuerySpec("groups", (Metric("latency_us"),), filters=(Filter("direction", "=", ("forward",)),))
    said = answered(narrow, spec=spec, read_as="latency · direction = forward · direction as usual")
    assert of(question, said, golds).narrowed
    assert of(question, said, golds).verdict == "right"
    assert of(question, replace(said, read_as="latency"), golds).verdict == "wrong"  # it does not say so
    assert of(question, replace(said, spec=None), golds).verdict == "wrong"
    # A method is never an axis that may be fixed.
    fixed = replace(spec, filters=(Filter("method", "=", ("inductor",)),))
    both = replace(question, golds=(Gold(sql.replace("method = 'inductor' AND ", "")),))
    table = golds["alpha"].table(sql)
    assert of(both, answered(table, spec=fixed, read_as="method = inductor"), golds).verdict == "wrong"


def test_a_front_that_must_be_drawn(golds: dict[str, Golds]) -> None:
    sql = "SELECT method, memory_mb, auc FROM runs WHERE dataset = 'frappe'"
    question = Question("q", "t", "?", golds=(Gold(sql, pareto=True),), charts=frozenset({"scatter"}))
    points = answered(golds["alpha"].table(sql), "scatter")
    assert of(question, points, golds).verdict == "wrong"
    drawn = replace(points, chart=ChartSpec("scatter", pareto=True))
    assert of(question, drawn, golds).verdict == "right"


BATCHES = (("batch_size", (64, 512)),)
HASHED = {"benchmark": "lookup", "methods": ("hashed",)}


@pytest.mark.parametrize(
    ("plan", "right"),
    [
        ({**HASHED, "parameters": BATCHES}, True),
        ({**HASHED, "methods": ("dense", "hashed"), "parameters": (("batch_size", (512, 64)),)}, True),
        ({**HASHED, "parameters": (*BATCHES, ("compression", (0.1,)))}, True),
        ({**HASHED, "parameters": (("batch_size", (64,)),)}, False),
        ({**HASHED, "parameters": (*BATCHES, ("threads", (2,)))}, False),
        ({**HASHED, "methods": ("hashed", "inductor"), "parameters": BATCHES}, False),
        ({**HASHED, "methods": ("dense",), "parameters": BATCHES}, False),
        ({**HASHED, "benchmark": "training", "parameters": BATCHES}, False),
        ({**HASHED, "sweep": "quick", "parameters": BATCHES}, False),
        ({}, False),
    ],
)
def test_plans(plan: dict[str, Any], right: bool) -> None:
    gold = PlanGold(
        benchmark="lookup", methods=("hashed",), parameters={"batch_size": (64, 512)}, free=("compression",)
    )
    assert (plan_problem(gold, RunPlan(**plan)) == "") is right


def test_a_default_may_be_left_out() -> None:
    gold = PlanGold(benchmark="lookup", methods=("hashed",), parameters={"batch_size": (512,)}, default=("batch_size",))
    assert plan_problem(gold, RunPlan(**HASHED)) == ""
    assert "batch_size is (64,)" in plan_problem(gold, RunPlan(**HASHED, parameters=(("batch_size", (64,)),)))


def test_no_plan() -> None:
    assert "no plan" in plan_problem(PlanGold("quick"), None)


def test_seeds_of_a_plan() -> None:
    assert "1 seeds, not 3" in plan_problem(PlanGold("quick", seeds=3), RunPlan("quick", seeds=1))
    assert plan_problem(PlanGold("quick"), RunPlan("quick", seeds=2)) == ""


def test_the_worst_counts() -> None:
    assert worst(["right", "refused", "wrong"]) == "wrong"
    assert worst(["right", "asked back", "refused"]) == "refused"
    assert worst(["right", "right"]) == "right"

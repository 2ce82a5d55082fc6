"""What to use for a budget: which questions ask it, and the search that it leads to, which nobody has started."""

import json
import shlex
from pathlib import Path

import pytest

from bench_engine.command.cli import parser
from mirror.answer import results
from mirror.answer.answering import ask
from mirror.data.process.sandbox import Sandbox
from mirror.language.requests import actions, budget_words
from mirror.language.requests.budget_words import Budget
from mirror.query.errors import Refusal
from mirror.runs import jobs
from mirror.runs.run_plan import RunPlan
from mirror.schema.profile import Profile

READ = json.loads(Path(__file__).with_name("questions_read.json").read_text())
SWEEP = """# What to use
benchmark: training
methods: [int8_qr, dense]
parameters: {dataset: {value: frappe}, split: {value: validation}, compression: {values: [0.1]}}
seeds: 1
---
benchmark: training
methods: [small_dim]
parameters: {dataset: {value: frappe}, split: {value: validation}, compression: {values: [0.0625]}}
seeds: 1
---
benchmark: training
methods: [int8_qr]
parameters: {dataset: {value: frappe}, split: {value: validation}, compression: {values: [0.05, 0.2]}}
seeds: 1
"""
FITS = {"dense_fits": False, "dense_mb": 0.344448, "embedding_dim": 16, "sweep": SWEEP}
NOTHING = jobs.Options((), (), tuple(jobs.DataSetOption(name, "", "") for name in ("frappe", "ml-206k")), ())


@pytest.mark.parametrize(
    ("question", "budget"),
    [
        ("What should I use for 2 MB on frappe?", Budget("frappe", 2.0)),
        ("what should we use within 0.5MB for the data set ml-206k", Budget("ml-206k", 0.5)),
        ("Which embedding should I use on frappe under 50 kB?", Budget("frappe", 0.05)),
        ("which embedding table can I use for .1 mb on frappe", Budget("frappe", 0.1)),
        ("what should I use for 2 MB on my data?", Budget("data", 2.0)),
    ],
)
def test_a_budget_and_data_are_read(question: str, budget: Budget) -> None:
    assert budget_words.read(question) == budget


@pytest.mark.parametrize(
    "question",
    [
        "best embedding under 1 MB for ml-206k",
        "which method has the best AUC under 2 MB on frappe",
        "what should I use on frappe",
        "what should I use for 2 MB",
        "what should I use for 2 MB on frappe with the best AUC",
        "which method uses 2 MB on frappe",
    ],
)
def test_other_questions_are_none(question: str) -> None:
    assert budget_words.read(question) is None


def test_no_plain_question_about_the_results_is_taken_for_one() -> None:
    assert len(READ) > 100
    assert [question["ask"] for question in READ if budget_words.read(question["ask"])] == []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the engine is asked; it answers with a plan of 0.1, 0.05 and 0.2 of the dense bytes."""
    said: list[list[str]] = []

    def answer(arguments: list[str]) -> dict:
        said.append(arguments)
        return FITS

    monkeypatch.setattr(jobs, "_ask", answer)
    return said


def test_it_leads_to_the_plan_of_a_search(asked: list[list[str]]) -> None:
    plan = actions.read("what should I use for 0.034 MB on frappe", Profile(), NOTHING)
    assert plan == RunPlan(
        benchmark="training",
        methods=("int8_qr", "dense"),
        parameters=(("dataset", ("frappe",)), ("split", ("validation",)), ("compression", (0.1, 0.05, 0.2))),
        seeds=1,
        notes=plan.notes,
        budget=("frappe", 0.034),
    )
    assert "never on the test part" in plan.notes[0]
    assert "also trains small_dim" in plan.notes[1]
    assert plan.command == "python -m bench_engine suggest frappe --budget-mb 0.034"
    assert parser().parse_args(shlex.split(plan.command)[3:]).budget_mb == 0.034
    assert "in training, to see what to use for 0.034 MB on frappe, data set frappe" in plan.words
    assert asked == [["suggest", "frappe", "--budget-mb", "0.034", "--plan", "--format", "json"]]


def test_data_that_are_not_known_are_read_as_before(asked: list[list[str]]) -> None:
    assert actions.read("what should I use for 2 MB on mars", Profile(), NOTHING) is None
    assert asked == []


def test_data_of_ones_own_are_told_the_command() -> None:
    with pytest.raises(Refusal, match="bench_engine suggest FILE --label COLUMN --budget-mb 2"):
        actions.read("what should I use for 2 MB on my data", Profile(), NOTHING)


def test_a_budget_that_dense_keeps_needs_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_ask", lambda _arguments: {**FITS, "dense_fits": True, "sweep": ""})
    with pytest.raises(Refusal, match=r"a dense float32 table of frappe takes 0.3444 of 2 MB at dimension 16"):
        actions.read("what should I use for 2 MB on frappe", Profile(), NOTHING)


def test_what_a_search_has_measured_is_offered() -> None:
    plan = RunPlan(budget=("frappe", 0.03))
    measured = Profile(distinct={"split": ("test", "validation"), "dataset": ("frappe",)})
    assert results._measured(plan, measured) == ("memory vs AUC on frappe for split validation",)
    assert results._measured(RunPlan("quick"), measured) == ()
    assert results._measured(RunPlan(budget=("anime", 0.03)), measured) == ()
    assert results._measured(plan, Profile(distinct={"split": ("test",), "dataset": ("frappe",)})) == ()


def test_the_engine_plans_it(box: Sandbox) -> None:
    """The question as it is asked, to the engine and back; nothing is started, and what is measured can be asked."""
    answer = ask("what should I use for 1 MB on synthetic?", sandbox=box)
    assert answer.status == "action", answer.summary
    assert answer.plan
    assert {"int8_qr", "field_budget", "dense"} <= set(answer.plan.methods)
    parameters = dict(answer.plan.parameters)
    assert parameters["split"] == ("validation",)
    assert parameters["compression"] == (0.2604, 0.1302, 0.5208)
    form, unknown = jobs.form_of(answer.plan, jobs.options())
    assert (form["form_training_split"], unknown) == (["validation"], ())
    assert answer.suggestions == (), "no trial of these results was chosen on a validation part"

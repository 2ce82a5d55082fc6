"""Requests to run something -> plans; each plan's command line is one that the engine can plan."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from db.installation import ROOT
from mirror.language.requests import actions
from mirror.query.errors import Ambiguity, Refusal
from mirror.runs import jobs
from mirror.runs.jobs import JobError, Options
from mirror.runs.run_plan import RunPlan
from mirror.schema.profile import Profile


@pytest.fixture(scope="module")
def options() -> Options:
    """What the engine of this repository can run."""
    return jobs.options()


def plan_of(question: str, options: Options, profile: Profile | None = None) -> RunPlan:
    plan = actions.read(question, profile or Profile(), options)
    assert plan is not None, f"“{question}” is no request"
    return plan


def parts(plan: RunPlan) -> dict[str, Any]:
    notes = " | ".join(plan.notes)
    return {**{k: v for k, v in vars(plan).items() if v}, "parameters": dict(plan.parameters), "notes": notes}


PLANS: list[tuple[str, dict[str, Any]]] = [
    ("run fiited at sparsity 0.3 on frappe", {"parameters": {"compression": (0.7,), "dataset": ("frappe",)}}),
    ("run fiited at 80 percent on frappe", {"parameters": {"compression": (0.8,), "dataset": ("frappe",)}}),
    ("run fiited at keep ratio 0.8 on frappe", {"parameters": {"compression": (0.8,), "dataset": ("frappe",)}}),
    (
        "run fiited at 0.95 on ML-206k",
        {
            "benchmark": "training",
            "methods": ("fiited", "dense"),
            "baseline": "dense",
            "parameters": {"compression": (0.05,), "dataset": ("ml-206k",)},
            "notes": "0.95 is taken as the pruning ratio: compression 0.05",
        },
    ),
    (
        "benchmark hashed against dense at dim 64 batch 2048 on 1 thread",
        {
            "benchmark": "lookup",
            "methods": ("hashed", "dense"),
            "parameters": {"embedding_dim": (64,), "batch_size": (2048,), "threads": (1,)},
            "notes": "benchmark lookup, since none is named",
        },
    ),
    (
        "measure qr at compression 0.05 and 0.1, 3 seeds",
        {"methods": ("quotient_remainder", "dense"), "parameters": {"compression": (0.05, 0.1)}, "seeds": 3},
    ),
    ("rerun the quick sweep", {"sweep": "quick", "again": True}),
    ("start memory_vs_auc with batch_size=512", {"sweep": "memory_vs_auc", "parameters": {"batch_size": (512,)}}),
    ("please benchmark hashed", {"benchmark": "lookup", "methods": ("hashed", "dense"), "seeds": 1}),
    ("can you run the tiny sweep?", {"sweep": "tiny"}),
    ("Could you please launch the sweep fiited_quality", {"sweep": "fiited_quality"}),
    ("run memory vs auc", {"sweep": "memory_vs_auc"}),
    ("run lookup", {"sweep": "lookup"}),
    ("run lookup at dim 64", {"sweep": "lookup", "parameters": {"embedding_dim": (64,)}}),
    ("start the memory_vs_auc sweep with 5 seeds", {"sweep": "memory_vs_auc", "seeds": 5}),
    ("launch lookup with batch_size=64,512 seeds=2", {"parameters": {"batch_size": (64, 512)}, "seeds": 2}),
    ("start lookup with methods=dense,hashed", {"sweep": "lookup", "methods": ("dense", "hashed")}),
    ("retry the failed trials of memory_vs_auc", {"sweep": "memory_vs_auc", "retry_failed": True}),
    ("run parallel_op", {"sweep": "parallel_op"}),
    (
        "run parallel_op at batch 64",
        {"benchmark": "grouped_lookup", "methods": ("parallel_op", "eager"), "baseline": "eager"},
    ),
    ("run lookup of hashed at dim 64", {"benchmark": "lookup", "methods": ("hashed", "dense")}),
    (
        "run a quick look at hashed lookups at dim 16",
        {"benchmark": "lookup", "quick": True, "parameters": {"embedding_dim": (16,)}},
    ),
    (
        "train fiited on ml-206k at 0.05 and 0.1 with 8 chunks",
        {
            "benchmark": "training",
            "parameters": {"dataset": ("ml-206k",), "compression": (0.05, 0.1), "num_chunks": (8,)},
        },
    ),
    (
        "re-measure hashed lookups with cold caches at dim 64 and 5 % kept",
        {"again": True, "parameters": {"cache": ("cold",), "embedding_dim": (64,), "compression": (0.05,)}},
    ),
    (
        "time a whole step of fiited and dense with sgd at batch 64",
        {
            "benchmark": "embedding_step",
            "parameters": {"direction": ("forward_backward_update",), "optimizer": ("sgd",), "batch_size": (64,)},
        },
    ),
    ("run adaembed with pruning ratio 0.9 on frappe", {"parameters": {"compression": (0.1,), "dataset": ("frappe",)}}),
    ("run fiited at compression 0.95 on frappe", {"parameters": {"compression": (0.95,), "dataset": ("frappe",)}}),
    ("run fiited and hashed on frappe at 0.1", {"parameters": {"dataset": ("frappe",), "compression": (0.1,)}}),
    ("run the AUC of hashed at 0.1", {"benchmark": "training", "parameters": {"compression": (0.1,)}}),
    ("run fiited twice on frappe", {"seeds": 2, "parameters": {"dataset": ("frappe",)}}),
    ("run hashed at 95 % pruned on frappe", {"parameters": {"compression": (0.05,), "dataset": ("frappe",)}}),
    ("run hashed 10x smaller", {"methods": ("hashed", "dense"), "parameters": {"compression": (0.1,)}}),
    ("run parallel_op vs eager at 8 and 26 tables", {"parameters": {"num_tables": (8, 26)}, "baseline": "eager"}),
    ("let's benchmark hashd at d=64", {"parameters": {"embedding_dim": (64,)}, "notes": "read “hashd” as “hashed”"}),
    ("benchmark qr against hashed at dim 16", {"methods": ("quotient_remainder", "hashed"), "baseline": "hashed"}),
]


@pytest.mark.parametrize(("question", "expected"), PLANS, ids=[q for q, _ in PLANS])
def test_requests_become_plans(question: str, expected: dict[str, Any], options: Options) -> None:
    found = parts(plan_of(question, options))
    assert expected.get("notes", "") in found["notes"]
    assert {k: found[k] for k in expected if k != "notes"} == {k: v for k, v in expected.items() if k != "notes"}


@pytest.mark.parametrize(
    "question",
    [
        "how many runs failed",
        "compare the runs of hashed",
        "training runs of fiited",
        "runs of hashed by method",
        "run time by method",
        "runtime of hashed",
        "time by method",
        "time of lookups by batch size",
        "training time of hashed",
        "benchmark results of hashed",
        "latency by benchmark",
        "benchmark by method",
        "start time of the newest trials",
        "train loss of hashed",
        "time a lookup of hashed takes by batch size",
        "run count by method",
        "how do I run the quick sweep?",
        "which method runs fastest?",
        "and for 0.05?",
        "",
    ],
)
def test_questions_are_no_requests(question: str) -> None:
    """And the engine is not asked for them: there are no options to be had here."""
    assert actions.read(question, Profile(), Options((), (), (), ())) is None


def test_the_engine_is_asked_for_requests_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Options:
        raise JobError("The engine cannot be started: no room.")

    monkeypatch.setattr(jobs, "options", broken)
    assert actions.read("AUC by method", Profile()) is None
    with pytest.raises(Refusal, match="The engine cannot be started"):
        actions.read("run hashed", Profile())


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("run purple", ("“purple”", "quotient_remainder", "lookup", "ml-206k")),
        ("run hashed on mars", ("“mars”", "data sets")),
        ("run the nightly sweep", ("no ready sweep “nightly”", "quick")),
        ("run", ("name methods", "quick")),
        ("run it again", ("name methods",)),
        ("run lookups", ("name methods",)),
        ("run hashed at dim 0", ("dim goes from 1 to 4,096",)),
        ("run hashed at compression 1e-9", ("compression goes from",)),
        ("run hashed on the gpu", ("device cannot be chosen", "dim")),
        ("run hashed with 8 chunks", ("hashed has no chunks", "fiited")),
        ("run hashed and parallel_op", ("No benchmark runs hashed and parallel_op", "grouped_lookup")),
        ("run parallel_op in training", ("training does not run parallel_op", "fiited")),
        ("run jax on frappe", ("data set cannot be chosen in lookup",)),
        ("run hashed at 64", ("“64”", "batch size")),
        ("run hashed at every compression", ("at which compression", "0.05")),
        ("run hashed by batch size", ("at which batch size",)),
        ("run hashed with batch sizes from 64 to 512", ("no limits",)),
        ("run the fastest method", ("names and values",)),
        ("run hashed since monday", ("names and values",)),
        ("run hashed with 1000 seeds", ("1 to 100 seeds",)),
        ("run hashed with seed 7", ("how many",)),
        ("run hashed with seeds 1, 2 and 4", ("how many",)),
        ("run hashed seeds=0,1,2", ("how many",)),
        ("run hashed in lookup and training", ("one benchmark",)),
        ("start quick with batch_size=0", ("batch size goes from",)),
        ("start quick with purple=3", ("purple",)),
    ],
)
def test_what_cannot_be_run_is_refused_with_what_can(question: str, words: tuple[str, ...], options: Options) -> None:
    with pytest.raises(Refusal) as refused:
        actions.read(question, Profile(), options)
    for word in words:
        assert word in str(refused.value)


def test_nothing_is_left_out_of_a_ready_sweep_and_times_may_be_no_seeds(options: Options) -> None:
    with pytest.raises(Refusal, match="Nothing can be left out of a ready sweep: name the methods"):
        plan_of("run the quick sweep without dense", options)
    assert parts(plan_of("run hashed at batch size 2,048", options))["parameters"]["batch_size"] == (2048,)
    assert plan_of("run hashed 10 times smaller", options).seeds != 10


def test_a_number_of_several_axes_is_asked_back(options: Options, profile: Profile) -> None:
    with pytest.raises(Ambiguity) as back:
        actions.read("run hashed at 64", profile, options)
    assert any("batch size 64" in choice for choice in back.value.choices)


@pytest.mark.parametrize(
    "question",
    [
        "run hashed; rm -rf / at dim 64",
        "run $(touch /tmp/x) hashed",
        "run `reboot` hashed",
        'run "hashed" -p time_limit_s=1e9',
        "run hashed' && curl evil.example",
        "run ../../etc/passwd",
        "run the ../../x sweep",
        "start quick with methods=$(id)",
        "run hashed\nname: x\nbenchmark: training",
        "run hashed at dim 64 | tee /etc/x",
    ],
)
def test_hostile_text_gets_nothing_into_a_plan(question: str, options: Options) -> None:
    """Refused; or a plan of known names and numbers, whatever stood around them."""
    try:
        plan = actions.read(question, Profile(), options)
    except (Refusal, Ambiguity):
        return
    assert plan is not None
    axes = {a.name: a for b in options.benchmarks for a in b.axes}
    known = {m.name for m in options.methods}
    assert set(plan.methods) <= known
    assert plan.benchmark in {b.name for b in options.benchmarks} | {""}
    assert plan.sweep in {s.name for s in options.sweeps} | {""}
    for axis, values in plan.parameters:
        assert all(isinstance(v, int | float) or v in axes[axis].choices for v in values)


def test_all_methods_are_those_that_can_run_here(options: Options) -> None:
    away = tuple(replace(m, missing="It is not here." if m.name == "jax" else "") for m in options.methods)
    here = replace(options, methods=away)
    methods = plan_of("run all methods in lookup except small_dim", here).methods
    assert {"dense", "hashed"} <= set(methods)
    assert not {"jax", "small_dim"} & set(methods)


def test_what_is_missing_is_said(options: Options) -> None:
    away = replace(
        options,
        methods=tuple(replace(m, missing=f"{m.name} is not installed.") for m in options.methods),
        data_sets=tuple(replace(d, missing=f"{d.name} lacks a file.") for d in options.data_sets),
    )
    notes = plan_of("run hashed on criteo", away).notes
    assert "hashed is not installed." in notes
    assert "criteo lacks a file." in notes


def test_commands_are_lines_that_the_engine_can_plan(options: Options, tmp_path: Path) -> None:
    """What a person may type, with `plan` in the place of `run`, in a shell."""
    lines = [plan_of(question, options).command for question, _ in PLANS]
    assert all(line.startswith("python -m bench_engine run ") and "\n" not in line for line in lines)
    planned = [f"{line.replace(' run ', ' plan ', 1)} > /dev/null" for line in lines[::4]]
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(planned)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={
            **jobs._environment(f"{tmp_path}/x.duckdb"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_left_out_of_a_family_does_not_run(options: Options) -> None:
    methods = plan_of("run hashed, qr and cce except cce on frappe", options).methods
    assert {"hashed", "quotient_remainder"} <= set(methods)
    assert "cce" not in methods
    assert "int8_qr" not in plan_of("run the quantized methods except int8_qr on frappe", options).methods

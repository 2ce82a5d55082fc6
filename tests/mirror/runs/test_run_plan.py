"""What a plan says: its command line, its YAML, its sentence."""

import shlex

import pytest
import yaml

from mirror.runs.run_plan import RunPlan

CUSTOM = RunPlan(
    benchmark="training",
    methods=("fiited", "dense"),
    baseline="dense",
    parameters=(("dataset", ("ml-206k",)), ("compression", (0.05, 0.1))),
    seeds=3,
)


def test_a_plan_of_its_own_is_a_sweep_on_standard_input() -> None:
    words = shlex.split(CUSTOM.command)
    assert words[:6] == ["python", "-m", "bench_engine", "run", "-", "<<<"]
    assert yaml.safe_load(words[6]) == yaml.safe_load(CUSTOM.sweep_text())
    assert yaml.safe_load(CUSTOM.sweep_text()) == {
        "name": "custom",
        "benchmark": "training",
        "methods": ["fiited", "dense"],
        "baseline": "dense",
        "parameters": {"dataset": {"values": ["ml-206k"]}, "compression": {"values": [0.05, 0.1]}},
        "seeds": 3,
    }
    assert CUSTOM.overrides == ()


def test_a_ready_sweep_is_changed_on_the_command_line() -> None:
    plan = RunPlan("lookup", methods=("dense", "hashed"), parameters=(("batch_size", (64, 512)),), seeds=2, again=True)
    assert plan.overrides == ("batch_size=64,512", "methods=dense,hashed", "seeds=2")
    assert plan.command == (
        "python -m bench_engine run lookup -p batch_size=64,512 -p methods=dense,hashed -p seeds=2 --force"
    )
    assert plan.sweep_text() == ""


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (CUSTOM, "Run fiited and dense in training, data set ml-206k, compression 0.05 and 0.1, 3 seeds."),
        (RunPlan("quick"), "Run the ready sweep quick."),
        (
            RunPlan("quick", again=True, quick=True),
            "Run the ready sweep quick; as a first look, with fewer samples; once more where it is done already.",
        ),
        (
            RunPlan("lookup", methods=("dense",), parameters=(("embedding_dim", (64,)),), retry_failed=True),
            "Run the ready sweep lookup with dense alone, dim 64; once more where it failed.",
        ),
        (
            RunPlan(benchmark="lookup", methods=("dense", "hashed", "jax"), seeds=1),
            "Run dense, hashed and jax in lookup, all axes at their defaults.",
        ),
    ],
)
def test_a_plan_is_one_sentence(plan: RunPlan, words: str) -> None:
    assert plan.words == words


def test_flags_stand_before_the_text_of_the_sweep() -> None:
    plan = RunPlan(benchmark="lookup", methods=("hashed",), quick=True, retry_failed=True)
    assert plan.command.startswith("python -m bench_engine run - --retry-failed --quick <<< '{")


def test_what_a_shell_would_read_is_quoted() -> None:
    """No such name gets into a plan by a question; a plan made in code is safe to paste all the same."""
    plan = RunPlan("x; reboot", parameters=(("axis", ("$(id)", "it's")),))
    assert shlex.split(plan.command)[4:] == ["x; reboot", "-p", "axis=$(id),it's"]

"""The text of a plan: what its parts are, every trial where they are few, and their counts where they are many."""

import json

import pytest

from bench_engine.command.cli import main
from bench_engine.plan.plan_text import MOST_LINES, lines
from bench_engine.plan.planning import plan
from bench_engine.sweep.sweep import parse

HEAD = "benchmark: fake\nmethods: [fake]\n"


def test_a_short_plan_lists_its_trials(engine) -> None:
    assert list(lines(plan(engine.sweep("ok", seeds=2)))) == [
        "fake: 2 configurations of a grid, 1 method, 2 trials",
        "  methods: fake",
        "  pooling_mode: ok",
        "  seed: 0, 1",
        "todo  fake fake seed=0  (0 s)",
        "todo  fake fake seed=1  (0 s)",
        "2 trials: 0 done, 0 cannot run, 2 to do in about 0 s.",
    ]


def test_a_long_plan_counts_them_part_by_part(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "The kernels are not there."
    monkeypatch.setattr(
        "bench_engine.registry.readiness.SkipReasons.of",
        lambda self, name, config, benchmark: reason if config["compression"] < 0.5 and config["seed"] % 2 else "",
    )
    sweep = parse(
        "benchmark: fake\nmethods: [fake, fake_dense]\nbaseline: fake_dense\nmethod: random\nrun_cap: 61\n"
        "parameters: {compression: {min: 0.1, max: 0.9}}\nseeds: [3, 4]\n"
        f"---\n{HEAD}seeds: 20\n",
        "s",
    )
    made = plan(sweep)
    engine.journal.mkdir()
    for p, status in zip(made.trials[:7], ["ok"] * 4 + ["failed"] * 3, strict=True):
        (engine.journal / f"{p.identity}-1.{status}.json").write_text("{}")
    made = plan(sweep)
    skipped = len(made.of("skip"))
    assert skipped > 5
    text = list(lines(made))
    random_part = 61 - 7 - skipped
    assert text == [
        "fake: 59 configurations drawn at random (random_seed 0), 2 methods, 61 trials",
        "  methods: fake, fake_dense (baseline fake_dense)",
        "  compression: 0.1 to 0.9 (uniform)",
        "  seed: 3, 4",
        f"  {random_part:>6} to do, in about {random_part * 0.2:.0f} s",
        "       4 done: ok",
        "       3 done: failed",
        f"  {skipped:>6} cannot run: {reason}",
        "fake: 20 configurations of a grid, 1 method, 20 trials",
        "  methods: fake",
        "  seed: 0, 1, 2, 3, 4, 5, 6, 7 ... 20 values",
        "      20 to do, in about 4 s",
        "All of them, one on a line: plan --all.",
        f"81 trials: 7 done, {skipped} cannot run, {20 + random_part} to do in about {(20 + random_part) * 0.2:.0f} s.",
    ]
    every = list(lines(made, every=True))
    assert sum(line.startswith(("todo  ", "done  ", "skip  ")) for line in every) == 81
    assert every[-1] == text[-1]


@pytest.mark.parametrize(("seeds", "listed"), [(MOST_LINES, True), (MOST_LINES + 1, False)])
def test_forty_trials_are_listed_and_one_more_are_not(engine, seeds: int, listed: bool) -> None:
    text = list(lines(plan(engine.sweep("ok", seeds=seeds))))
    assert any(line.startswith("todo") for line in text) == listed
    assert any("plan --all" in line for line in text) != listed


def test_what_run_cap_came_to_is_part_of_the_plan(engine) -> None:
    assert "  run_cap 9 is more than there is: 1 configuration with 1 trial." in lines(
        plan(engine.sweep("ok", run_cap=9))
    )


def test_the_command_counts_lists_all_and_gives_json(engine, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(engine.file("ok", seeds=MOST_LINES + 1, run_cap=99))
    for options, length in (([], 8), (["--all"], 6 + MOST_LINES + 1)):
        assert main(["plan", path, *options]) == 0
        assert len(capsys.readouterr().out.splitlines()) == length
    assert main(["plan", path, "--json", "--quick"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["trials"]) == found["configurations"] == MOST_LINES + 1
    assert found["notes"] == ["run_cap 99 is more than there is: 41 configurations with 41 trials."]
    assert set(found["trials"][0]) == {"label", "benchmark", "method", "fate", "before", "reason", "seconds"}
    assert found["seconds"] < (MOST_LINES + 1) * 0.2


def test_a_reader_that_goes_away_before_a_short_text_is_no_traceback(engine) -> None:
    process = engine.start("plan", engine.file("ok"))
    process.stdout.close()
    assert process.wait(timeout=60) == 1
    assert process.stderr.read() == ""
    process.stderr.close()

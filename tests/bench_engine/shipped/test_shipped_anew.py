"""Example results measured anew: the recipes cover what is shipped, and files are replaced when all is there."""

import json
from pathlib import Path

import pytest

from bench_engine.command.cli import main
from bench_engine.run.runner import Options
from bench_engine.shipped import anew
from bench_engine.shipped.recipes import RECIPES, Recipe, Step
from bench_engine.sweep import sweep
from db import journal
from db.installation import ROOT

EXAMPLES = ROOT / "db" / "examples"


def test_every_shipped_file_has_a_recipe_with_the_sweeps_that_its_trials_name() -> None:
    shipped = {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.jsonl*")}
    assert {recipe.file for recipe in RECIPES} == shipped
    for recipe in RECIPES:
        named = {str(record.trial["sweep"]) for record in journal.packed(EXAMPLES / recipe.file)}
        assert {step.sweep for step in recipe.steps} == named, recipe.file
        assert named <= set(sweep.names())


def test_overrides_are_those_that_the_trials_were_run_with() -> None:
    for recipe in RECIPES:
        specs = [str(record.sweep["spec"]) for record in journal.packed(EXAMPLES / recipe.file)]
        for step in recipe.steps:
            for text in step.overrides:
                assert any(f"# -p {text}\n" in spec for spec in specs), (recipe.file, text)


def test_the_plan_tells_every_file_and_every_sweep_and_runs_nothing(
    engine, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    work = tmp_path / "work"
    assert main(["examples", "--plan", "--work", str(work)]) == 0
    told = capsys.readouterr().out
    for recipe in RECIPES:
        assert recipe.file in told
        assert all(f"run {step}" in told for step in recipe.steps)
    assert told.splitlines()[-1].startswith("All together about ")
    assert not work.exists()
    assert main(["examples", "collisions/intel-xeon-2-cores.jsonl.gz", "--json", "--work", str(work)]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["recipe"]["steps"] == [{"sweep": "collisions", "overrides": []}]
    assert found["shipped"]["results"] == 36
    assert found["seconds"] > 0


def test_an_unknown_file_is_one_sentence(engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", "hashed/intel.jsonl.gz", "--plan"]) == 1
    told = capsys.readouterr().err
    assert "There is no example 'hashed/intel.jsonl.gz'; did you mean hashed/intel-xeon-2-cores.jsonl.gz?" in told
    assert len(told.splitlines()) == 1


def test_one_journal_for_everything_is_refused(
    engine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRROR_JOURNAL", str(engine.folder / "all"))
    assert main(["examples", "--plan"]) == 1
    assert "unset it for this command" in capsys.readouterr().err


def recipe_of(engine, *deeds: str, file: str = "fakes/here.jsonl.gz") -> Recipe:
    """A recipe of one sweep of the fake benchmark."""
    return Recipe(file, (Step(str(engine.file(*deeds))),))


def place_in(folder: Path) -> anew.Place:
    return anew.Place(folder / "work", folder / "shipped")


def statuses(path: Path) -> list[str]:
    return sorted(record.status for record in journal.packed(path))


def test_a_tiny_sweep_is_run_packed_and_takes_the_place_of_the_former(engine, tmp_path: Path) -> None:
    place, said = place_in(tmp_path), []
    recipe = recipe_of(engine, "ok", "log")
    assert anew.run([recipe], place, Options(), said.append)
    target = place.target(recipe)
    assert statuses(target) == ["ok", "ok"]
    first = target.read_bytes()
    (planned,) = anew.plan([recipe], place)
    assert (planned.steps[0].done, planned.steps[0].todo, planned.shipped.results) == (2, 0, 2)
    assert anew.run([recipe], place, Options(), said.append)  # nothing is left to run, and the file is the same
    assert target.read_bytes() == first
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_what_was_stopped_goes_on_and_touches_no_shipped_file(
    engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, said = place_in(tmp_path), []
    recipe = recipe_of(engine, "ok", "log")
    target = place.target(recipe)
    target.parent.mkdir(parents=True)
    target.write_bytes(b"as it was")
    real, stopped = anew.runner.run, []

    def after_the_first(loaded, options, executor, say):
        state = real(loaded, options, executor, say)
        stopped.append(state.done)
        return anew.replace(state, status="cancelled", message="1 of 2 done.")

    with monkeypatch.context() as patched:
        patched.setattr(anew.runner, "run", after_the_first)
        with pytest.raises(KeyboardInterrupt, match="No shipped file was changed"):
            anew.run([recipe], place, Options(), said.append)
    assert target.read_bytes() == b"as it was"
    (planned,) = anew.plan([recipe], place)
    assert planned.steps[0].done == stopped[0] == 2


def test_a_file_with_failures_or_fewer_results_is_left(engine, tmp_path: Path) -> None:
    place, said = place_in(tmp_path), []
    whole = recipe_of(engine, "ok", "log")
    assert anew.run([whole], place, Options(), said.append)
    target = place.target(whole)
    before = target.read_bytes()
    failing = recipe_of(engine, "ok", "log", "raise")
    assert not anew.run([failing], place, Options(), said.append)
    assert "1 trial failed" in said[-1]
    assert "--retry-failed" in said[-1]
    assert target.read_bytes() == before
    elsewhere = anew.Place(tmp_path / "other", place.shipped)
    assert not anew.run([recipe_of(engine, "ok")], elsewhere, Options(), said.append)
    assert "1 of its trials have a result now, 2 had one" in said[-1]
    assert target.read_bytes() == before
    assert anew.run([recipe_of(engine, "ok")], elsewhere, Options(), said.append, fewer=True)
    assert statuses(target) == ["ok"]


def test_no_file_is_replaced_before_all_have_run(engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_in(tmp_path)
    first, second = (recipe_of(engine, "ok", file=f"{name}.jsonl.gz") for name in ("first", "second"))
    real, there = anew.runner.run, []

    def looking(*given):
        there.append(sorted(place.shipped.glob("*")))
        return real(*given)

    monkeypatch.setattr(anew.runner, "run", looking)
    assert anew.run([first, second], place, Options(), [].append)
    assert there == [[], []]
    assert [path.name for path in sorted(place.shipped.glob("*"))] == ["first.jsonl.gz", "second.jsonl.gz"]

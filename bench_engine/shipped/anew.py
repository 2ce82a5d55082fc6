"""Measures the shipped example results anew: runs the sweeps of each file, and puts a new file in the place of the old.

All trials go to a folder of their own, with results and a journal for each file; what is stopped goes on from there. No
shipped file is touched before everything has run, and then only by one that holds at least as many results.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench_engine.machine import machine as this_machine
from bench_engine.plan import planning
from bench_engine.progress import duration
from bench_engine.registry import hint
from bench_engine.registry.readiness import build_ahead
from bench_engine.run import runner
from bench_engine.run.executors import Executor
from bench_engine.run.executors.local import LocalExecutor
from bench_engine.shipped.recipes import RECIPES, Recipe, Step
from bench_engine.sweep import sweep as sweeps
from bench_engine.sweep.search import counted
from db import journal
from db.record import Record
from db.settings import examples_dir, journal_dir, setting
from db.store import Store


class ShippedError(ValueError):
    """Example results that cannot be measured anew; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class Place:
    """Where examples are measured and shipped.

    Attributes:
        work: the folder for trials and results; it is kept.
        shipped: the folder of the files that are replaced.
    """

    work: Path
    shipped: Path

    @staticmethod
    def usual(work: Path | None = None) -> "Place":
        """The examples of this repository. Raises ShippedError where one journal is set for everything."""
        if given := setting("MIRROR_JOURNAL"):
            raise ShippedError(
                f"MIRROR_JOURNAL is {given}, one journal for everything, where each file of examples needs its own: "
                "unset it for this command."
            )
        shipped = examples_dir()
        return Place(work or shipped.parent.parent / "build" / "examples", shipped)

    def results(self, recipe: Recipe) -> str:
        """URL of the results of a recipe's trials."""
        stem = recipe.file.partition(".")[0]
        return f"duckdb:///{(self.work / stem / 'mirror.duckdb').resolve()}"

    def target(self, recipe: Recipe) -> Path:
        """The shipped file."""
        return self.shipped / recipe.file


@dataclass(frozen=True)
class Shipped:
    """What a shipped file holds.

    Attributes:
        results: trials that have a result.
        seconds: sweep -> usual seconds of a trial.
        machines: their names.
    """

    results: int = 0
    seconds: Mapping[str, float] | None = None
    machines: tuple[str, ...] = ()

    @staticmethod
    def of(path: Path) -> "Shipped":
        """Of a file; nothing where there is none."""
        if not path.is_file():
            return Shipped()
        records = list(journal.packed(path))
        of_sweeps: dict[str, list[float]] = {}
        for record in records:
            if record.status == "ok" and record.trial.get("duration_s"):
                of_sweeps.setdefault(str(record.trial.get("sweep")), []).append(record.trial["duration_s"])
        return Shipped(
            len({_configuration(record) for record in records if record.status == "ok"}),
            {name: statistics.fmean(seconds) for name, seconds in of_sweeps.items()},
            tuple(sorted({str(record.machine.get("name")) for record in records})),
        )


@dataclass(frozen=True)
class PlannedStep:
    """A sweep of a recipe: its trials by what becomes of them, and about how long those take that are to be run."""

    step: Step
    total: int
    done: int
    failed: int
    skipped: int
    todo: int
    seconds: float


@dataclass(frozen=True)
class PlannedFile:
    """What is to be run for a file."""

    recipe: Recipe
    steps: tuple[PlannedStep, ...]
    shipped: Shipped

    @property
    def seconds(self) -> float:
        """Estimate of the time that is left."""
        return sum(step.seconds for step in self.steps)


def chosen(files: Sequence[str], recipes: Sequence[Recipe] = RECIPES) -> tuple[Recipe, ...]:
    """The recipes of some files, all where none is named. Raises ShippedError."""
    known = {recipe.file: recipe for recipe in recipes}
    for name in files:
        if name not in known:
            raise ShippedError(f"There is no example {name!r}{hint(name, known)} Known: {', '.join(known)}.")
    return tuple(recipe for name, recipe in known.items() if not files or name in files)


def plan(recipes: Sequence[Recipe], place: Place, retry_failed: bool = False) -> tuple[PlannedFile, ...]:
    """What is left to run, and about how long it takes: as long as the trials that are shipped, where there are some.

    `retry_failed`: what failed before too. Raises SweepError.
    """
    return tuple(_planned(recipe, place, retry_failed) for recipe in recipes)


def lines(planned: Sequence[PlannedFile], place: Place) -> Iterator[str]:
    """The plan as text."""
    here = str(this_machine.machine()["name"])
    for file in planned:
        yield f"{file.recipe.file}: {counted(file.shipped.results, 'result')} shipped, about {duration(file.seconds)}"
        for step in file.steps:
            told = [f"{step.todo:,} of {counted(step.total, 'trial')} to do", f"about {duration(step.seconds)}"]
            told += [f"{step.failed:,} failed before"] if step.failed else []
            told += [f"{step.skipped:,} cannot run here"] if step.skipped else []
            yield f"  run {step.step}: {', '.join(told)}"
        if others := [name for name in file.shipped.machines if name != here]:
            yield f"  The shipped ones are of {' and '.join(others)}; this machine is {here}, and the name stays."
    if this_machine.code_version().endswith("+"):
        yield "There are changes that are not committed, and results name their commit: commit them first."
    total = sum(file.seconds for file in planned)
    yield f"All together about {duration(total)}. Trials are kept in {place.work}; files are replaced at the end."


def run(
    recipes: Sequence[Recipe],
    place: Place,
    how: runner.Options,
    say: Callable[[str], None] = print,
    fewer: bool = False,
    executor: Callable[[], Executor] | None = None,
) -> bool:
    """Run what is left, then put new files in the place of the shipped ones. Must be called from the main thread.

    Args:
        how: retry_failed, wait, quick and verbose of it are taken.
        fewer: take a new file also where it holds fewer results than the shipped one.
        executor: makes what runs trials; on this machine where it is None.

    Returns whether all files were replaced. Raises KeyboardInterrupt where it was stopped, and what
    bench_engine.run.runner.run raises.
    """
    place.work.mkdir(parents=True, exist_ok=True)
    failed: dict[str, int] = {}
    for recipe in recipes:
        for step in recipe.steps:
            loaded = sweeps.load(step.sweep)
            Path(place.results(recipe).removeprefix("duckdb:///")).parent.mkdir(parents=True, exist_ok=True)
            say(f"{recipe.file}: run {step}")
            options = replace(how, overrides=step.overrides, url=place.results(recipe), run_id="")
            state = runner.run(loaded, options, executor() if executor else _local(loaded, say), say)
            if state.status == "cancelled":
                raise KeyboardInterrupt(f"{state.message} No shipped file was changed.")
            failed[recipe.file] = failed.get(recipe.file, 0) + state.failed
    replaced = [_replaced(recipe, place, failed.get(recipe.file, 0), fewer, say) for recipe in recipes]
    return all(replaced)


def _configuration(record: Record) -> tuple[str, str]:
    """What a result is of: of several the newest is shown."""
    return str(record.trial["configuration"]), str(record.trial.get("machine_id"))


def _local(loaded: sweeps.Sweep, say: Callable[[str], None]) -> Executor:
    methods = {name for part in loaded.parts for name in part.methods}
    return LocalExecutor(lambda: build_ahead(methods, say))


def _planned(recipe: Recipe, place: Place, retry_failed: bool) -> PlannedFile:
    shipped = Shipped.of(place.target(recipe))
    steps = []
    for step in recipe.steps:
        loaded = sweeps.load(step.sweep)
        made = planning.plan(loaded, step.overrides, place.results(recipe), retry_failed)
        todo, done = made.of("todo"), made.of("done")
        usual = (shipped.seconds or {}).get(loaded.name)
        seconds = usual * len(todo) if usual else made.seconds
        failed = sum(p.before != "ok" for p in done)
        skipped = len(made.of("skip"))
        steps.append(PlannedStep(step, len(made.trials), len(done) - failed, failed, skipped, len(todo), seconds))
    return PlannedFile(recipe, tuple(steps), shipped)


def _replaced(recipe: Recipe, place: Place, failed: int, fewer: bool, say: Callable[[str], None]) -> bool:
    """Put the new file in the place of the shipped one, where it holds as much."""
    folder, target = journal_dir(place.results(recipe)), place.target(recipe)
    before = Shipped.of(target).results
    (counted_now,) = Store(place.results(recipe)).rows("SELECT count(*) AS results FROM results")
    there = int(counted_now["results"])
    if failed and not fewer:
        say(
            f"{recipe.file} is left as it is: {counted(failed, 'trial')} failed; --retry-failed runs them again, "
            "--fewer does without them."
        )
        return False
    if there < before and not fewer:
        say(
            f"{recipe.file} is left as it is: {there:,} of its trials have a result now, {before:,} had one; see "
            "with `plan` what cannot run here, or take what there is with --fewer."
        )
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    packed = journal.pack(folder, target)  # whole in its place, or the former file stays
    for line in packed.unusable:
        say(f"Left out: {line}")
    say(f"{recipe.file}: {counted(packed.packed, 'trial')} in the place of those before.")
    return True

"""The engine's command line: what each command of bench_engine.command.cli_parser does."""

import argparse
import contextlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from bench_engine.command import after_run, doctor
from bench_engine.command.build import build
from bench_engine.command.cli_parser import parser
from bench_engine.command.examples_measured import measure_examples
from bench_engine.command.suggested import suggest_table
from bench_engine.compare import baselines, compare
from bench_engine.compare import comparison_table as compare_table
from bench_engine.compare.sides import CompareError, UsageError
from bench_engine.data.files import DataMissingError
from bench_engine.data.problems import DataFileError
from bench_engine.machine.lock import MachineBusyError
from bench_engine.methods import packages
from bench_engine.methods.rivals import RIVALS
from bench_engine.plan import plan_text, planning
from bench_engine.plugin import GROUP, PluginError, name_of, named_plugins, own_metrics
from bench_engine.registry import (
    BENCHMARKS,
    DATA_SETS,
    METHODS,
    Axis,
    UnknownNameError,
    benchmark,
    limits,
    missing,
    with_plugins,
)
from bench_engine.registry.readiness import SkipReasons, build_ahead
from bench_engine.report.reported import ReportError
from bench_engine.run import runner
from bench_engine.run.executors import Executor, ExecutorError
from bench_engine.run.executors.local import LocalExecutor
from bench_engine.run.far import destination, far_run
from bench_engine.selfcheck import SelfCheckError
from bench_engine.shipped.anew import ShippedError
from bench_engine.suggest.suggestion import SuggestError
from bench_engine.sweep import sweep
from bench_engine.sweep.part import SweepError, SweepUsageError
from db import export, future, journal
from db.runs import RunIdError, RunState, RunStateError
from db.settings import SettingsError, journal_dir, setting
from db.store import Store, StoreError

_USER_ERRORS = (
    SweepError, MachineBusyError, ExecutorError, StoreError, journal.JournalError, RunStateError, SettingsError,
    export.ExportError, packages.RivalError, SelfCheckError, CompareError,
    PluginError, ReportError, baselines.BaselineError, UnknownNameError, SuggestError, DataFileError, DataMissingError,
    ShippedError,
)  # fmt: skip
_WRONG_USAGE = (UsageError, destination.DestinationError, SweepUsageError, RunIdError, UnknownNameError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Exit status: 0, 1 for an error told in one sentence, 2 for wrong usage, 3 where something is as
    --fail-on says, 4 where trials of `run` failed beside others that did not, 130 for Ctrl-C."""
    options = parser().parse_args(arguments)
    try:
        _name_plugins(options)
        status = _COMMANDS[options.command](options)
        sys.stdout.flush()  # what a reader that went away did not get is noticed here, not after the end
        return status
    except _USER_ERRORS as error:
        print(error, file=sys.stderr)
        if options.verbose:
            traceback.print_exc()
        return 2 if isinstance(error, _WRONG_USAGE) else 1
    except BrokenPipeError:  # `... | head`; the interpreter's own flush at the end must not complain either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _name_plugins(options: argparse.Namespace) -> None:
    """Know the plug-ins of --plugin, and those that stand among methods: `-p methods=dense,my_bag.py:MyBag`."""
    named = list(getattr(options, "plugins", ()))
    for place, text in enumerate(overrides := getattr(options, "overrides", [])):
        key, _, values = text.partition("=")
        if key.strip() == "methods" and any(map(name_of, items := [v.strip() for v in values.split(",")])):
            named += [item for item in items if name_of(item)]
            overrides[place] = f"methods={','.join(name_of(item) or item for item in items)}"
    if named:
        with_plugins(*named)


# -- commands ------------------------------------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> int:
    found = _registry()
    if options.json:
        print(json.dumps(found))
        return 0
    for method in found["methods"]:
        print(f"method     {method['name']:<20} {method['text']}")
    for bench in found["benchmarks"]:
        print(f"benchmark  {bench['name']:<20} {bench['text']}")
        for axis in bench["axes"]:
            allowed = ", ".join(map(str, axis["choices"])) or (
                limits(axis["low"], axis["high"], " to ") if axis["type"] != "str" else "text"
            )
            told = [allowed, f"default {axis['default']}", *(f"only {m}" for m in [", ".join(axis["methods"])] if m)]
            print(f"  axis     {axis['name']:<20} {axis['text']} ({'; '.join(told)})")
    for data in found["data_sets"]:
        print(f"data set   {data['name']:<20} {data['missing'] or data['text']}")
    for own in found["metrics"]:
        print(f"metric     {own['name']:<20} {own['text']} (of {', '.join(own['benchmarks'])})")
    for entry in found["sweeps"]:
        print(f"sweep      {entry['name']:<20} {entry['text']}")
    return 0


def _registry() -> dict[str, Any]:
    """What can be run, as plain values."""
    skip = SkipReasons()
    return {
        "methods": [
            {**_values(m, "name", "text", "compressible", "needs_build"), "missing": skip.of(m.name, {})}
            for m in METHODS.values()
        ],
        "benchmarks": [
            {**_values(b, "name", "op", "text", "methods"), "axes": [_axis(a) for a in b.axes]}
            for b in BENCHMARKS.values()
        ],
        "data_sets": [{**_values(d, "name", "text"), "missing": missing(d.name)} for d in DATA_SETS.values()],
        "metrics": [_values(m, "name", "text", "benchmarks") for m in own_metrics()],
        "sweeps": [{"name": name, "text": sweep.load(name).description} for name in sweep.names()],
    }


def _values(entry: object, *names: str) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in names}


def _axis(axis: Axis) -> dict[str, Any]:
    told = {name: value for name, value in asdict(axis).items() if name != "pattern"}  # its text says it in words
    return {**told, "type": getattr(axis.type, "__name__", "str")}


def _plan(options: argparse.Namespace) -> int:
    loaded = sweep.load(options.sweep)
    store = Store(options.db, lock_wait_s=0.5)
    _own_journal(store)
    made = planning.plan(
        loaded, options.overrides, options.db, options.retry_failed, options.force, quick=options.quick
    )
    with contextlib.suppress(StoreError):  # a plan needs no results
        if warning := future.warning(store):
            print(warning, file=sys.stderr)
    if options.json:
        trials = [
            {
                "label": p.trial.label(),
                **_values(p.trial, "benchmark", "method"),
                **_values(p, "fate", "before", "reason", "seconds"),
            }
            for p in made.trials
        ]
        notes = [chosen.note for chosen in made.parts if chosen.note]
        configurations = sum(chosen.configurations for chosen in made.parts)
        found = {"sweep": loaded.name, "seconds": made.seconds, "configurations": configurations, "notes": notes}
        print(json.dumps({**found, "trials": trials}))
        return 0
    print(*plan_text.lines(made, options.all), sep="\n")
    return 0


def _run(options: argparse.Namespace) -> int:
    how = runner.Options(
        overrides=tuple(options.overrides),
        url=options.db,
        retry_failed=options.retry_failed,
        force=options.force,
        quick=options.quick,
        wait=options.wait,
        run_id=options.run_id,
        verbose=options.verbose,
    )
    wanted = after_run.wanted(options)

    def say(sentence: str) -> None:
        print(sentence, file=sys.stderr, flush=True)

    try:
        loaded = sweep.load(options.sweep)
        run = _runner(options, loaded, say)
    except (SweepError, ExecutorError) as error:
        if how.run_id:
            runner.refuse(Path(options.sweep).stem, how, str(error))
        raise
    state = run(loaded, how)
    print(_summary(state), file=sys.stdout if options.form == "text" or options.out else sys.stderr)
    if state.status == "cancelled":
        return 130
    if not state.done:
        return 1
    slower = after_run.follow_up(options, state, wanted)
    return 4 if state.failed else 3 if slower else 0


def _runner(
    options: argparse.Namespace, loaded: sweep.Sweep, say: Callable[[str], None]
) -> Callable[[sweep.Sweep, runner.Options], RunState]:
    """What runs the sweep, here or on another machine. Raises ExecutorError and UsageError."""
    if options.executor.startswith(destination.SCHEME):
        return partial(far_run.run, to=destination.parse(options.executor), stop=options.stop, say=say)
    if options.stop:
        raise UsageError("--stop ends a run on another machine: say which with --executor ssh://HOST.")
    if options.ray_address and options.executor != "ray":
        raise UsageError("--ray-address is that of a Ray cluster: say --executor ray too.")
    return partial(runner.run, executor=_executor(options, loaded, say), say=say)


def _executor(options: argparse.Namespace, loaded: sweep.Sweep, say: Callable[[str], None]) -> Executor:
    if options.executor == "local":

        def prepare() -> None:  # by then the sweep is known to be well
            build_ahead({trial.method for trial in sweep.expand(loaded, options.overrides)}, say)

        return LocalExecutor(prepare)
    if named := named_plugins():
        raise UsageError(
            f"--executor ray does not bring {named[0]} to other machines: install it on each of them as a package with "
            f"an entry point of the group {GROUP}, or run with --executor ssh://HOST, which copies it."
        )
    try:
        from bench_engine.run.executors.ray import RayExecutor
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise ExecutorError("Ray is not installed here: `pip install 'mirror-bench[ray]'` installs it.") from error
    return RayExecutor(options.ray_address or "auto", say)


def _summary(state: RunState) -> str:
    if state.status == "cancelled":
        return f"Cancelled: {state.message}" if state.total else state.message
    text = f"Sweep {state.sweep}: {state.done} trials have results"
    text += f", {state.failed} failed" if state.failed else ""
    text += f", {state.skipped} cannot run" if state.skipped else ""
    told = sys.stdout.isatty() and sys.stderr.isatty()  # what went wrong stays on the screen, see bench_engine.progress
    return text + "." + (f"\nThe last failure: {state.message}" if state.message and not told else "")


def _compare(options: argparse.Namespace) -> int:
    store = Store(options.db)
    metric = compare.metric(options.metric, store)
    limit = compare.limit(options.fail_on, metric) if options.fail_on is not None else None
    where = options.where
    if options.benchmark is not None:
        try:
            where = [*where, f"benchmark={benchmark(options.benchmark).name}"]
        except UnknownNameError as error:
            raise UsageError(f"--benchmark: {error}") from error
    journal.bring_timings(store)
    found = compare.compare(store, options.a, options.b, metric, where, options.relative)
    if options.json:
        print(json.dumps(compare_table.as_json(found, limit)))
    else:
        print(compare_table.text(found, *after_run.terminal(), limit))
    return 3 if limit and limit.exceeded(found) else 0


def _ingest(options: argparse.Namespace) -> int:
    store = Store(options.db)
    store.check_place()
    own = _own_journal(store)
    if setting("MIRROR_JOURNAL") and not (own.is_dir() or options.paths or options.examples):
        raise journal.JournalError(f"There is no journal at {own}: mend MIRROR_JOURNAL, or run a sweep first.")
    try:
        left_out = _merge(own, options.paths) if options.paths else 0
    except journal.JournalError:
        journal.ingest(store, [own])  # what was copied before it
        raise
    report = journal.ingest(store, [own, *(journal.example_folders() if options.examples else [])])
    if options.examples:
        journal.bring_timings(store)
    print(report.sentence())
    if warning := future.warning(store):
        print(warning, file=sys.stderr)
    return 1 if left_out or report.set_aside else 0


def _own_journal(store: Store) -> Path:
    """The journal of the results. Raises JournalError where a file has its name."""
    folder = journal_dir(store.url)
    if folder.is_file():
        raise journal.JournalError(
            f"The journal {folder} is a file, not a folder: move it away, or name a folder with MIRROR_JOURNAL."
        )
    return folder


def _merge(own: Path, paths: Sequence[str]) -> int:
    """Copy other journals into our own. Returns how many entries could not be used."""
    report = journal.merge(own, [Path(path) for path in paths])
    for line in report.set_aside:
        print(f"Left out: {line}", file=sys.stderr)
    print(f"{report.added} trials copied into {own.name}/, {report.known} were there already.")
    return len(report.set_aside)


def _pack(options: argparse.Namespace) -> int:
    report = journal.pack(_own_journal(Store(options.db)), Path(options.target))
    for line in report.unusable:
        print(f"Left out: {line}", file=sys.stderr)
    print(f"{report.packed} trials packed into {Path(options.target).name}.")
    return 1 if report.unusable else 0


def _export(options: argparse.Namespace) -> int:
    target = Path(options.target)
    store = Store(options.db)
    if options.view == "samples":
        journal.bring_timings(store)
    rows = export.export(store, target, options.view)
    print(f"{rows} rows of {options.view} written to {target.name}.")
    return 0


def _data_list(options: argparse.Namespace) -> int:
    found = [{**_values(d, "name", "text", "files"), "missing": missing(d.name)} for d in DATA_SETS.values()]
    if options.json:
        print(json.dumps(found))
        return 0
    for data in found:
        print(f"{data['name']:<14} {data['text']}")
        print(f"{'':<14} {data['missing'] or ', '.join(data['files']) or 'generated, no file needed'}")
    return 0


def _data_check(options: argparse.Namespace) -> int:
    from bench_engine.data.formats import check_file as check

    report = check.check(Path(options.path).expanduser())
    print(json.dumps(check.as_json(report)) if options.json else "\n".join(check.lines(report)))
    return 0 if report.whole else 1


def _rivals_list(_options: argparse.Namespace) -> int:
    for rival in RIVALS:
        lack = SkipReasons().of(rival.name, {})
        print(f"{rival.name:<14} {lack or 'ready, in ' + packages.place(rival.name, rival.packages)}")
    return 0


def _rivals_install(options: argparse.Namespace) -> int:
    rivals = {m.name: m for m in RIVALS}
    for name in options.names:
        packages.install(name, rivals[name].packages, options.own, say=lambda line: print(line, flush=True))
    return 0


def _check_verdicts(options: argparse.Namespace) -> int:
    from bench_engine.selfcheck import verdicts

    report = verdicts.check_verdicts(options.rounds, options.busy, lambda line: print(line, flush=True))
    print(report.sentence())
    return 0 if report.trusted else 1


def _check_intervals(options: argparse.Namespace) -> int:
    from bench_engine.selfcheck import coverage

    found = coverage.check_intervals(
        options.rounds, options.beside, options.out, options.equal, lambda line: print(line, flush=True)
    )
    print(*coverage.table(found), sep="\n")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    findings = doctor.examine(options.db, options.again)
    if options.json:
        print(json.dumps(asdict(findings)))
        return 0
    print(*doctor.lines(findings), sep="\n")
    return 0


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "build": lambda _options: build(),
    "list": _list,
    "plan": _plan,
    "run": _run,
    "show": after_run.show,
    "suggest": suggest_table,
    "compare": _compare,
    "track": after_run.track,
    "ingest": _ingest,
    "pack": _pack,
    "export": _export,
    "data": _data_list,
    "data check": _data_check,
    "rivals": _rivals_list,
    "rivals install": _rivals_install,
    "examples": measure_examples,
    "doctor": _doctor,
    "check-verdicts": _check_verdicts,
    "check-intervals": _check_intervals,
}

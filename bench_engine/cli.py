"""The engine's command line: build, list, plan, run, compare, ingest, pack, export, peers, doctor, check-verdicts."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench_engine import compare, compare_table, doctor, peers, plan_text, planning, runner, sweep
from bench_engine.data import files
from bench_engine.executors import Executor, ExecutorError
from bench_engine.executors.local import LocalExecutor
from bench_engine.lock import MachineBusyError
from bench_engine.readiness import SkipReasons
from bench_engine.registry import BENCHMARKS, DATA_SETS, METHODS, Axis
from bench_engine.rivals import RIVALS
from bench_engine.selfcheck import SelfCheckError
from db import export, journal
from db.runs import RunState, RunStateError
from db.settings import SettingsError, examples_dir, journal_dir
from db.store import Store, StoreError

_USER_ERRORS = (
    sweep.SweepError, MachineBusyError, ExecutorError, StoreError, journal.JournalError, RunStateError, SettingsError,
    export.ExportError, peers.PeerError, SelfCheckError, compare.CompareError,
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Exit status: 0, 1 for an error told in one sentence, 2 for wrong usage, 3 where `compare` found
    what --fail-on names, 130 for Ctrl-C."""
    options = parser().parse_args(arguments)
    try:
        status = int(options.command(options))
        sys.stdout.flush()  # what a reader that went away did not get is noticed here, not after the end
        return status
    except _USER_ERRORS as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:  # `... | head`; the interpreter's own flush at the end must not complain either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench_engine", description=__doc__)
    _add_db(parser, default=None)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, function: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        _add_db(sub, default=argparse.SUPPRESS)  # or it would take away what stands before the command
        sub.set_defaults(command=function)
        return sub

    command("build", _build, "compile the kernels for this machine (once)")
    listing = command("list", _list, "what can be run: methods, benchmarks with their axes, data sets, sweeps")
    listing.add_argument("--json", action="store_true", help="one JSON object (default: text)")
    planner = command(
        "plan", _plan, "the trials of a sweep: what is done, what would be skipped, how long the rest takes"
    )
    _add_sweep(planner)
    planner.add_argument("--json", action="store_true", help="one JSON object with every trial (default: text)")
    planner.add_argument(
        "--all", action="store_true", help="list all trials (default: count them where there are many)"
    )
    run = command("run", _run, "run what is left of a sweep; stop it at any moment and run it again")
    _add_sweep(run)
    run.add_argument(
        "--wait", action="store_true", help="wait for a run that holds this machine (default: say so and end)"
    )
    run.add_argument("--run-id", default="", metavar="ID", help="name of the run's state file (default: made up)")
    run.add_argument(
        "--executor",
        choices=["local", "ray"],
        default="local",
        help="where trials run: on this machine, or on all nodes of a Ray cluster (default: local)",
    )
    run.add_argument(
        "--ray-address",
        metavar="HOST:PORT",
        default="auto",
        help="head of the Ray cluster (default: RAY_ADDRESS, else the cluster that runs on this machine)",
    )
    _add_compare(
        command("compare", _compare, "two sweeps, commits, machines, methods or times, configuration by configuration")
    )
    ingester = command("ingest", _ingest, "bring the journal into the database, and other journals into it first")
    ingester.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="journal folder or packed file of another machine, whose trials are copied (default: none)",
    )
    ingester.add_argument(
        "--examples", action="store_true", help="the example results that come with the code too (default: not)"
    )
    packer = command("pack", _pack, "write the whole journal into one file")
    packer.add_argument("target", metavar="TARGET", help="the file, for instance results.jsonl or results.jsonl.gz")
    exporter = command("export", _export, "write a view of the results as a Parquet file")
    exporter.add_argument("target", metavar="TARGET", help="the file, for instance results.parquet")
    exporter.add_argument("--view", choices=export.VIEWS, default="results", help="what to write (default: results)")
    rivals = command("peers", _peers_list, "which rivals can run here, and how the others are installed")
    actions = rivals.add_subparsers(metavar="ACTION")
    actions.add_parser("list", help="the same", description="which rivals can run here")
    installer = actions.add_parser("install", help="install what rivals need, at the pinned versions")
    installer.add_argument("names", nargs="+", choices=[m.name for m in RIVALS if m.packages], metavar="NAME")
    installer.add_argument(
        "--own",
        action="store_true",
        help="into environments of their own, about 1 GB each (default: into this one, where no version is changed)",
    )
    installer.set_defaults(command=_peers_install)
    examiner = command("doctor", _doctor, "this machine, its compiler, kernels, data and results, and what to mend")
    examiner.add_argument("--json", action="store_true", help="one JSON object: facts, warnings (default: text)")
    checker = command(
        "check-verdicts",
        _check_verdicts,
        "see whether verdicts can be trusted here: the same method twice, and one slowed by ten per cent, in turns",
    )
    checker.add_argument("--rounds", type=int, default=20, metavar="N", help="how often (default: 20)")
    checker.add_argument("--busy", action="store_true", help="keep one core busy meanwhile (default: not)")
    return parser


def _add_db(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument(
        "--db",
        metavar="URL",
        default=default,
        help="the results: path of a DuckDB file or a SQLAlchemy URL (default: MIRROR_DB, else db/mirror.duckdb)",
    )


def _add_compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "a",
        metavar="A",
        help="the baseline: name of a sweep, a commit or a machine, or sweep:NAME, commit:abc1234, machine:NAME, "
        "method:NAME, before:DATE or since:DATE",
    )
    parser.add_argument("b", metavar="B", help="what is compared with it, in the same forms")
    parser.add_argument("--metric", default="latency_us", help=f"{', '.join(compare.METRICS)} (default: latency_us)")
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="AXIS=V1,V2",
        help="only trials with these values; may be given several times (default: all)",
    )
    parser.add_argument("--benchmark", metavar="NAME", help="only trials of this benchmark (default: all)")
    parser.add_argument(
        "--relative",
        action="store_true",
        help="judge the change against the baseline that took turns with each side, so that a machine that has become "
        "slower is no slower method (default: judge the times)",
    )
    parser.add_argument(
        "--fail-on",
        metavar="WORD:PERCENT",
        help="exit with status 3 where a configuration surely is, such as slower:5%% or larger:1%% (default: never)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object (default: text)")


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sweep", metavar="SWEEP", help="a ready sweep by name, a .yaml file, or - for standard input")
    parser.add_argument(
        "-p",
        dest="overrides",
        action="append",
        default=[],
        metavar="AXIS=V1,V2",
        help="other values for an axis, for methods (methods=dense,hashed), seeds (seeds=3: three of them), run_cap or "
        "random_seed; may be given several times (default: as the sweep says)",
    )
    parser.add_argument("--retry-failed", action="store_true", help="run again what failed (default: leave it)")
    parser.add_argument("--force", action="store_true", help="run everything again (default: what is left)")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a first look: fewer samples of each trial that has no thorough result yet (default: as the sweep says)",
    )


# -- commands ------------------------------------------------------------------------------------------------------


def _build(_options: argparse.Namespace) -> int:
    from bench_engine.kernels import extension

    try:
        path = extension.build()
    except (extension.CompilerMissingError, extension.CompileError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The kernels are built: {path.parent.name}.")
    return 0


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
                f"{axis['low']:g} to {axis['high']:g}" if axis["type"] != "str" else "text"
            )
            print(f"  axis     {axis['name']:<20} {axis['text']} ({allowed}; default {axis['default']})")
    for data in found["data_sets"]:
        print(f"data set   {data['name']:<20} {data['missing'] or data['text']}")
    for entry in found["sweeps"]:
        print(f"sweep      {entry['name']:<20} {entry['text']}")
    return 0


def _registry() -> dict[str, Any]:
    """What can be run, as plain values."""
    skip = SkipReasons()
    return {
        "methods": [
            {
                "name": m.name,
                "text": m.text,
                "compressible": m.compressible,
                "needs_build": m.needs_build,
                "missing": skip.of(m.name, {}),
            }
            for m in METHODS.values()
        ],
        "benchmarks": [
            {"name": b.name, "op": b.op, "text": b.text, "methods": b.methods, "axes": [_axis(a) for a in b.axes]}
            for b in BENCHMARKS.values()
        ],
        "data_sets": [{"name": d.name, "text": d.text, "missing": files.missing(d.name)} for d in DATA_SETS.values()],
        "sweeps": [{"name": name, "text": sweep.load(name).description} for name in sweep.names()],
    }


def _axis(axis: Axis) -> dict[str, Any]:
    return {**asdict(axis), "type": getattr(axis.type, "__name__", "str")}


def _plan(options: argparse.Namespace) -> int:
    loaded = sweep.load(options.sweep)
    made = planning.plan(
        loaded, options.overrides, options.db, options.retry_failed, options.force, quick=options.quick
    )
    if options.json:
        trials = [
            {
                "label": p.trial.label(),
                "benchmark": p.trial.benchmark,
                "method": p.trial.method,
                "fate": p.fate,
                "before": p.before,
                "reason": p.reason,
                "seconds": p.seconds,
            }
            for p in made.trials
        ]
        notes = [chosen.note for chosen in made.parts if chosen.note]
        configurations = sum(chosen.configurations for chosen in made.parts)
        found = {"sweep": loaded.name, "seconds": made.seconds, "configurations": configurations, "notes": notes}
        print(json.dumps({**found, "trials": trials}))
        return 0
    for line in plan_text.lines(made, options.all):
        print(line)
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
    )

    def say(sentence: str) -> None:
        print(sentence, file=sys.stderr, flush=True)

    try:
        loaded = sweep.load(options.sweep)
        executor = _executor(options, say)
    except (sweep.SweepError, ExecutorError) as error:
        if how.run_id:
            runner.refuse(Path(options.sweep).stem, how, str(error))
        raise
    state = runner.run(loaded, how, executor, say)
    print(_summary(state))
    if state.status == "cancelled":
        return 130
    return 1 if state.failed and not state.done else 0


def _executor(options: argparse.Namespace, say: Callable[[str], None]) -> Executor:
    if options.executor == "local":
        return LocalExecutor()
    try:
        from bench_engine.executors.ray import RayExecutor
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise ExecutorError("Ray is not installed here: `pip install -e '.[ray]'` installs it.") from error
    return RayExecutor(options.ray_address, say)


def _summary(state: RunState) -> str:
    if state.status == "cancelled":
        return f"Cancelled: {state.message}"
    text = f"Sweep {state.sweep}: {state.done} trials have results"
    text += f", {state.failed} failed" if state.failed else ""
    text += f", {state.skipped} cannot run" if state.skipped else ""
    return text + "." + (f"\nThe last failure: {state.message}" if state.message else "")


def _compare(options: argparse.Namespace) -> int:
    metric = compare.metric(options.metric)
    limit = compare.limit(options.fail_on, metric) if options.fail_on is not None else None
    where = [*options.where, *([f"benchmark={options.benchmark}"] if options.benchmark is not None else [])]
    found = compare.compare(Store(options.db), options.a, options.b, metric, where, options.relative)
    if options.json:
        print(json.dumps(compare_table.as_json(found, limit)))
    else:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        print(compare_table.text(found, shutil.get_terminal_size((100, 24)).columns, colour, limit))
    return 3 if limit and limit.exceeded(found) else 0


def _ingest(options: argparse.Namespace) -> int:
    store = Store(options.db)
    own = journal_dir(store.url)
    left_out = _merge(own, options.paths) if options.paths else 0
    print(journal.ingest(store, [own, *([examples_dir()] if options.examples else [])]).sentence())
    return 1 if left_out else 0


def _merge(own: Path, paths: Sequence[str]) -> int:
    """Copy other journals into our own. Returns how many entries could not be used."""
    report = journal.merge(own, [Path(path) for path in paths])
    for line in report.set_aside:
        print(f"Left out: {line}", file=sys.stderr)
    print(f"{report.added} trials copied into {own.name}/, {report.known} were there already.")
    return len(report.set_aside)


def _pack(options: argparse.Namespace) -> int:
    folder = journal_dir(Store(options.db).url)
    report = journal.pack(folder, Path(options.target))
    for line in report.unusable:
        print(f"Left out: {line}", file=sys.stderr)
    print(f"{report.packed} trials packed into {Path(options.target).name}.")
    return 1 if report.unusable else 0


def _export(options: argparse.Namespace) -> int:
    target = Path(options.target)
    rows = export.export(Store(options.db), target, options.view)
    print(f"{rows} rows of {options.view} written to {target.name}.")
    return 0


def _peers_list(_options: argparse.Namespace) -> int:
    for rival in RIVALS:
        lack = SkipReasons().of(rival.name, {})
        print(f"{rival.name:<14} {lack or 'ready, in ' + peers.place(rival.name, rival.packages)}")
    return 0


def _peers_install(options: argparse.Namespace) -> int:
    rivals = {m.name: m for m in RIVALS}
    for name in options.names:
        peers.install(name, rivals[name].packages, options.own, say=lambda line: print(line, flush=True))
    return 0


def _check_verdicts(options: argparse.Namespace) -> int:
    from bench_engine.selfcheck import verdicts

    report = verdicts.check_verdicts(options.rounds, options.busy, lambda line: print(line, flush=True))
    print(report.sentence())
    return 0 if report.trusted else 1


def _doctor(options: argparse.Namespace) -> int:
    findings = doctor.examine(options.db)
    if options.json:
        print(json.dumps(asdict(findings)))
        return 0
    for line in doctor.lines(findings):
        print(line)
    return 0

"""The arguments of the engine's command line: every command with its options, and what help says of them."""

import argparse

from bench_engine.compare import compare
from bench_engine.methods.rivals import RIVALS
from db import export

_DESCRIPTION = (
    "The engine's command line: build, list, plan, run, compare, ingest, pack, export, data, rivals, doctor, "
    "check-verdicts."
)
_RUN_STATUSES = (
    "Exit status: 0 all trials that can run have a result, 4 some of them failed, 1 none has a result or one sentence "
    "says what is wrong, 2 wrong usage, 130 cancelled."
)
_COMPARE_STATUSES = (
    "Exit status: 0 compared, 3 a configuration is as --fail-on says, 1 one sentence says why nothing was compared, 2 "
    "wrong usage."
)
_CHECK_STATUSES = "Exit status: 0 the file is whole, 1 it is not, 2 wrong usage."


def parser() -> argparse.ArgumentParser:
    """The parser; what it returns holds in `command` the words of the command that was given."""
    parser = argparse.ArgumentParser(prog="python -m bench_engine", description=_DESCRIPTION)
    _add_db(parser, default=None)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, text: str, statuses: str = "", *former: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, aliases=former, help=text, description=text, epilog=statuses or None)
        _add_db(sub, default=argparse.SUPPRESS)  # or it would take away what stands before the command
        sub.set_defaults(command=name)
        return sub

    command("build", "compile the kernels for this machine (once)")
    listing = command("list", "what can be run: methods, benchmarks with their axes, data sets, sweeps")
    listing.add_argument("--json", action="store_true", help="one JSON object (default: text)")
    planner = command("plan", "the trials of a sweep: what is done, what would be skipped, how long the rest takes")
    _add_sweep(planner)
    planner.add_argument("--json", action="store_true", help="one JSON object with every trial (default: text)")
    planner.add_argument(
        "--all", action="store_true", help="list all trials (default: count them where there are many)"
    )
    run = command("run", "run what is left of a sweep; stop it at any moment and run it again", _RUN_STATUSES)
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
    comparer = command(
        "compare", "two sweeps, commits, machines, methods or times, configuration by configuration", _COMPARE_STATUSES
    )
    _add_compare(comparer)
    ingester = command("ingest", "bring the journal into the database, and other journals into it first")
    ingester.add_argument(
        "paths",
        nargs="*",
        type=_named,
        metavar="PATH",
        help="journal folder or packed file of another machine, whose trials are copied (default: none)",
    )
    ingester.add_argument(
        "--examples", action="store_true", help="the example results that come with the code too (default: not)"
    )
    packer = command("pack", "write the whole journal into one file")
    packer.add_argument(
        "target", type=_named, metavar="TARGET", help="the file, for instance results.jsonl or results.jsonl.gz"
    )
    exporter = command("export", "write a view of the results as a Parquet file")
    exporter.add_argument("target", type=_named, metavar="TARGET", help="the file, for instance results.parquet")
    exporter.add_argument("--view", choices=export.VIEWS, default="results", help="what to write (default: results)")
    data = command("data", "which data sets there are, and whether a data file is whole")
    data_actions = data.add_subparsers(metavar="ACTION")
    data_list = data_actions.add_parser("list", help="the data sets (default)", description="the data sets")
    data_list.add_argument("--json", action="store_true", help="one JSON list (default: text)")
    text = "what a data file is, by its content, and whether it is whole"
    checking = data_actions.add_parser("check", help=text, description=text, epilog=_CHECK_STATUSES)
    checking.add_argument("path", type=_named, metavar="PATH", help="the file, also packed with gzip")
    checking.add_argument("--json", action="store_true", help="one JSON object (default: text)")
    checking.set_defaults(command="data check")
    rivals = command("rivals", "which rivals can run here, and how the others are installed", "", "peers")
    actions = rivals.add_subparsers(metavar="ACTION")
    actions.add_parser("list", help="the same", description="which rivals can run here")
    installer = actions.add_parser("install", help="install what rivals need, at the pinned versions")
    installer.add_argument("names", nargs="+", choices=[m.name for m in RIVALS if m.packages], metavar="NAME")
    installer.add_argument(
        "--own",
        action="store_true",
        help="into environments of their own, about 1 GB each (default: into this one, where no version is changed)",
    )
    installer.set_defaults(command="rivals install")
    examiner = command("doctor", "this machine, its compiler, kernels, data and results, and what to mend")
    examiner.add_argument("--json", action="store_true", help="one JSON object: facts, warnings (default: text)")
    checker = command(
        "check-verdicts",
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
        help="only trials with these values, one with a comma in double quotes; may be given several times "
        "(default: all)",
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
    parser.add_argument(
        "sweep", type=_named, metavar="SWEEP", help="a ready sweep by name, a .yaml file, or - for standard input"
    )
    parser.add_argument(
        "-p",
        dest="overrides",
        action="append",
        default=[],
        metavar="AXIS=V1,V2",
        help="other values for an axis, for methods (methods=dense,hashed), seeds (seeds=3: three of them), run_cap, "
        "random_seed, time_limit_s or memory_limit_gb; may be given several times (default: as the sweep says)",
    )
    parser.add_argument("--retry-failed", action="store_true", help="run again what failed (default: leave it)")
    parser.add_argument("--force", action="store_true", help="run everything again (default: what is left)")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a first look: fewer samples of each trial that has no thorough result yet (default: as the sweep says)",
    )


def _named(text: str) -> str:
    """A name or path; the empty one would stand for the current folder."""
    if not text.strip():
        raise argparse.ArgumentTypeError("a name or a path must be given, not an empty text")
    return text

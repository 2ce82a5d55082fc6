"""The arguments of the engine's command line: every command with its options, and what help says of them."""

import argparse
import math
from pathlib import Path
from typing import Any

from bench_engine.compare import compare
from bench_engine.machine.machine import code_version, package_version
from bench_engine.methods.rivals import RIVALS
from bench_engine.report.reported import FORMATS
from db import export

_DESCRIPTION = (
    "The engine's command line: build, list, plan, run, show, suggest, compare, track, ingest, pack, export, examples, "
    "data, rivals, doctor, check-verdicts, check-intervals."
)
_RUN_STATUSES = (
    "Exit status: 0 all trials that can run have a result, 4 some of them failed, 1 none has a result or one sentence "
    "says what is wrong, 2 wrong usage or an unknown name, 3 a configuration is as --fail-on says, 130 cancelled."
)
_COMPARE_STATUSES = (
    "Exit status: 0 compared, 3 a configuration is as --fail-on says, 1 one sentence says why nothing was compared, 2 "
    "wrong usage."
)
_TRACK_STATUSES = (
    "Exit status: 0 no change that --fail-on names, 3 there is one and it lasts, 1 one sentence says why nothing was "
    "followed, 2 wrong usage."
)
_SUGGEST_STATUSES = (
    "Exit status: 0 something is suggested, 1 nothing was measured that keeps the budget or one sentence says what is "
    "wrong, 2 wrong usage or an unknown name, 130 cancelled."
)
_EXAMPLES_STATUSES = (
    "Exit status: 0 all files are replaced, or planned, 4 some are left as they were, 1 one sentence says what is "
    "wrong, 2 wrong usage, 130 cancelled; the same command goes on."
)
_CHECK_STATUSES = "Exit status: 0 the file is whole, 1 it is not, 2 wrong usage."


def parser() -> argparse.ArgumentParser:
    """The parser; what it returns holds in `command` the words of the command that was given."""
    parser = argparse.ArgumentParser(prog="python -m bench_engine", description=_DESCRIPTION)
    _add_db(parser, default=None)
    _add_verbose(parser, default=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and the commit, and end")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, text: str, statuses: str = "", *former: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, aliases=former, help=text, description=text, epilog=statuses or None)
        _add_db(sub, default=argparse.SUPPRESS)  # or it would take away what stands before the command
        _add_verbose(sub, default=argparse.SUPPRESS)
        sub.set_defaults(command=name)
        return sub

    command("build", "compile the kernels for this machine (once)")
    listed = "what can be run: methods, benchmarks with their axes, data sets, metrics of plug-ins, sweeps"
    listing = command("list", listed)
    _add_flag(listing, "--json", "one JSON object (default: text)")
    _add_plugin(listing)
    _add_plan(command("plan", "the trials of a sweep: what is done, what would be skipped, how long the rest takes"))
    _add_run(command("run", "run what is left of a sweep; stop it at any moment and run it again", _RUN_STATUSES))
    shown = "the results of a run with speedups, intervals, verdicts and warnings, and what to do next"
    _add_show(command("show", shown))
    suggested = "what to use for a budget in MB on some data: a small search, chosen on the validation part"
    _add_suggest(command("suggest", suggested, _SUGGEST_STATUSES))
    compared = "two sweeps, commits, machines, methods or times, configuration by configuration"
    _add_compare(command("compare", compared, _COMPARE_STATUSES))
    _add_track(command("track", "where the times of a sweep have changed over commits", _TRACK_STATUSES))
    _add_ingest(command("ingest", "bring the journal into the database, and other journals into it first"))
    packer = command("pack", "write the whole journal into one file")
    _add_path(packer, "target", "TARGET", "the file, for instance results.jsonl or results.jsonl.gz")
    exporter = command("export", "write a view of the results as a Parquet file")
    _add_path(exporter, "target", "TARGET", "the file, for instance results.parquet")
    exporter.add_argument("--view", choices=export.VIEWS, default="results", help="what to write (default: results)")
    anew = "measure the example results that are shipped with the code anew, and replace their files at the end"
    _add_examples(command("examples", anew, _EXAMPLES_STATUSES))
    _add_data(command("data", "which data sets there are, and whether a data file is whole"))
    _add_rivals(command("rivals", "which rivals can run here, and how the others are installed", "", "peers"))
    examiner = command("doctor", "this machine, its compiler, kernels, data and results, and what to mend")
    _add_flag(examiner, "--json", "one JSON object: facts, warnings (default: text)")
    _add_flag(
        examiner, "--again", "measure anew what memory gives, and what gir's cost model knows (default: what was kept)"
    )
    checked = (
        "see whether verdicts can be trusted here: the same method twice, and one slowed by ten per cent, in turns"
    )
    checker = command("check-verdicts", checked)
    checker.add_argument("--rounds", type=int, default=20, metavar="N", help="how often (default: 20)")
    _add_flag(checker, "--busy", "keep one core busy meanwhile (default: not)")
    coverer = command(
        "check-intervals", "see whether intervals hold the truth here: methods whose ratio is known, in turns"
    )
    often = "how often; 0 shows what the file holds (default: 20)"
    coverer.add_argument("--rounds", type=int, default=20, metavar="N", help=often)
    beside = coverer.add_mutually_exclusive_group()
    for flag, told in (
        ("busy", "keep one core busy meanwhile"),
        ("visits", "let work on one core come and go meanwhile"),
    ):
        beside.add_argument(
            f"--{flag}", dest="beside", action="store_const", const=flag, default="", help=f"{told} (default: not)"
        )
    _add_flag(coverer, "--equal", "equal code alone, in groups of two (default: ratios up to 1.5 too)")
    coverer.add_argument(
        "--out", type=Path, default=Path("intervals.jsonl"), metavar="FILE",
        help="where rounds are added, a line each (default: intervals.jsonl)",
    )  # fmt: skip
    return parser


# -- commands with more than a few arguments -----------------------------------------------------------------------


def _add_plan(parser: argparse.ArgumentParser) -> None:
    _add_sweep(parser)
    _add_flag(parser, "--json", "one JSON object with every trial (default: text)")
    _add_flag(parser, "--all", "list all trials (default: count them where there are many)")


def _add_run(parser: argparse.ArgumentParser) -> None:
    _add_sweep(parser)
    _add_flag(parser, "--wait", "wait for a run that holds this machine (default: say so and end)")
    parser.add_argument("--run-id", default="", metavar="ID", help="name of the run's state file (default: made up)")
    parser.add_argument(
        "--executor",
        type=_executor,
        metavar="WHERE",
        default="local",
        help="where trials run: local for this machine, ray for all nodes of a Ray cluster, or "
        "ssh://[user@]host[:port][/folder] for another machine, to which the code is copied (default: local)",
    )
    parser.add_argument(
        "--ray-address",
        metavar="HOST:PORT",
        help="head of the Ray cluster (default: RAY_ADDRESS, else the cluster that runs on this machine)",
    )
    stopped = "end the run of this command that goes on at ssh://..., and bring what it has (default: attach to it)"
    _add_flag(parser, "--stop", stopped)
    kept = "keep the results under this name, for --baseline and `compare baseline:NAME`, unless as --fail-on says"
    parser.add_argument("--save-baseline", metavar="NAME", help=kept)
    parser.add_argument("--baseline", metavar="NAME", help="compare the results with those kept so (default: not)")
    _add_fail_on(parser)
    _add_report(parser)


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="RUN", nargs="?", default="last",
        help="id of a run or its beginning, name of a sweep (its last run), or last (default: last)",
    )  # fmt: skip
    _add_report(parser)


def _add_suggest(parser: argparse.ArgumentParser) -> None:
    _add_path(parser, "data", "DATA", "a data set by name (see `data list`), or a CSV or Parquet file of your own")
    budget = "MB (1e6 bytes) that the table may hold, metadata included"
    parser.add_argument("--budget-mb", type=float, required=True, metavar="MB", help=budget)
    parser.add_argument("--label", default="", metavar="COLUMN", help="of a file: the column that tells clicks")
    fields = "of a file: the columns of ids (default: all but label, time and the index that pandas writes)"
    parser.add_argument("--fields", type=_names, default=(), metavar="A,B", help=fields)
    liked = "of a file: from this value of the label on it is a click (default: labels are 0 and 1)"
    parser.add_argument("--liked", type=float, metavar="VALUE", help=liked)
    split = "of a file: split by this column, the latest rows last (default: at random)"
    parser.add_argument("--time", default="", metavar="COLUMN", help=split)
    parser.add_argument("--dim", type=int, default=16, metavar="D", help="dimension of the vectors (default: 16)")
    tried = "what is tried, of the methods of the benchmark training (default: those that are ahead at equal bytes)"
    parser.add_argument("--methods", type=_names, default=(), metavar="A,B", help=tried)
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="trainings of each table (default: 1)")
    _add_flag(parser, "--lookups", "time lookups at the budget asked for too (default: not)")
    limit = "begin no training that would end after so many seconds (default: run all)"
    parser.add_argument("--time-limit", type=float, metavar="S", help=limit)
    _add_flag(parser, "--plan", "say what would run and how long, and run nothing (default: run it)")
    _add_flag(parser, "--retry-failed", "run again what failed (default: leave it)")
    _add_flag(parser, "--wait", "wait for a run that holds this machine (default: say so and end)")
    _add_form(parser)


def _add_report(parser: argparse.ArgumentParser) -> None:
    _add_form(parser)
    _add_flag(parser, "--all", "list all trials (default: sum them up where there are many)")


def _add_form(parser: argparse.ArgumentParser) -> None:
    """How results are shown; `html` is one file with charts."""
    form = f"{', '.join(FORMATS)} (default: text)"
    parser.add_argument("--format", dest="form", choices=FORMATS, default="text", metavar="FORMAT", help=form)
    out = "write the results into this file (default: standard output)"
    parser.add_argument("--out", type=Path, metavar="FILE", help=out)


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    _add_path(parser, "sweep", "SWEEP", "a ready sweep by name, a .yaml file, or - for standard input")
    parser.add_argument(
        "-p",
        dest="overrides",
        action="append",
        default=[],
        metavar="AXIS=V1,V2",
        help="other values for an axis, for methods (methods=dense,my_bag.py:MyBag), seeds (seeds=3: three of them), "
        "metrics of plug-ins, run_cap, random_seed, time_limit_s or memory_limit_gb; may be given several times "
        "(default: as the sweep says)",
    )
    _add_flag(parser, "--retry-failed", "run again what failed (default: leave it)")
    _add_flag(parser, "--force", "run everything again (default: what is left)")
    quick = "a first look: fewer samples of each trial that has no thorough result yet (default: as the sweep says)"
    _add_flag(parser, "--quick", quick)
    _add_plugin(parser)


def _add_track(parser: argparse.ArgumentParser) -> None:
    _add_path(parser, "sweep", "SWEEP", "name of a sweep that has results of several commits")
    _add_where(parser)
    relative = "follow the time as a share of that of the baseline in turns (default: the time)"
    _add_flag(parser, "--relative", relative)
    chance = "tell changes that are at least so likely (default: 0.95)"
    parser.add_argument("--probability", type=_share, default=0.95, metavar="P", help=chance)
    least = "tell changes of at least so much (default: 2)"
    parser.add_argument("--least", type=_percent, default=0.02, metavar="PERCENT", help=least)
    last = "look at so many commits, the newest (default: 200)"
    parser.add_argument("--last", type=_several, default=200, metavar="N", help=last)
    by = "what runs are put in order by: commit, or the day on which they started (default: commit)"
    parser.add_argument("--by", choices=["commit", "day"], default="commit", help=by)
    _add_fail_on(parser)
    form = "text, markdown or json (default: text)"
    parser.add_argument("--format", dest="form", choices=["text", "markdown", "json"], default="text", help=form)


def _add_compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "a",
        metavar="A",
        help="the baseline: name of a sweep, a commit or a machine, or sweep:NAME, commit:abc1234, machine:NAME, "
        "method:NAME, run:ID, baseline:NAME, before:DATE or since:DATE",
    )
    parser.add_argument("b", metavar="B", help="what is compared with it, in the same forms")
    parser.add_argument(
        "--metric",
        default="latency_us",
        help=f"{', '.join(compare.METRICS)}, or a metric of a plug-in (default: latency_us)",
    )
    _add_where(parser)
    parser.add_argument("--benchmark", metavar="NAME", help="only trials of this benchmark (default: all)")
    _add_flag(
        parser,
        "--relative",
        "judge the change against the baseline that took turns with each side, so that a machine that has become "
        "slower is no slower method (default: judge the times)",
    )
    _add_fail_on(parser)
    _add_flag(parser, "--json", "one JSON object (default: text)")


def _add_where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="AXIS=V1,V2",
        help="only trials with these values, one with a comma in double quotes; may be given several times "
        "(default: all)",
    )


def _add_fail_on(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fail-on",
        metavar="WORD:PERCENT",
        help="exit with status 3 where a configuration surely is, such as slower:5%% or larger:1%% (default: never)",
    )


def _add_ingest(parser: argparse.ArgumentParser) -> None:
    paths = "journal folder or packed file of another machine, whose trials are copied (default: none)"
    _add_path(parser, "paths", "PATH", paths, nargs="*")
    _add_flag(parser, "--examples", "the example results that come with the code too (default: not)")


def _add_examples(parser: argparse.ArgumentParser) -> None:
    files = "which, as paths below db/examples (default: all)"
    parser.add_argument("files", metavar="FILE", nargs="*", help=files)
    _add_flag(parser, "--plan", "say what would run and how long, and run nothing (default: run it)")
    _add_flag(parser, "--json", "the plan as one JSON list, and run nothing (default: text)")
    _add_flag(parser, "--retry-failed", "run again what failed (default: leave it)")
    _add_flag(parser, "--fewer", "take new files also where they hold fewer results (default: leave the old ones)")
    _add_flag(parser, "--wait", "wait for a run that holds this machine (default: say so and end)")
    work = "where trials are kept until all are there (default: build/examples)"
    parser.add_argument("--work", type=Path, metavar="FOLDER", help=work)


def _add_data(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION")
    listing = actions.add_parser("list", help="the data sets (default)", description="the data sets")
    _add_flag(listing, "--json", "one JSON list (default: text)")
    text = "what a data file is, by its content, and whether it is whole"
    checking = actions.add_parser("check", help=text, description=text, epilog=_CHECK_STATUSES)
    _add_path(checking, "path", "PATH", "the file, also packed with gzip")
    _add_flag(checking, "--json", "one JSON object (default: text)")
    checking.set_defaults(command="data check")
    parser.set_defaults(json=False)  # where no action is named


def _add_rivals(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION")
    actions.add_parser("list", help="the same", description="which rivals can run here")
    installer = actions.add_parser("install", help="install what rivals need, at the pinned versions")
    installer.add_argument("names", nargs="+", choices=[m.name for m in RIVALS if m.packages], metavar="NAME")
    own = "into environments of their own, about 1 GB each (default: into this one, where no version is changed)"
    _add_flag(installer, "--own", own)
    installer.set_defaults(command="rivals install")


# -- arguments that several have -----------------------------------------------------------------------------------


def _add_flag(parser: argparse.ArgumentParser, name: str, text: str) -> None:
    parser.add_argument(name, action="store_true", help=text)


def _add_plugin(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plugin",
        dest="plugins",
        action="append",
        default=[],
        metavar="FILE",
        help="a .py file or module with methods, benchmarks, data sets or metrics of your own, or one of its classes "
        "as FILE:CLASS; may be given several times (default: MIRROR_PLUGINS)",
    )


def _add_path(parser: argparse.ArgumentParser, name: str, metavar: str, text: str, nargs: str | None = None) -> None:
    parser.add_argument(name, type=_named, metavar=metavar, help=text, nargs=nargs)


def _add_db(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument(
        "--db",
        metavar="URL",
        default=default,
        help="the results: path of a DuckDB file or a SQLAlchemy URL (default: MIRROR_DB, else db/mirror.duckdb)",
    )


def _add_verbose(parser: argparse.ArgumentParser, default: Any) -> None:
    text = "tell what each trial measured, and where an error comes from (default: not)"
    parser.add_argument("-v", "--verbose", action="store_true", default=default, help=text)


class _Version(argparse.Action):
    """Shows the version, which is looked up where it is asked for alone."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"mirror-bench {package_version()}, commit {code_version()}")
        parser.exit()


def _names(text: str) -> tuple[str, ...]:
    """Names with commas between them."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError("names with commas between them, such as user,item")
    return names


def _executor(text: str) -> str:
    """Where trials run; what an address holds is looked at when it is used."""
    if text not in ("local", "ray") and not text.startswith("ssh://"):
        raise argparse.ArgumentTypeError("local, ray or ssh://[user@]host[:port][/folder]")
    return text


def _real(text: str) -> float:
    """A number; NaN, which lies in no range, for what is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _share(text: str) -> float:
    """A probability that something must have."""
    if not 0.5 <= _real(text) < 1:
        raise argparse.ArgumentTypeError("a probability from 0.5 to below 1, such as 0.95")
    return float(text)


def _percent(text: str) -> float:
    if not 0 <= _real(text.removesuffix("%")) <= 1000:
        raise argparse.ArgumentTypeError("a percentage such as 2")
    return float(text.removesuffix("%")) / 100


def _several(text: str) -> int:
    if not text.isdecimal() or not 2 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError("a whole number from 2 to 1000")
    return int(text)


def _named(text: str) -> str:
    """A name or path; the empty one would stand for the current folder."""
    if not text.strip():
        raise argparse.ArgumentTypeError("a name or a path must be given, not an empty text")
    return text

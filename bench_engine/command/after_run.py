"""What follows a run: its results shown (`show`), kept as a baseline, compared with one that was kept before, and
followed over commits (`track`)."""

import argparse
import json
import os
import shutil
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench_engine.compare import baselines, compare, comparison_table
from bench_engine.compare.compare import METRICS, Limit
from bench_engine.compare.sides import CompareError, SameTrialsError, UsageError
from bench_engine.machine.machine import code_version
from bench_engine.report import reported, run_results
from bench_engine.track import track_text, tracked
from db import journal
from db.runs import RunState, trials_of
from db.settings import journal_dir
from db.store import Store, StoreError


def show(options: argparse.Namespace) -> int:
    """The command `show`."""
    _show(options, run_results.of_run(Store(options.db), options.name))
    return 0


def track(options: argparse.Namespace) -> int:
    """The command `track`."""
    limit = compare.limit(options.fail_on, METRICS["latency_us"]) if options.fail_on is not None else None
    found = tracked.track(
        Store(options.db),
        options.sweep,
        options.where,
        options.relative,
        options.probability,
        options.least,
        options.last,
        options.by,
    )
    if options.form == "json":
        print(json.dumps(track_text.as_json(found, limit)))
    elif options.form == "markdown":
        sys.stdout.write(track_text.markdown(found, limit))
    else:
        print(track_text.text(found, *terminal(), limit))
    return 3 if limit and found.exceeded(limit) else 0


def terminal() -> tuple[int, bool]:
    """Width of the terminal in columns, and whether it shows colours."""
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return shutil.get_terminal_size((100, 24)).columns, colour


def _show(options: argparse.Namespace, found: run_results.RunResults) -> None:
    width, colour = terminal()
    text = reported.rendered(found, options.form, width, colour and not options.out, options.all)
    if options.out is None:
        sys.stdout.write(text)
        return
    reported.write(text, options.out)
    print(f"{found.title}: written to {options.out}.", file=sys.stderr)


@dataclass(frozen=True)
class Wanted:
    """What is to follow a run: the baseline to compare with, and what is not to be."""

    baseline: baselines.Baseline | None
    limit: Limit | None


def wanted(options: argparse.Namespace) -> Wanted:
    """What is asked for beside the results, checked ahead of the run. Raises UsageError."""
    check_out(options.out)
    folder = journal_dir(Store(options.db).url)
    try:
        if options.save_baseline is not None:
            baselines.check_name(options.save_baseline)
        baseline = None if options.baseline is None else baselines.load(folder, options.baseline)
    except baselines.BaselineError as error:
        raise UsageError(str(error)) from error
    if options.fail_on is None:
        return Wanted(baseline, None)
    if baseline is None:
        raise UsageError("--fail-on needs something to compare with: name it with --baseline.")
    return Wanted(baseline, compare.limit(options.fail_on, METRICS["latency_us"]))


def check_out(out: Path | None) -> None:
    """Raises UsageError for a file that results cannot be written to."""
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise UsageError(f"--out {out} is no file in a folder that is there.")


def follow_up(options: argparse.Namespace, state: RunState, wanted: Wanted) -> bool:
    """Show what a run found, keep it where asked, and compare it. Returns whether something is as --fail-on says.

    The results are safe by now: one that cannot be shown is a sentence on standard error. Raises StoreError where they
    cannot be read to be compared or kept.
    """
    store = Store(options.db)
    try:
        found = run_results.of_run(store, state.run_id)
        if options.form == "text" and options.out is None:
            print()
        try:
            _show(options, found)
        except reported.ReportError as error:
            print(f"{error} `show {state.run_id}` shows the results later.", file=sys.stderr)
        is_worse = wanted.baseline is not None and _compared(store, wanted.baseline, state, wanted.limit, options)
        if options.save_baseline is not None and is_worse:
            print(f"Not kept as the baseline {options.save_baseline}: it is as --fail-on says.", file=sys.stderr)
        elif options.save_baseline is not None:  # only now: it may be the one that was compared with
            _keep(store, options.save_baseline, state)
        return is_worse
    except StoreError as error:
        if wanted.limit is not None or options.save_baseline is not None:
            raise  # not compared, or not kept: no success
        print(f"{error} `show {state.run_id}` shows the results later.", file=sys.stderr)
    return False


def _keep(store: Store, name: str, state: RunState) -> None:
    folder = journal_dir(store.url)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    ids = trials_of(folder, state.run_id)
    baselines.save(folder, baselines.of_trials(name, state.sweep, now, code_version(), ids))
    print(f"Kept as the baseline {name}: --baseline {name} compares later runs with it.", file=sys.stderr)


def _compared(
    store: Store, baseline: baselines.Baseline, state: RunState, limit: Limit | None, options: argparse.Namespace
) -> bool:
    """Print how the run stands to a baseline, on standard error where standard output is a file's content."""
    out = sys.stdout if options.form == "text" else sys.stderr
    journal.bring_timings(store)
    try:
        found = compare.compare(store, f"baseline:{baseline.name}", f"run:{state.run_id}")
    except CompareError as error:
        if limit and not isinstance(error, SameTrialsError):
            raise
        print(f"\n{error} --force measures all anew.", file=out)
        return False
    print("", comparison_table.text(found, *terminal(), limit), sep="\n", file=out)
    return bool(limit and limit.exceeded(found))

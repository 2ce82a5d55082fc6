"""What `doctor` says: this machine, what Mirror needs on it, where the results are, and what to mend."""

import contextlib
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench_engine.kernels.native import cache, extension
from bench_engine.machine import bandwidth, counters, hardware, machine, probe
from bench_engine.machine.lock import MachineBusyError, machine_lock
from bench_engine.machine.system_files import fields
from bench_engine.measure.measure import SAMPLE_NS
from bench_engine.progress import duration
from bench_engine.registry import DATA_SETS, missing
from bench_engine.run.executors import environment
from bench_engine.run.executors.bandwidth_ahead import BandwidthAhead
from bench_engine.selfcheck import SelfCheckError, overhead
from bench_engine.sweep.search import counted
from db import journal
from db.installation import INSTALLED, ROOT
from db.runs import RunStateError
from db.settings import journal_dir
from db.store import Store, StoreError

_WIDTH = 80
_INDENT = 20
_TESTED_PYTHON = "3.11"  # with the versions in requirements.txt
_MUCH_STEAL = 0.02
_BUSY_CORES = 0.2
_LITTLE_DISK_GB = 1.0
_JOURNAL_S = 3.0  # for reading the journal: some ten thousand entries

_ADDRESSES = (
    "Workers cannot be given the same addresses (`setarch -R true` fails), so equal methods may differ by several per "
    "cent: install util-linux, or allow personality(2) where a container forbids it."
)
# Another run holds the machine, or the folder for temporary files is full.
_NOT_MEASURED = (MachineBusyError, SelfCheckError, StoreError, journal.JournalError, RunStateError, OSError)

# Facts by name, and warnings that belong to them: whole sentences, or nothing.
_Section = tuple[dict[str, Any], list[str]]


@dataclass(frozen=True)
class Findings:
    """What was found.

    Attributes:
        facts: section -> name -> value; what cannot be read is absent. Units are in the names.
        warnings: what disturbs measurements or is missing, each a sentence that says what to do.
    """

    facts: Mapping[str, Mapping[str, Any]]
    warnings: tuple[str, ...]


def examine(url: str | None = None, again: bool = False) -> Findings:
    """Look at this machine and at the results of a URL, and measure the engine's overhead; takes some seconds.

    `again`: measure anew what memory gives, which is kept else, and have the cost model of gir calibrated anew.
    """
    store = Store(url)
    sections = {
        "machine": _machine(),
        "state": _state(),
        "software": _software(),
        "engine": _engine(),
        "overhead": _overhead(),
        "bandwidth": _bandwidth(again),
        "data": _data(),
        "results": _results(store),
    }
    facts = {
        title: {name: value for name, value in found.items() if value is not None}
        for title, (found, _) in sections.items()
    }
    return Findings(facts, tuple(warning for _, warnings in sections.values() for warning in warnings if warning))


def lines(findings: Findings) -> list[str]:
    """The findings as text of 80 columns: the facts in groups, then the warnings."""
    text = []
    for title, facts in findings.facts.items():
        text.append(title)
        for name, value in facts.items():
            text += _wrapped(f"  {name:<{_INDENT - 3}} ", _said(value), " " * _INDENT)
        text.append("")
    text.append("warnings" if findings.warnings else "no warnings")
    for warning in findings.warnings:
        text += _wrapped("  ! ", warning, "    ")
    return text


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _wrapped(first: str, text: str, rest: str) -> list[str]:
    """Lines of text; a command in backticks stays whole, so that it can be copied."""
    text = re.sub(r"`[^`]*`", lambda command: command[0].replace(" ", "\0"), text)
    found = textwrap.wrap(
        text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in found] or [first.rstrip()]


# -- sections ------------------------------------------------------------------------------------------------------


def _machine() -> _Section:
    facts = machine.machine()
    del facts["os"]
    return {**facts, **hardware.details()}, []


def _state() -> _Section:
    # In this order: the look for busy processes must not find this one's own work.
    busy, clock = probe.busiest(), probe.clock()
    boot, now = probe.steal_since_boot(), probe.steal_now()
    facts = {
        **machine.conditions(),
        "clock_step_ns": clock.step_ns,
        "clock_cost_ns": clock.cost_ns,
        "counted": ", ".join(counters.available()) or "nothing",
        "energy": "package" if counters.energy_uj() else "none",
        "steal_boot_pct": _percent(boot),
        "steal_now_pct": _percent(now),
        "busiest": f"{busy.name} (process {busy.pid}), {100 * busy.cores:.0f} % of a core" if busy else None,
    }
    stolen = _stolen(now, "just now") or _stolen(boot, "since it started")
    return facts, [*machine.warnings(), stolen, _busy(busy)]


def _stolen(share: float | None, when: str) -> str:
    if share is None or share <= _MUCH_STEAL:
        return ""
    return (
        f"Other virtual machines took {_percent(share):g} % of the time that this one wanted {when}: measure at a "
        "quieter hour or on a machine of your own, or expect noise."
    )


def _busy(busy: probe.Busy | None) -> str:
    if busy is None or busy.cores <= _BUSY_CORES:
        return ""
    return (
        f"{busy.name} (process {busy.pid}) uses {100 * busy.cores:.0f} % of a core: end it or wait for it, or expect "
        "noise."
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 1)


def _software() -> _Section:
    facts = machine.software()
    warnings = [_python()]
    for package in ("torch", "numpy"):
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
            warnings.append(f"{package} is not installed: run `pip install -r requirements.txt`.")
    return {**facts, "code": machine.code_version()}, warnings


def _python() -> str:
    """A sentence about a Python that is another than it should be."""
    if INSTALLED:  # with whatever versions its requirements allow
        return ""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    venv = ROOT / ".venv"
    there = ".".join(fields(venv / "pyvenv.cfg", "=").get("version", "").split(".")[:2])
    if there not in ("", here) and Path(sys.prefix) != venv:
        return f"This is Python {here}, and .venv holds {there}: `source .venv/bin/activate` first."
    if here != _TESTED_PYTHON:
        return (
            f"This is Python {here}, and requirements.txt was tested with {_TESTED_PYTHON}: if something fails, "
            f"`make clean` and `make app PYTHON=python{_TESTED_PYTHON}` make the environment anew."
        )
    return ""


def _engine() -> _Section:
    built, same_addresses = extension.built(), bool(environment.same_addresses())
    facts = {"kernels": "built" if built else "not built", "same_addresses": same_addresses}
    warnings = [] if same_addresses else [_ADDRESSES]
    try:
        facts |= extension.toolchain()
    except extension.CompilerMissingError as error:
        return {**facts, "compiler": "none"}, [*warnings, str(error)]
    return facts, warnings if built else [*warnings, f"Some methods cannot run: {extension.NOT_BUILT}"]


def _overhead() -> _Section:
    try:
        found = overhead.measure()
    except _NOT_MEASURED as error:
        return {"measured": "no"}, [f"The engine's own overhead was not measured: {_small(str(error))}"]
    return {
        "per trial": f"{found.trial_s:.2f} s beyond the calls that are timed",
        "in a sample": f"{found.sample_ns:.0f} ns, {found.sample_share:.2%} of one of {SAMPLE_NS / 1000:.0f} µs",
        "between samples": f"{found.between_ns:.0f} ns, {found.between_share:.2%} of one of {SAMPLE_NS / 1000:.0f} µs",
    }, []


def _bandwidth(again: bool) -> _Section:
    counts = dict.fromkeys((1, hardware.cores()))
    lacking: list[int] = []
    warnings: list[str] = []
    try:
        with machine_lock("bandwidths", kind="Measuring of"):  # a run that holds the machine needs what was kept
            ahead = BandwidthAhead()
            before = {threads: bandwidth.kept(threads) for threads in counts if again}
            for threads in before:
                bandwidth.forget(threads)
            lacking = [threads for threads in counts if not ahead.known(threads)]
            for known in (before.get(threads) for threads in lacking):
                if known:
                    bandwidth.keep(known)
            if again:
                _forget_calibration()
    except MachineBusyError as error:
        if again or not any(map(bandwidth.kept, counts)):
            warnings = [f"What memory gives was not measured{' anew' if again else ''}: {_small(str(error))}"]
    found = {threads: bandwidth.kept(threads) for threads in counts}
    facts = {counted(threads, "thread"): known.text() for threads, known in found.items() if known}
    said = (f"What memory gives with {counted(threads, 'thread')} could not be measured." for threads in lacking)
    return facts or {"measured": "no"}, [*warnings, *said]


def _forget_calibration() -> None:
    """Have the cost model of gir calibrated by the next trial that needs it; what it has compiled stays."""
    for entry in (entry for folder in cache.folders() for entry in (folder / "gir").glob("*/entry.json")):
        with contextlib.suppress(OSError, ValueError):
            if {"measured", "speeds"} & json.loads(entry.read_text(encoding="utf-8")).keys():
                shutil.rmtree(entry.parent)


def _data() -> _Section:
    absent = {name: missing(name) for name in DATA_SETS}
    facts = {name: "missing" if sentence else "there" for name, sentence in absent.items()}
    return facts, [f"{name} cannot be used: {_small(text)}" for name, text in absent.items() if text]


def _small(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


# -- results -------------------------------------------------------------------------------------------------------


def _results(store: Store) -> _Section:
    folder = journal_dir(store.url)
    free_gb = shutil.disk_usage(_nearest(folder)).free / 1e9
    facts: dict[str, Any] = {"disk_free_gb": round(free_gb, 1)}
    warnings = _unwritable(store, folder)
    if free_gb < _LITTLE_DISK_GB:
        warnings.append(
            f"Only {free_gb:.2g} GB of disk are free for {folder.name}/: make room, or name another folder with "
            "MIRROR_JOURNAL."
        )
    entries: set[str] = set()
    try:
        entries = _trial_ids(folder)
        facts["journal"] = f"{folder.name}/: {len(entries)} trials"
        warnings += [_set_aside(folder), _broken(folder)]
    except OSError as error:
        facts["journal"] = f"{folder.name}/: cannot be read"
        warnings.append(f"The journal {folder.name}/ cannot be read ({error.strerror}): mend the rights of its folder.")
    examples = sum(len(_trial_ids(folder)) for folder in journal.example_folders())
    facts["examples"] = f"{examples} trials; `python -m bench_engine ingest --examples` loads them"
    facts["results"] = f"{store.name}: cannot be read"
    try:
        stored = {row["trial_id"] for row in store.rows("SELECT trial_id FROM trials")}
        facts["results"] = f"{store.name}: {len(stored)} trials"
        if lacking := len(entries - stored):
            warnings.append(f"{store.name} lacks {lacking} trials of the journal: run `python -m bench_engine ingest`.")
        warnings.append(_clock_set_back(store))
    except StoreError as error:
        warnings.append(str(error))
    except OSError as error:
        warnings.append(f"The results {store.name} cannot be read ({error.strerror}): mend the rights of their folder.")
    return facts, warnings


def _broken(folder: Path) -> str:
    """A sentence about entries that have broken where they lie; `ingest` reads none whose trial the results have."""
    found = journal.check(folder, _JOURNAL_S)
    if not found.unusable:
        return ""
    among = "" if found.all else f" of the last {found.read} (there was no time for more)"
    return (
        f"{len(found.unusable)} journal entries{among} cannot be used ({found.unusable[0].removesuffix('.')}): update "
        "Mirror where it says so, copy the others again from another journal or a packed file, or delete them."
    )


def _set_aside(folder: Path) -> str:
    broken = sorted(folder.glob("*.broken"))
    if not broken:
        return ""
    return (
        f"{len(broken)} journal entries are broken and set aside in {folder.name}/, {broken[0].name} first: "
        "delete them when you miss none of their trials."
    )


def _trial_ids(folder: Path) -> set[str]:
    attempts = journal.attempts([folder])
    return {f"{identity}-{number}" for identity, tries in attempts.items() for number in tries}


def _clock_set_back(store: Store) -> str:
    """A sentence where results of this machine lie in the future: whatever is measured now would not replace them."""
    query = "SELECT max(started_at) AS newest FROM results WHERE machine_id = :machine_id"
    newest = store.rows(query, machine_id=machine.machine()["machine_id"])[0]["newest"]
    ahead = (newest - datetime.now(UTC).replace(tzinfo=None)).total_seconds() if newest else 0.0
    if ahead <= 0:
        return ""
    return (
        f"The system clock is {duration(ahead)} behind the newest result of this machine, so new results would count "
        "as older: set the clock, `sudo timedatectl set-ntp true`, or wait that long where it is right now."
    )


def _unwritable(store: Store, folder: Path) -> list[str]:
    """Sentences about the places of results that nothing can be written to."""
    found = []
    if not _may_write(folder):
        found.append(
            f"The journal {folder.name}/ cannot be written, and no trial can be kept: mend the rights of its folder, "
            "or name another with MIRROR_JOURNAL."
        )
    if store.path and not (_may_write(store.path.parent) and (not store.path.exists() or _access(store.path))):
        found.append(
            f"The results {store.name} cannot be written: mend the rights of the file and its folder, or name another "
            "file with MIRROR_DB."
        )
    return found


def _may_write(folder: Path) -> bool:
    """Whether files can be made in a folder, or in the one that it would have to be made in."""
    nearest = _nearest(folder)
    return nearest.is_dir() and _access(nearest)


def _access(path: Path) -> bool:
    return os.access(path, os.W_OK)


def _nearest(path: Path) -> Path:
    """The path, or the folder nearest above it that is there."""
    path = path.absolute()
    return next(p for p in (path, *path.parents) if os.path.exists(p))  # Path.exists raises where it may not look

"""What `doctor` says: this machine, what Mirror needs on it, where the results are, and what to mend."""

import shlex
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench_engine import machine
from bench_engine.data import files
from bench_engine.kernels import extension
from bench_engine.registry import DATA_SETS
from db import journal
from db.settings import examples_dir, journal_dir
from db.store import Store, StoreError


def report(url: str | None = None) -> list[str]:
    """Lines of text: facts first, then warnings, each a sentence that says what to do."""
    facts = {**machine.machine(), **machine.state(), "code": machine.code_version(), "torch": _torch()}
    lines = [f"{name:<16} {value}" for name, value in facts.items() if value is not None]
    warnings = machine.warnings()
    built = extension.built()
    lines.append(f"{'kernels':<16} {'built' if built else 'not built'}")
    try:
        lines.append(f"{'compiler':<16} {shlex.join(extension.compiler())}")
        if not built:
            warnings.append(f"Some methods cannot run: {extension.NOT_BUILT}")
    except extension.CompilerMissingError as error:
        lines.append(f"{'compiler':<16} none")
        warnings.append(str(error))
    for name in DATA_SETS:
        missing = files.missing(name)
        lines.append(f"{'data ' + name:<16} {'missing' if missing else 'there'}")
        warnings += [missing] if missing else []
    store_lines, store_warnings = _results(Store(url))
    warnings += store_warnings
    return [*lines, *store_lines, *(f"! {w}" for w in warnings)]


def _results(store: Store) -> tuple[list[str], list[str]]:
    folder = journal_dir(store.url)
    entries, examples = _trial_ids(folder), _trial_ids(examples_dir())
    lines = [
        f"{'journal':<16} {folder.name}/: {len(entries)} trials",
        f"{'examples':<16} {len(examples)} trials; `python -m bench_engine ingest --examples` loads them",
    ]
    warnings = []
    broken = sorted(folder.glob("*.broken"))
    if broken:
        warnings.append(
            f"{len(broken)} journal entries are broken and set aside in {folder.name}/, {broken[0].name} first."
        )
    try:
        stored = {row["trial_id"] for row in store.rows("SELECT trial_id FROM trials")}
        lines.append(f"{'results':<16} {store.name}: {len(stored)} trials")
        if lacking := len(entries - stored):
            warnings.append(f"{store.name} lacks {lacking} trials of the journal: run `python -m bench_engine ingest`.")
    except StoreError as error:
        lines.append(f"{'results':<16} {store.name}: cannot be read")
        warnings.append(str(error))
    return lines, warnings


def _trial_ids(folder: Path) -> set[str]:
    attempts = journal.attempts([folder])
    return {f"{identity}-{number}" for identity, tries in attempts.items() for number in tries}


def _torch() -> str:
    try:
        return version("torch")
    except PackageNotFoundError:
        return "not installed: run `pip install -r requirements.txt`"

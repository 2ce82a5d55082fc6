"""The journal: one JSON file per finished trial, written atomically; the results can always be rebuilt from it."""

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from db.record import NewerFormatError, Record, RecordError, from_json
from db.store import Store


class JournalError(RuntimeError):
    """The journal cannot be written; the message says what to do."""


def write(folder: Path, record: Record) -> Path:
    """Write one record as `<trial_id>.<status>.json`. It is whole or absent, whatever happens meanwhile.

    Raises JournalError when the disk is full or the folder cannot be written, and when the trial is already there.
    """
    path = folder / f"{record.trial_id}.{record.status}.json"
    temporary = ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(record.to_json() + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)  # unlike a rename, this fails where the name is taken
        _sync_folder(folder)
    except FileExistsError as error:
        raise JournalError(
            f"Trial {record.trial_id} is already in the journal: two runs are writing to {folder.name}/."
        ) from error
    except OSError as error:
        raise JournalError(
            f"The journal {folder.name}/ cannot be written: {error.strerror}. "
            "Mend that and start again; finished trials are kept."
        ) from error
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
    return path


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def attempts(folders: Iterable[Path]) -> dict[str, list[str]]:
    """identity -> statuses of its attempts, oldest first. Loose files are read by name only, so this is quick."""
    found: dict[str, list[tuple[int, str]]] = {}
    for folder in folders:
        for path in folder.glob("*.json"):
            trial_id, _, status = path.name.removesuffix(".json").rpartition(".")
            identity, _, attempt = trial_id.rpartition("-")
            if identity and attempt.isdigit():
                found.setdefault(identity, []).append((int(attempt), status))
        for path in folder.glob("*.jsonl"):
            for record in _packed(path, []):
                identity, _, attempt = record.trial_id.rpartition("-")
                found.setdefault(identity, []).append((int(attempt), record.status))
    return {identity: [status for _, status in sorted(tries)] for identity, tries in found.items()}


@dataclass
class IngestReport:
    """What `ingest` did."""

    added: int = 0
    known: int = 0
    set_aside: list[str] = field(default_factory=list)

    def sentence(self) -> str:
        text = f"{self.added} trials added, {self.known} were already there."
        return text + "".join(f"\nSet aside: {line}" for line in self.set_aside)


def ingest(store: Store, folders: Iterable[Path]) -> IngestReport:
    """Bring every journal entry of the folders into the store. Entries that cannot be used are set aside and named."""
    report = IngestReport()
    store.ensure()
    known = {row["trial_id"] for row in store.rows("SELECT trial_id FROM trials")}
    batch: list[Record] = []
    for folder in folders:
        for record in _fresh(folder, known, report):
            batch.append(record)
            if len(batch) == 2000:  # keeps memory flat on a journal of any length
                report.added += store.add(batch)
                batch.clear()
    report.added += store.add(batch)
    store.checkpoint()
    return report


def _fresh(folder: Path, known: set[str], report: IngestReport) -> Iterator[Record]:
    for path in sorted(folder.glob("*.json")):
        if path.name.removesuffix(".json").rpartition(".")[0] in known:
            report.known += 1
            continue
        try:
            record = from_json(path.read_text(encoding="utf-8"))
        except NewerFormatError as error:
            report.set_aside.append(f"{path.name} is left alone: {error}.")
        except (RecordError, UnicodeDecodeError) as error:
            path.rename(path.with_suffix(".json.broken"))
            report.set_aside.append(f"{path.name}.broken: {error}.")
        except OSError as error:
            report.set_aside.append(f"{path.name} cannot be read: {error.strerror}.")
        else:
            yield from _count(record, known, report)
    for path in sorted(folder.glob("*.jsonl")):
        for record in _packed(path, report.set_aside):
            yield from _count(record, known, report)


def _count(record: Record, known: set[str], report: IngestReport) -> Iterator[Record]:
    if record.trial_id in known:
        report.known += 1
    else:
        known.add(record.trial_id)
        yield record


def _packed(path: Path, problems: list[str]) -> Iterator[Record]:
    """Records of a packed journal: one entry per line."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield from_json(line)
            except RecordError as error:
                problems.append(f"line {number} of {path.name}: {error}.")


def pack(folder: Path, target: Path) -> int:
    """Write all whole entries of a journal folder into one packed file, oldest first. Returns how many."""
    records = sorted(_fresh(folder, set(), IngestReport()), key=lambda r: (r.trial["started_at"], r.trial_id))
    temporary = target.with_suffix(".part")
    with temporary.open("w", encoding="utf-8") as file:
        file.writelines(r.to_json() + "\n" for r in records)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, target)
    return len(records)

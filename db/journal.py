"""The journal: one JSON file per finished trial, written atomically; the results can always be rebuilt from it."""

import contextlib
import gzip
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from db.record import NewerFormatError, Record, RecordError, from_json
from db.settings import examples_dir, journal_dir
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
        try:
            os.link(temporary, path)  # unlike a rename, this fails where the name is taken
        except FileExistsError as error:
            raise JournalError(
                f"Trial {record.trial_id} is already in the journal: two runs are writing to {folder.name}/."
            ) from error
        _sync_folder(folder)
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


def attempts(folders: Iterable[Path]) -> dict[str, dict[int, str]]:
    """identity -> {number of the attempt: status}, oldest first. Loose files are read by name only: quick."""
    found: dict[str, dict[int, str]] = {}
    for folder in folders:
        named = [path.name.removesuffix(".json").rpartition(".")[::2] for path in folder.glob("*.json")]
        packed = [(r.trial_id, r.status) for path in _packed_files(folder) for r in _packed(path, [])]
        for trial_id, status in named + packed:
            identity, _, attempt = trial_id.rpartition("-")
            if identity and attempt.isdecimal():
                found.setdefault(identity, {})[int(attempt)] = status
    return {identity: dict(sorted(tries.items())) for identity, tries in found.items()}


def read(folder: Path, trial_id: str, status: str) -> Record | None:
    """The loose entry of one trial; None when there is none that can be read."""
    try:
        return from_json((folder / f"{trial_id}.{status}.json").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RecordError):
        return None


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


def open_results(url: str | None = None) -> Store:
    """The store of a URL, ready to be asked: created from its journal and the example results where it is new."""
    store = Store(url)
    if store.ensure():
        ingest(store, [journal_dir(store.url), examples_dir()])
    recover(store)
    return store


def recover(store: Store) -> None:
    """Bring the journal into a store again whose database has lost its log."""
    if store.recovered:
        ingest(store, [journal_dir(store.url)])
        store.recovered = False


def _set_aside(path: Path) -> str:
    """Rename an entry that cannot be used, so that it is reported once. Returns the name it has now."""
    aside = path.with_name(path.name + ".broken")
    try:
        path.rename(aside)
    except OSError:  # a read-only journal: the entry stays where it is and is reported each time
        return path.name
    return aside.name


def _fresh(
    folder: Path, known: set[str], report: IngestReport, name_broken: Callable[[Path], str] = _set_aside
) -> Iterator[Record]:
    """Records that are not known yet. Others are put down in the report, by the name that `name_broken` gives."""
    for path in sorted(folder.glob("*.json")):
        if path.name.removesuffix(".json").rpartition(".")[0] in known:
            report.known += 1
            continue
        try:
            record = from_json(path.read_text(encoding="utf-8"))
        except NewerFormatError as error:
            report.set_aside.append(f"{path.name} is left alone: {error}.")
        except (RecordError, UnicodeDecodeError) as error:
            report.set_aside.append(f"{name_broken(path)}: {error}.")
        except OSError as error:
            report.set_aside.append(f"{path.name} cannot be read: {error.strerror}.")
        else:
            yield from _count(record, known, report)
    for path in _packed_files(folder):
        for record in _packed(path, report.set_aside):
            yield from _count(record, known, report)


def _count(record: Record, known: set[str], report: IngestReport) -> Iterator[Record]:
    if record.trial_id in known:
        report.known += 1
    else:
        known.add(record.trial_id)
        yield record


def _packed_files(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])


def _packed(path: Path, problems: list[str]) -> Iterator[Record]:
    """Records of a packed journal: one entry per line, compressed where the name ends in .gz."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    yield from_json(line)
                except RecordError as error:
                    problems.append(f"line {number} of {path.name}: {error}.")
    except (OSError, EOFError, zlib.error) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "it is cut off or damaged"
        problems.append(f"{path.name} cannot be read to its end: {reason}.")


@dataclass(frozen=True)
class PackReport:
    """What `pack` did: the number of trials it wrote, and a line about each entry that it could not use."""

    packed: int
    unusable: tuple[str, ...]


def pack(folder: Path, target: Path) -> PackReport:
    """Write all whole entries of a journal folder into one packed file, oldest first; `.gz` compresses it.

    The folder stays as it is.

    Raises JournalError when the target cannot be written; a target that was there before is then as it was.
    """
    report = IngestReport()
    found = _fresh(folder, set(), report, name_broken=lambda path: path.name)
    records = sorted(found, key=lambda r: (r.trial["started_at"], r.trial_id))
    temporary = target.with_name(target.name + ".part")
    try:
        with temporary.open("wb") as file:
            # Without name and time in it, the same trials make the same file.
            zipped = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if target.suffix == ".gz" else None
            with zipped or contextlib.nullcontext(file) as out:
                out.writelines((r.to_json() + "\n").encode() for r in records)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise JournalError(f"{target.name} cannot be written: {error.strerror}.") from error
    return PackReport(len(records), tuple(report.set_aside))

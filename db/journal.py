"""The journal: one JSON file per finished trial, written atomically; the results can always be rebuilt from it."""

import contextlib
import errno
import gzip
import itertools
import os
import re
import secrets
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from db.record import NewerFormatError, Record, RecordError, from_json
from db.settings import examples_dir, journal_dir
from db.store import Store, StoreError

_PACKED = (".jsonl", ".jsonl.gz")
# The raw timings of an entry as `to_json` writes them: nearly all of its text.
_TIMINGS = re.compile(r'"(samples_us|turn_sizes)":\[[^\]]*\]')


# No trial comes near it: of a line that says more, memory would be all that is used. As numbers it takes some 200 MB.
MAX_ENTRY = 8 * 2**20
_TOO_LONG = f"it is longer than {MAX_ENTRY >> 20} MiB, which no entry is"
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)  # of file systems without hard links
_MOST_AT_ONCE = 64 * 2**20  # bytes that a batch of records holds, about


class JournalError(RuntimeError):
    """The journal cannot be written or read; the message says what to do."""


def write(folder: Path, record: Record) -> Path:
    """Write one record as `<trial_id>.<status>.json`. It is whole or absent, whatever happens meanwhile.

    Raises JournalError when the disk is full or the folder cannot be written, and when the trial is already there.
    """
    (path,) = write_all(folder, [record])
    return path


def write_all(folder: Path, records: Iterable[Record]) -> list[Path]:
    """Write records as `write` does, in half the time of one by one: the folder is brought to the disk once."""
    temporary: dict[Path, Record] = {}
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for record in records:
            text = record.to_json() + "\n"
            part = folder / f"{secrets.token_hex(8)}.part"
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # for whom the umask says
            temporary[part] = record
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
        for part in temporary:
            _sync(part)
        for part, record in temporary.items():
            path = folder / f"{record.trial_id}.{record.status}.json"
            try:
                _give_name(part, path)
            except FileExistsError as error:
                raise JournalError(
                    f"Trial {record.trial_id} is already in the journal: two runs are writing to {folder.name}/."
                ) from error
            written.append(path)
        _sync(folder)
    except OSError as error:
        raise JournalError(
            f"The journal {folder.name}/ cannot be written: {error.strerror}. "
            "Mend that and start again; finished trials are kept."
        ) from error
    finally:
        for part in temporary:
            with contextlib.suppress(OSError):
                part.unlink()
    return written


def _give_name(part: Path, path: Path) -> None:
    """Give a whole file its name. Raises FileExistsError, and OSError."""
    try:
        os.link(part, path)  # unlike a rename, this fails where the name is taken
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
        part.rename(path)


def _sync(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def attempts(folders: Iterable[Path]) -> dict[str, dict[int, str]]:
    """identity -> {number of the attempt: status}, oldest first. Loose files are read by name only: quick."""
    found: dict[str, dict[int, str]] = {}
    for folder in folders:
        named = (name[:-5].rpartition(".")[::2] for name in _entries(folder))
        packed = ((r.trial_id, r.status) for path in _packed_files(folder) for r in _packed(path, []))
        for trial_id, status in itertools.chain(named, packed):
            identity, _, attempt = trial_id.rpartition("-")
            if identity and attempt.isdecimal():
                found.setdefault(identity, {})[int(attempt)] = sys.intern(status)
    for identity, tries in found.items():
        if len(tries) > 1:
            found[identity] = dict(sorted(tries.items()))
    return found


def _entries(folder: Path) -> list[str]:
    """Names of the loose entries of a journal."""
    return [name for name in _names(folder) if name.endswith(".json")]


def _names(folder: Path) -> list[str]:
    """Names of what a folder holds; none where there is no folder. Of some hundred thousand no path each is made."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise JournalError(
            f"The journal {folder.name}/ cannot be read: {error.strerror}. Mend the rights of its folder."
        ) from error


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
        """How many were added and known, and a line for each file set aside."""
        text = f"{self.added} trials added, {self.known} were already there."
        return text + "".join(f"\nSet aside: {line}" for line in self.set_aside)


def ingest(store: Store, folders: Iterable[Path], untimed: Iterable[Path] = ()) -> IngestReport:
    """Bring every journal entry of the folders into the store. Entries that cannot be used are set aside and named.

    Of packed entries in the folders `untimed` the raw timings are left out, which `bring_timings` brings when they are
    needed: they take four times as long as all the rest.
    """
    report = IngestReport()
    store.ensure()
    known = set(store.trial_ids())
    timed = [*((folder, True) for folder in folders), *((folder, False) for folder in untimed)]
    fresh = (record for folder, whole in timed for record in _fresh(folder, known, report, rename=True, timed=whole))
    for batch in _batches(fresh, 2000):
        report.added += store.add(batch)
    store.checkpoint()
    return report


def merge(folder: Path, sources: Sequence[Path]) -> IngestReport:
    """Copy what a journal lacks from other journals, of other machines say: folders, or packed files.

    The sources stay as they are. A trial that the journal has already, by its id, is not copied again.

    Raises JournalError where a source is missing or is no journal, or where the journal cannot be written.
    """
    for source in sources:  # all of them before anything is copied
        if not source.exists():
            raise JournalError(f"There is no {source}: name a journal folder, or a packed .jsonl or .jsonl.gz file.")
        if not source.is_dir() and not source.name.endswith(_PACKED):
            raise JournalError(f"{source} is neither a journal folder nor a packed .jsonl or .jsonl.gz file.")
    report = IngestReport()
    known = {f"{identity}-{number}" for identity, tries in attempts([folder]).items() for number in tries}
    for source in sources:
        before, left_out = report.added + report.known, len(report.set_aside)
        report.set_aside += _twins(folder, source)
        for batch in _batches(_of_source(source, known, report), 100):
            report.added += len(write_all(folder, batch))
        if report.added + report.known == before:
            why = f": {report.set_aside[left_out]}" if len(report.set_aside) > left_out else "."
            raise JournalError(f"{source} holds no trials{why}")
    return report


def _twins(folder: Path, source: Path) -> list[str]:
    """A sentence where a trial there is another one than that of its name here, as of two machines with one id."""
    both = {*_entries(folder)} & {*_entries(source)} if source.is_dir() else set()
    for name in sorted(both)[:100]:
        trial_id, _, status = name.removesuffix(".json").rpartition(".")
        here, there = read(folder, trial_id, status), read(source, trial_id, status)
        if here and there and here.trial["started_at"] != there.trial["started_at"]:
            return [
                f"{trial_id} of {source.name} is another trial than the one of that name here, and others may be: two "
                "machines of the same hardware have one host name. Give one of them another host name and measure "
                "there again."
            ]
    return []


def _of_source(source: Path, known: set[str], report: IngestReport) -> Iterator[Record]:
    """Records of somebody else's journal that are not known yet; nothing there is renamed."""
    if source.is_dir():
        return _fresh(source, known, report)
    return _unknown(_packed(source, report.set_aside), known, report)


def _batches(records: Iterable[Record], size: int) -> Iterator[list[Record]]:
    """Lists of at most so many, and of no more than some bytes: what is held at a time does not grow with the journal
    or with what its entries hold."""
    batch: list[Record] = []
    held = 0
    for record in records:
        batch.append(record)
        held += _weight(record)
        if len(batch) == size or held > _MOST_AT_ONCE:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _weight(record: Record) -> int:
    """Bytes that a record holds, about: of its numbers and its texts."""
    texts = itertools.chain(record.trial.values(), record.machine.values(), record.sweep.values())
    numbers = 32 * len(record.samples_us) + 200 * len(record.curves) + 32 * len(record.turn_sizes)
    return numbers + sum(len(text) for text in texts if isinstance(text, str))


def open_results(url: str | None = None) -> Store:
    """The store of a URL, ready to be asked: created from its journal where it is new.

    A new file has the example results too; a database that a team shares holds what the team has measured.
    """
    store = Store(url)
    try:
        with _filling(store) as unfilled:
            if store.ensure() or unfilled:
                ingest(store, [journal_dir(store.url)], untimed=example_folders() if store.path else [])
        recover(store)
    except JournalError as error:
        raise StoreError(str(error)) from error
    return store


@contextlib.contextmanager
def _filling(store: Store) -> Iterator[bool]:
    """Whether a file was left amid being filled, by a process that was killed say: a mark beside it stays till then."""
    if store.path is None:
        yield False
        return
    mark = store.path.with_name(f"{store.path.name}.filling")
    store.check_place()
    if not store.path.exists():
        with contextlib.suppress(OSError):  # whoever writes there says what is wrong
            mark.parent.mkdir(exist_ok=True)
            mark.touch()
    yield mark.exists()
    with contextlib.suppress(OSError):
        mark.unlink()


def look_into(store: Store) -> None:
    """Make results ready to be read where they are: brought up to date, and a lost log brought in from the journal.

    What is not there stays so, since `open_results` fills what is new.
    """
    if store.path is None or store.path.exists():
        store.ensure()
        recover(store)


def example_folders() -> list[Path]:
    """The folders of all example results that are shipped with the code."""
    folder = examples_dir()
    return [folder, *sorted(path for path in folder.glob("*") if path.is_dir())]


def bring_timings(store: Store) -> None:
    """Bring the raw timings of example results into a file that has their trials without."""
    if store.path is None or not store.path.exists():
        return
    lacking = {
        row["trial_id"]
        for row in store.rows(
            "SELECT trial_id FROM trials WHERE sample_count > 0 "
            "AND trial_id NOT IN (SELECT DISTINCT trial_id FROM samples)"  # as it is, it holds all of that column
        )
    }
    if not lacking:
        return
    paths = (path for folder in example_folders() for path in _packed_files(folder))
    records = (record for path in paths for record in _packed(path, []) if record.trial_id in lacking)
    for batch in _batches(records, 2000):
        store.add_timings(batch)
    store.checkpoint()


def recover(store: Store) -> None:
    """Bring the journal into a store again whose database has lost its log."""
    if store.recovered:
        ingest(store, [journal_dir(store.url)])
        store.recovered = False


def _renamed(path: Path) -> str:
    """Rename an entry that cannot be used, so that it is reported once. Returns the name it has now."""
    aside = path.with_name(path.name + ".broken")
    try:
        path.rename(aside)
    except OSError:  # a read-only journal: the entry stays where it is and is reported each time
        return path.name
    return aside.name


def _fresh(
    folder: Path, known: set[str], report: IngestReport, rename: bool = False, timed: bool = True
) -> Iterator[Record]:
    """Records that are not known yet. The report says what cannot be used, which is renamed where that is wanted.
    `timed`: packed ones with their timings."""
    unknown = []
    for name in _entries(folder):
        if name[:-5].rpartition(".")[0] in known:
            report.known += 1
        else:
            unknown.append(name)
    for name in sorted(unknown):
        yield from _unknown(_loose(folder / name, report, rename), known, report)
    for path in _packed_files(folder):
        yield from _unknown(_packed(path, report.set_aside, timed), known, report)


def _loose(path: Path, report: IngestReport, rename: bool = False) -> Iterator[Record]:
    """The record of one entry; nothing where it cannot be used, which the report then says."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MAX_ENTRY + 1)
        if len(text) > MAX_ENTRY:
            raise RecordError(_TOO_LONG)
        record = from_json(text)
    except NewerFormatError as error:
        report.set_aside.append(f"{path.name} is left alone: {error}.")
    except (RecordError, UnicodeDecodeError) as error:
        report.set_aside.append(f"{_renamed(path) if rename else path.name}: {error}.")
    except OSError as error:
        report.set_aside.append(f"{path.name} cannot be read: {error.strerror}.")
    else:
        yield record


def _unknown(records: Iterable[Record], known: set[str], report: IngestReport) -> Iterator[Record]:
    for record in records:
        if record.trial_id in known:
            report.known += 1
        else:
            known.add(record.trial_id)
            yield record


def _packed_files(folder: Path) -> list[Path]:
    return sorted(folder / name for name in _names(folder) if name.endswith(_PACKED))


def _lines(file: TextIO) -> Iterator[str | None]:
    """The lines of a file; None for one that is longer than an entry can be, which is passed over in pieces."""
    while line := file.readline(MAX_ENTRY + 1):
        if len(line) <= MAX_ENTRY:
            yield line
            continue
        while line and not line.endswith("\n"):
            line = file.readline(MAX_ENTRY)
        yield None


def _packed(path: Path, problems: list[str], timed: bool = True) -> Iterator[Record]:
    """Records of a packed journal: one entry per line, compressed where the name ends in .gz. `timed`: with timings."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(_lines(file), start=1):
                if line is None:
                    problems.append(f"line {number} of {path.name}: {_TOO_LONG}.")
                    continue
                try:
                    yield from_json(line if timed else _TIMINGS.sub(r'"\1":[]', line))
                except RecordError as error:
                    problems.append(f"line {number} of {path.name}: {error}.")
    except (OSError, EOFError, zlib.error) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "it is cut off or damaged"
        problems.append(f"{path.name} cannot be read to its end: {reason}.")


def packed(path: Path) -> Iterator[Record]:
    """The records of a packed journal without their raw timings; what cannot be used is left out."""
    return _packed(path, [], timed=False)


@dataclass(frozen=True)
class CheckReport:
    """What `check` found: the number of entries it read, whether those were all, and a line about each broken one."""

    read: int
    all: bool
    unusable: tuple[str, ...]


def check(folder: Path, seconds: float) -> CheckReport:
    """Read the entries of a journal, the latest written first, for about so long, and leave them as they are.

    `ingest` does not notice an entry that has broken since it was read: it skips what the results have by its name.
    """
    until = time.monotonic() + seconds
    found, report = 0, IngestReport()
    paths = sorted(folder.glob("*.json"), key=_written_at, reverse=True)
    for path in [*paths, *_packed_files(folder)]:
        if time.monotonic() > until:
            return CheckReport(found, False, tuple(report.set_aside))
        read = _packed(path, report.set_aside) if path.name.endswith(_PACKED) else _loose(path, report)
        found += sum(1 for _ in read)
    return CheckReport(found, True, tuple(report.set_aside))


def _written_at(path: Path) -> float:
    with contextlib.suppress(FileNotFoundError):  # it was set aside meanwhile
        return path.stat().st_mtime
    return 0.0


@dataclass(frozen=True)
class PackReport:
    """What `pack` did: the number of trials it wrote, and a line about each entry that it could not use."""

    packed: int
    unusable: tuple[str, ...]


def pack(folder: Path, target: Path) -> PackReport:
    """Write all whole entries of a journal folder into one packed file, oldest first; `.gz` compresses it.

    The folder stays as it is.

    Raises JournalError when the target has another kind of name or cannot be written, or when there are no trials; a
    target that was there before is then as it was.
    """
    if not target.name.endswith(_PACKED):
        raise JournalError(f"{target.name or target} does not end in .jsonl or .jsonl.gz: name the file so.")
    report = IngestReport()
    fresh = _fresh(folder, set(), report)
    # In order, and packed by themselves meanwhile: of some hundred thousand, records would take gigabytes.
    records = sorted((r.trial["started_at"], r.trial_id, zlib.compress(r.to_json().encode(), 1)) for r in fresh)
    if not records:
        why = f" ({report.set_aside[0].removesuffix('.')})" if report.set_aside else ""
        raise JournalError(f"There are no trials in {folder.name}/{why}: nothing was written.")
    temporary = target.with_name(target.name + ".part")
    try:
        with temporary.open("wb") as file:
            # Without name and time in it, the same trials make the same file.
            zipped = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if target.suffix == ".gz" else None
            with zipped or contextlib.nullcontext(file) as out:
                out.writelines(zlib.decompress(text) + b"\n" for _, _, text in records)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise JournalError(f"{target.name} cannot be written: {error.strerror}.") from error
    return PackReport(len(records), tuple(report.set_aside))

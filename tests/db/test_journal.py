"""The journal: whole or absent whatever happens, and an ingest that no entry can stop."""

import errno
import gzip
import os
import resource
import signal
import subprocess
import sys
import weakref
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from broken_log import break_log
from make_records import make_record

from db import journal
from db.installation import ROOT
from db.journal import JournalError, PackReport, attempts, ingest, merge, pack, write, write_all
from db.record import Record, RecordError
from db.store import Store


def test_written_then_read(folder: Path) -> None:
    path = write(folder, make_record(7))
    assert path.name == "0007-1.ok.json"
    assert os.listdir(folder) == [path.name]
    found = journal.read(folder, "0007-1", "ok")
    assert found
    assert found.trial["seed"] == 7


def test_the_folder_is_made(tmp_path: Path) -> None:
    assert write(tmp_path / "a" / "b", make_record()).exists()


def test_a_trial_is_written_once(folder: Path) -> None:
    before = write(folder, make_record(latency_us=1.0)).read_text()
    with pytest.raises(JournalError, match="0000-1 is already in the journal: two runs"):
        write(folder, make_record(latency_us=2.0))
    (path,) = folder.iterdir()
    assert path.read_text() == before


def test_nan_leaves_nothing_behind(folder: Path) -> None:
    with pytest.raises(RecordError):
        write(folder, make_record(latency_us=float("nan")))
    assert os.listdir(folder) == []


def test_a_file_in_the_place_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "j").write_text("")
    with pytest.raises(JournalError, match=r"The journal j/ cannot be written: File exists"):
        write(tmp_path / "j", make_record())


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("fsync", errno.ENOSPC, "No space left on device"),
        ("link", errno.EROFS, "Read-only file system"),
        ("link", errno.EDQUOT, "quota"),
    ],
)
def test_a_disk_that_refuses(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: int, words: str) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, name, refuse)
    with pytest.raises(JournalError, match=words):
        write(folder, make_record())
    assert os.listdir(folder) == []


def test_a_file_size_limit_as_a_full_disk_sets_it(folder: Path) -> None:
    """The real thing: the write itself fails half way."""
    before, signal_before = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, before[1]))
        with pytest.raises(JournalError, match="File too large"):
            write(folder, make_record())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, signal_before)
    assert os.listdir(folder) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(folder: Path) -> None:
    folder.chmod(0o500)
    with pytest.raises(JournalError, match="Permission denied"):
        write(folder, make_record())


def test_attempts_by_number(folder: Path, tmp_path: Path) -> None:
    for number, status in ((1, "failed"), (2, "ok"), (10, "timeout")):
        write(folder, make_record(identity="aa", attempt=number, status=status))
    write(folder, make_record(identity="bb", attempt=3, status="oom"))
    for name in ("rubbish.json", "-1.ok.json", "cc-x.ok.json", "cc-².ok.json", "x.part"):
        (folder / name).write_text("")
    packed = tmp_path / "examples"
    packed.mkdir()
    (packed / "e.jsonl").write_text(make_record(identity="dd").to_json() + "\nrubbish\n")
    assert attempts([folder, packed, tmp_path / "none"]) == {
        "aa": {1: "failed", 2: "ok", 10: "timeout"},
        "bb": {3: "oom"},
        "dd": {1: "ok"},
    }


def test_ingest_brings_all_in_once(folder: Path, store: Store) -> None:
    for number in range(3):
        write(folder, make_record(number))
    assert ingest(store, [folder]).sentence() == "3 trials added, 0 were already there."
    assert ingest(store, [folder]).sentence() == "0 trials added, 3 were already there."
    assert store.rows("SELECT count(*) AS n FROM samples") == [{"n": 6}]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[: len(text) // 2], "not whole JSON"),
        (lambda text: text.replace("10.0", "NaN"), "latency_us is not real"),
        (lambda text: text.replace('"cores":2', '"cores":"two"'), "cores is not integer"),
        (lambda text: text.replace('"batch_size":64', '"batch_size":99999999999999999999'), "batch_size"),
        (lambda text: "[" * 100_000, "not whole JSON"),
        (lambda text: "", "not whole JSON"),
    ],
)
def test_a_broken_entry_is_set_aside_and_named_once(folder: Path, store: Store, damage, words: str) -> None:
    write(folder, make_record(1))
    path = write(folder, make_record(2))
    path.write_text(damage(path.read_text()))
    report = ingest(store, [folder])
    assert report.added == 1
    assert len(report.set_aside) == 1
    assert words in report.set_aside[0]
    assert (folder / "0002-1.ok.json.broken").exists()
    assert ingest(store, [folder]).set_aside == []


def test_bytes_that_are_no_text_are_set_aside(folder: Path, store: Store) -> None:
    (folder / "aa-1.ok.json").write_bytes(b"\xff\xfe\x00")
    (folder / "bb-1.ok.json").mkdir()
    report = ingest(store, [folder])
    assert [line.partition(" ")[0].rstrip(":") for line in report.set_aside] == ["aa-1.ok.json.broken", "bb-1.ok.json"]


def test_a_broken_entry_in_a_read_only_journal_is_named(
    folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    (folder / "aa-1.ok.json").write_text("half")
    monkeypatch.setattr(Path, "rename", refuse)
    assert ingest(store, [folder]).set_aside[0].startswith("aa-1.ok.json: it is not whole JSON")


def test_an_entry_of_a_newer_version_is_left_alone(folder: Path, store: Store) -> None:
    path = write(folder, make_record())
    path.write_text(path.read_text().replace('"format":1', '"format":2'))
    report = ingest(store, [folder])
    assert (report.added, len(report.set_aside)) == (0, 1)
    assert "update to ingest it" in report.set_aside[0]
    assert path.exists()


def test_pack_then_ingest_from_the_packed_file(folder: Path, store: Store, tmp_path: Path) -> None:
    for number in (2, 0, 1):
        write(folder, make_record(number))
    target = tmp_path / "packed" / "all.jsonl"
    target.parent.mkdir()
    assert pack(folder, target) == PackReport(3, ())
    with target.open("a") as file:
        file.write('{"format": 1, "tri')
    report = ingest(store, [target.parent])
    assert report.added == 3
    assert report.set_aside[0].startswith("line 4 of all.jsonl: it is not whole JSON")
    assert [row["seed"] for row in store.rows("SELECT seed FROM trials ORDER BY started_at")] == [0, 1, 2]


def test_a_compressed_pack_reads_back_and_a_cut_one_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "x.journal"
    for number in range(20):
        write(folder, make_record(number))
    target = tmp_path / "packed" / "all.jsonl.gz"
    target.parent.mkdir()
    assert pack(folder, target).packed == 20
    whole = target.read_bytes()
    pack(folder, target)
    assert target.read_bytes() == whole, "the same trials make the same file"
    assert ingest(Store(str(tmp_path / "a.duckdb")), [target.parent]).added == 20
    target.write_bytes(whole[: len(whole) * 3 // 4])
    report = ingest(Store(str(tmp_path / "b.duckdb")), [target.parent])
    assert "all.jsonl.gz cannot be read to its end" in report.set_aside[0]


def test_a_pack_leaves_the_journal_as_it_is_and_names_what_it_leaves_out(folder: Path, tmp_path: Path) -> None:
    write(folder, make_record(1))
    (folder / "aa-1.ok.json").write_text("half")
    (folder / "bb-1.ok.json").write_text(make_record(2).to_json().replace('"format":1', '"format":2'))
    (folder / "c.jsonl").write_text(make_record(3).to_json() + "\nrubbish\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    report = pack(folder, tmp_path / "all.jsonl")
    assert report.packed == len((tmp_path / "all.jsonl").read_text().splitlines()) == 2
    assert [line.partition(":")[0] for line in report.unusable] == [
        "aa-1.ok.json",
        "bb-1.ok.json is left alone",
        "line 2 of c.jsonl",
    ]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["x.duckdb", "all.json", "all.jsonl.zip", "jsonl", "."])
def test_a_pack_overwrites_nothing_but_a_packed_file(folder: Path, tmp_path: Path, name: str) -> None:
    write(folder, make_record())
    if name != ".":
        (tmp_path / name).write_text("old")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(JournalError, match=r"does not end in \.jsonl or \.jsonl\.gz: name the file so\.$"):
        pack(folder, tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before
    assert name == "." or (tmp_path / name).read_text() == "old"


@pytest.mark.parametrize("entry", [None, "half"])
def test_a_pack_of_nothing_leaves_the_old_file(folder: Path, tmp_path: Path, entry: str | None) -> None:
    target = tmp_path / "all.jsonl"
    target.write_text("old")
    if entry:
        (folder / "aa-1.ok.json").write_text(entry)
    with pytest.raises(JournalError, match=r"^There are no trials in x\.journal/.*: nothing was written\.$"):
        pack(folder, target)
    with pytest.raises(JournalError, match=r"^There are no trials in missing\.journal/: nothing was written\.$"):
        pack(tmp_path / "missing.journal", target)
    assert target.read_text() == "old"


def test_a_check_reads_every_entry_and_leaves_it(folder: Path, store: Store) -> None:
    for number in range(3):
        write(folder, make_record(number))
    (folder / "p.jsonl").write_text(make_record(9).to_json() + "\nrubbish\n")
    ingest(store, [folder])
    path = folder / "0001-1.ok.json"
    path.write_text(path.read_text()[:50])
    assert ingest(store, [folder]).set_aside == [
        "line 2 of p.jsonl: it is not whole JSON (Expecting value: line 1 column 1 (char 0))."
    ]
    found = journal.check(folder, seconds=60.0)
    assert (found.read, found.all) == (3, True)
    assert [line.partition(":")[0] for line in found.unusable] == ["0001-1.ok.json", "line 2 of p.jsonl"]
    assert path.exists()


def test_a_check_ends_in_time_and_says_so(folder: Path) -> None:
    write(folder, make_record())
    assert journal.check(folder, seconds=-1.0) == journal.CheckReport(0, False, ())


def seeds(store: Store) -> list[int]:
    return [row["seed"] for row in store.rows("SELECT seed FROM trials ORDER BY seed")]


def test_new_results_are_the_journal_and_the_examples(folder: Path, store: Store, examples: Path) -> None:
    write(examples, make_record(99))
    write(folder, make_record(1))
    assert seeds(journal.open_results(store.url)) == [1, 99]


def test_results_that_are_there_are_opened_as_they_are(folder: Path, store: Store, examples: Path) -> None:
    write(examples, make_record(99))
    store.ensure()
    write(folder, make_record(1))
    assert seeds(journal.open_results(store.url)) == []


def test_a_first_start_that_was_killed_is_made_up_for(folder: Path, store: Store, examples: Path) -> None:
    write(examples, make_record(99))
    write(folder, make_record(1))
    killed = f"""
import os
from db import journal
journal.ingest = lambda *_, **__: os._exit(9)
journal.open_results({store.url!r})
"""
    assert subprocess.run([sys.executable, "-c", killed], cwd=ROOT, check=False).returncode == 9
    assert store.path
    assert store.path.exists()
    assert seeds(journal.open_results(store.url)) == [1, 99]
    assert [p.name for p in store.path.parent.glob("*.filling")] == []
    write(folder, make_record(2))
    assert seeds(journal.open_results(store.url)) == [1, 99], "opened as it is from now on"


def test_a_journal_that_cannot_be_read_is_not_an_empty_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, make_record(1))

    def denied(_: object) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "listdir", denied)
    with pytest.raises(JournalError, match=r"cannot be read: Permission denied\. Mend the rights"):
        attempts([folder])


def test_results_that_lost_their_log_get_the_journal_again(folder: Path, store: Store, examples: Path) -> None:
    write(examples, make_record(99))
    ingest(store, [folder])
    write(folder, make_record(1))
    assert store.path
    break_log(store.path)
    assert seeds(journal.open_results(store.url)) == [1]


def test_a_pack_that_fails_leaves_the_old_file(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, make_record())
    target = tmp_path / "all.jsonl"
    target.write_text("old")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(JournalError, match=r"all\.jsonl cannot be written: No space left on device"):
        pack(folder, target)
    assert target.read_text() == "old"
    assert not list(tmp_path.glob("*.part"))


def test_killed_while_writing_leaves_whole_entries_only(folder: Path) -> None:
    code = (
        "import sys, itertools; from pathlib import Path; sys.path.insert(0, sys.argv[2]);"
        "from make_records import make_record; from db.journal import write\n"
        "print('on', flush=True)\n"
        "for n in itertools.count(): write(Path(sys.argv[1]), make_record(n))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder), str(Path(__file__).parent)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    process.stdout.readline()
    while len(list(folder.glob("*.json"))) < 20:
        assert process.poll() is None
    process.kill()
    process.communicate()
    names = sorted(path.name for path in folder.glob("*.json"))
    assert len(names) >= 20
    assert all(journal.read(folder, name.removesuffix(".ok.json"), "ok") for name in names)


# -- other machines' journals ------------------------------------------------------------------------------------------


@pytest.fixture
def laptop(tmp_path: Path) -> Path:
    """The journal of another machine: one trial that is here too, two that are not, and one that is half."""
    path = tmp_path / "laptop.journal"
    for number in (1, 2, 3):
        record = make_record(number, machine_id="m2", latency_us=20.0)
        write(path, replace(record, machine={"machine_id": "m2", "name": "laptop", "cores": 8}))
    (path / "aa-1.ok.json").write_text("half")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_another_journal_is_copied_once_and_left_as_it_is(folder: Path, laptop: Path) -> None:
    write(folder, make_record(1))
    before = contents(laptop)
    report = merge(folder, [laptop])
    assert (report.added, report.known) == (2, 1)
    assert report.set_aside[0].startswith("aa-1.ok.json: it is not whole JSON")
    assert sorted(os.listdir(folder)) == ["0001-1.ok.json", "0002-1.ok.json", "0003-1.ok.json"]
    assert (merge(folder, [laptop, laptop]).added, merge(folder, [folder]).added) == (0, 0)
    assert contents(laptop) == before


def test_two_machines_stay_two_even_when_the_database_is_made_anew(folder: Path, laptop: Path, store: Store) -> None:
    write(folder, make_record(7, latency_us=10.0))
    merge(folder, [laptop])
    for _ in range(2):
        assert ingest(store, [folder]).added == 4
        assert store.rows("SELECT name, cores FROM machines ORDER BY name") == [
            {"name": "laptop", "cores": 8},
            {"name": "machine one", "cores": 2},
        ]
        sql = "SELECT machine, count(*) AS n, max(latency_us) AS us FROM results GROUP BY machine ORDER BY machine"
        assert store.rows(sql) == [
            {"machine": "laptop", "n": 3, "us": 20.0},
            {"machine": "machine one", "n": 1, "us": 10.0},
        ]
        assert store.path
        store.path.unlink()


@pytest.mark.parametrize("name", ["laptop.jsonl", "laptop.jsonl.gz"])
def test_a_packed_journal_is_copied_entry_by_entry(folder: Path, laptop: Path, tmp_path: Path, name: str) -> None:
    pack(laptop, tmp_path / name)
    write(folder, make_record(1))
    report = merge(folder, [tmp_path / name, laptop])
    assert (report.added, report.known) == (2, 4)
    found = journal.read(folder, "0003-1", "ok")
    assert found == journal.read(laptop, "0003-1", "ok")


def test_a_packed_journal_in_a_folder_counts_as_here(folder: Path, laptop: Path) -> None:
    pack(laptop, folder / "old.jsonl.gz")
    assert merge(folder, [laptop]).added == 0
    assert os.listdir(folder) == ["old.jsonl.gz"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, r"^There is no .*other: name a journal folder, or a packed \.jsonl or \.jsonl\.gz file\.$"),
        (lambda path: path.mkdir(), r"other holds no trials\.$"),
        (lambda path: path.write_text("x"), r"other is neither a journal folder nor a packed \.jsonl"),
    ],
)
def test_what_is_no_journal_is_said_before_anything_is_copied(
    folder: Path, laptop: Path, tmp_path: Path, make, words: str
) -> None:
    make(tmp_path / "other")
    with pytest.raises(JournalError, match=words):
        merge(folder, [tmp_path / "other", laptop])
    assert os.listdir(folder) == []


def test_a_file_of_something_else_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "clicks.jsonl").write_text('{"user": 1}\n' * 1000)
    with pytest.raises(JournalError, match=r"clicks\.jsonl holds no trials: line 1 .*: it is not a journal entry\.$"):
        merge(folder, [tmp_path / "clicks.jsonl"])


@pytest.mark.parametrize("trial_id", ["../../evil-1", "/tmp/evil-1", "a/b-1", "aa", "aa-x", "a" * 300 + "-1", ""])
def test_a_trial_is_copied_to_no_other_place(folder: Path, tmp_path: Path, trial_id: str) -> None:
    lines = [make_record(1).to_json(), make_record(2, trial_id=trial_id).to_json()]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    report = merge(folder, [tmp_path / "x.jsonl"])
    assert report.added == 1
    assert "is no identity and attempt" in report.set_aside[0]
    assert os.listdir(folder) == ["0001-1.ok.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.journal", "x.jsonl"]


def test_a_merge_that_cannot_be_written_is_said(folder: Path, laptop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(JournalError, match=r"x\.journal/ cannot be written: No space left on device"):
        merge(folder, [laptop])
    assert os.listdir(folder) == []


def test_many_are_written_and_one_that_is_there_is_told(folder: Path) -> None:
    paths = write_all(folder, (make_record(n) for n in range(5)))
    assert [path.name for path in paths] == [f"{n:04x}-1.ok.json" for n in range(5)]
    with pytest.raises(JournalError, match="0002-1 is already in the journal"):
        write_all(folder, [make_record(7), make_record(2), make_record(8)])
    assert sorted(os.listdir(folder)) == sorted([*(path.name for path in paths), "0007-1.ok.json"])
    assert write_all(folder, []) == []


def test_an_entry_longer_than_any_can_be_is_passed_over(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.journal.MAX_ENTRY", 5000)
    whole = [make_record(number).to_json() for number in (1, 2)]
    with gzip.open(tmp_path / "all.jsonl.gz", "wt") as file:
        file.writelines([whole[0] + "\n", "0," * 20_000 + "\n", whole[1] + "\n", "9" * 30_000])
    (tmp_path / "aa-1.ok.json").write_text("[" * 30_000)
    report = ingest(store, [tmp_path])
    assert report.added == 2
    assert [line.partition(":")[0] for line in report.set_aside] == [
        "aa-1.ok.json.broken", "line 2 of all.jsonl.gz", "line 4 of all.jsonl.gz",
    ]  # fmt: skip
    assert all("it is longer than 8 MiB, which no entry is" in line for line in report.set_aside)


def test_what_is_held_at_a_time_is_bounded_by_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [make_record(number, environment="x" * 10_000) for number in range(10)]
    assert [len(batch) for batch in journal._batches(records, 4)] == [4, 4, 2]
    monkeypatch.setattr(journal, "_MOST_AT_ONCE", 25_000)
    assert [len(batch) for batch in journal._batches(records, 4)] == [3, 3, 3, 1]


def test_two_machines_of_one_id_are_told(folder: Path, tmp_path: Path) -> None:
    write(folder, make_record(1, started_at=datetime(2026, 1, 1)))
    write(tmp_path / "bob.journal", make_record(1, started_at=datetime(2026, 1, 2)))
    assert "have one host name" in merge(folder, [tmp_path / "bob.journal"]).set_aside[0]


def test_others_may_read_an_entry_where_the_umask_lets_them(folder: Path) -> None:
    before = os.umask(0o022)
    try:
        assert write(folder, make_record()).stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)


def test_a_file_system_without_hard_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    write(folder, make_record())
    with pytest.raises(JournalError, match="is already in the journal"):
        write(folder, make_record())
    assert os.listdir(folder) == ["0000-1.ok.json"]


def test_a_pack_holds_no_record_but_the_one_it_reads(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_all(folder, [make_record(n) for n in range(1, 6)])
    alive: list[weakref.ref[Record]] = []
    real = journal.from_json

    def watched(text: str) -> Record:
        assert sum(record() is not None for record in alive) <= 1
        found = real(text)
        alive.append(weakref.ref(found))
        return found

    monkeypatch.setattr(journal, "from_json", watched)
    assert pack(folder, tmp_path / "x.jsonl").packed == 5

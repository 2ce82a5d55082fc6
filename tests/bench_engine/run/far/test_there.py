"""What runs on the other machine, by itself: files that are taken, and answers about runs."""

import hashlib
import io
import sys
from pathlib import Path

import pytest

from bench_engine.data import files as data_files
from bench_engine.run.far import there

CONTENT = b"1,2\n" * 1000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder there; what is sent is CONTENT."""
    monkeypatch.setattr(data_files, "data_dir", lambda: tmp_path / "data")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONTENT)))
    return tmp_path / "data"


def test_a_file_is_taken_whole(data: Path) -> None:
    assert there.receive("a/b.csv", DIGEST, len(CONTENT)) == str(data / "a" / "b.csv")
    assert (data / "a" / "b.csv").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("name", "digest", "size", "words"),
    [
        ("a.csv", "0" * 64, 4000, "did not come whole"),
        ("a.csv", DIGEST, 10**18, "are free there: make space"),
        ("../a.csv", DIGEST, 4000, "no place below the data folder"),
    ],
)
def test_nothing_is_left_of_one_that_is_not(data: Path, name: str, digest: str, size: int, words: str) -> None:
    with pytest.raises(there._Told, match=words):
        there.receive(name, digest, size)
    assert not [path for path in data.parent.rglob("*") if path.is_file()]


def test_a_folder_that_cannot_be_written_is_a_sentence(data: Path) -> None:
    data.write_text("a file")
    with pytest.raises(there._Told, match="cannot be written in"):
        there.receive("a.csv", DIGEST, 4000)


def test_a_log_is_told_in_whole_lines(engine) -> None:
    session = there.Session(Path(engine.url))
    log = engine.journal / "runs" / "r.log"
    log.parent.mkdir(parents=True)
    log.write_bytes("first µ\nsecond".encode())
    assert session._log("r", 0) == (["first µ"], 9)
    assert session._log("r", 9) == ([], 9)
    with log.open("ab") as file:
        file.write(b" line\n")
    assert session._log("r", 9) == (["second line"], 21)
    assert session._log("none", 0) == ([], 0)


def test_entries_are_sent_without_listing_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "results.journal"
    folder.mkdir()
    (folder / "0001-1.ok.json").write_text("{}")
    monkeypatch.setattr(Path, "glob", lambda *_: pytest.fail("it lists all"))
    there.Session(tmp_path / "results.duckdb")._send({"0001-1"}, set())
    assert '"entry"' in capsys.readouterr().out

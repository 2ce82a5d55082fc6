"""What is opened beside the results: other people's files stay as they are, and odd uploads are a sentence."""

import hashlib
import tempfile
from pathlib import Path

import duckdb
import pytest

from db.store import Store, StoreError
from mirror.faces.pages import chooser


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    path = tmp_path / "theirs.duckdb"
    Store(str(path)).ensure()
    return path


def test_results_of_another_version_are_not_changed(theirs: Path) -> None:
    with duckdb.connect(str(theirs)) as connection:
        connection.execute("DELETE FROM schema_migrations WHERE name LIKE 'views:%'")
    before = hashlib.sha256(theirs.read_bytes()).hexdigest()
    with pytest.raises(StoreError, match=r"^theirs\.duckdb was written by another version of Mirror"):
        chooser._results_at(str(theirs))
    assert hashlib.sha256(theirs.read_bytes()).hexdigest() == before


def test_results_of_this_version_are_asked_and_stay_the_same_bytes(theirs: Path) -> None:
    before = hashlib.sha256(theirs.read_bytes()).hexdigest()
    with chooser._results_at(str(theirs)) as box:
        assert box.run("SELECT count(*) AS n FROM samples").rows == ((0,),)
    assert hashlib.sha256(theirs.read_bytes()).hexdigest() == before


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["sales.csv", "sales.csv"], "Two of the files are called sales.csv"),
        (["sales.csv", "shop.sqlite"], "shop.sqlite is a whole database: upload it by itself."),
        (["a.DuckDB", "b.duckdb"], "a.DuckDB is a whole database"),
        (["sales.csv", "customers.csv"], ""),
        (["shop.sqlite"], ""),
    ],
)
def test_files_that_cannot_be_uploaded_at_once(names: list[str], told: str) -> None:
    found = chooser._cannot_be_together(names)
    assert found.startswith(told) if told else not found


def test_a_full_disk_is_a_sentence_and_no_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    said: dict[str, object] = {}
    monkeypatch.setattr(chooser.st, "session_state", said)
    monkeypatch.setattr(chooser.opened, "choosing", lambda: "file")

    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    said["up"] = [type("File", (), {"name": "a.csv", "getbuffer": lambda self: b"x"})()]
    chooser._take_uploaded("up")
    assert said["place_error"] == (
        "The upload cannot be kept (No space left on device): make room in the folder for temporary files."
    )
    assert "place_opening" not in said

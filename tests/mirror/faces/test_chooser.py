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


def test_results_whose_views_read_other_files_reach_none(theirs: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2")
    with duckdb.connect(str(theirs)) as connection:
        connection.execute("ALTER TABLE machines RENAME TO machines_before")
        columns = [c[0] for c in connection.execute("FROM machines_before LIMIT 0").description]
        said = ", ".join("content AS name" if name == "name" else f"NULL AS {name}" for name in columns)
        connection.execute(f"CREATE VIEW machines AS SELECT {said} FROM read_text('{secret}')")
    with (
        pytest.raises(StoreError, match="file system operations are disabled"),
        chooser._results_at(str(theirs)) as box,
    ):
        assert "hunter2" not in str(box.run("SELECT * FROM machines").rows)


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

"""Parquet: a view whole, typed and described, or the file that was there before."""

import errno
import os
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make_records import make_record

from db import schema
from db import store as store_module
from db.export import VIEWS, ExportError, export
from db.store import Store, StoreError


@pytest.fixture
def filled(store: Store) -> Store:
    store.ensure()
    store.add([make_record(n, auc=0.75 if n else None) for n in range(7)])
    store.add([make_record(8, status="failed", error="it's", latency_us=None)])
    return store


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_reads_back_as_it_is(filled: Store, tmp_path: Path, view: str) -> None:
    target = tmp_path / "x.parquet"
    rows = export(filled, target, view)
    assert rows == filled.rows(f"SELECT count(*) AS n FROM {view}")[0]["n"] > 0
    key = lambda row: str(list(row.values()))  # noqa: E731
    assert sorted(pq.read_table(target).to_pylist(), key=key) == sorted(filled.rows(f"SELECT * FROM {view}"), key=key)
    assert duckdb.sql(f"SELECT count(*) FROM '{target}'").fetchone() == (rows,)


def test_the_columns_carry_type_and_meaning(filled: Store, tmp_path: Path) -> None:
    export(filled, tmp_path / "x.parquet")
    fields = pq.read_schema(tmp_path / "x.parquet")
    assert fields.field("auc").type == pa.float64()
    assert fields.field("started_at").type == pa.timestamp("us")
    assert fields.field("dataset").type == pa.string(), "though it holds nothing but NULL"
    assert {f.name: f.metadata[b"comment"].decode() for f in fields} == {
        f.name: schema.comment_of(f.name) for f in fields
    }
    export(filled, tmp_path / "x.parquet", "samples")
    assert pq.read_schema(tmp_path / "x.parquet").field("time_us").metadata[b"comment"].decode().endswith("µs")


def test_batch_after_batch(filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "BATCH_ROWS", 3)
    with filled.reader("history") as batches:
        assert sum(batch.num_rows for batch in batches) == 7
    assert export(filled, tmp_path / "x.parquet", "history") == 7


def test_a_view_without_rows_is_a_file_with_columns(store: Store, tmp_path: Path) -> None:
    store.ensure()
    store.add([make_record(1)])
    assert export(store, tmp_path / "x.parquet", "failures") == 0
    assert "error" in pq.read_schema(tmp_path / "x.parquet").names


def test_no_results_yet(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no results at x\.duckdb yet: run `python -m bench_engine ingest`"):
        export(store, tmp_path / "x.parquet")
    store.ensure()
    with pytest.raises(ExportError, match=r"no results at x\.duckdb yet: run a sweep first"):
        export(store, tmp_path / "x.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["x.duckdb"]


@pytest.mark.parametrize("name", ["x.csv", "x", ".parquet", "x.parquet.gz"])
def test_a_target_that_is_not_named_parquet(filled: Store, tmp_path: Path, name: str) -> None:
    with pytest.raises(ExportError, match=r"does not end in \.parquet: name the file, such as results\.parquet\.$"):
        export(filled, tmp_path / name)


def test_a_target_that_cannot_be_written(filled: Store, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"^y\.parquet cannot be written: No such file or directory\.$"):
        export(filled, tmp_path / "none" / "y.parquet")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(ExportError, match=r"^folder\.parquet cannot be written: Is a directory\.$"):
        export(filled, tmp_path / "folder.parquet")
    assert not list(tmp_path.glob("*.part"))


def test_an_export_that_fails_leaves_the_old_file(
    filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x.parquet"
    target.write_text("old")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(ExportError, match=r"^x\.parquet cannot be written: No space left on device\.$"):
        export(filled, target)
    assert target.read_text() == "old"
    assert not list(tmp_path.glob("*.part"))

"""Export: a view of the results as a Parquet file, for pandas, Polars, R or any other tool."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from db import journal, schema, tables
from db.columns import Column
from db.store import Store

VIEWS = schema.EXPOSED


class ExportError(RuntimeError):
    """The export cannot be made; the message says what to do."""


def export(store: Store, target: Path, view: str = "results") -> int:
    """Write a view as a Parquet file, batch by batch; what its columns mean goes with it as the fields' `comment`.

    The file is whole or as it was before. Returns the number of rows.

    Args:
        view: one of VIEWS.

    Raises ExportError when the target cannot be written or there is nothing to export yet, and StoreError when the
    results cannot be read.
    """
    if target.suffix != ".parquet":
        raise ExportError(f"{target.name or target} does not end in .parquet: name the file, such as {view}.parquet.")
    journal.look_into(store)
    temporary = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        rows = _write(store, temporary, view)
        if not rows and not store.rows("SELECT trial_id FROM trials LIMIT 1"):
            raise ExportError(f"There are no results at {store.name} yet: run a sweep first, or ingest a journal.")
        os.replace(temporary, target)
    except OSError as error:
        raise ExportError(f"{target.name} cannot be written: {error.strerror or error}.") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return rows


def _write(store: Store, path: Path, view: str) -> int:
    rows = 0
    own = store.own_metrics() if view in schema.WITH_OWN else ()
    with store.reader(view) as batches, path.open("wb") as file:
        described = pa.schema([field.with_metadata(_comment(view, field.name, own)) for field in batches.schema])
        with pq.ParquetWriter(file, described, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch.cast(described))
                rows += batch.num_rows
        file.flush()
        os.fsync(file.fileno())
    return rows


def _comment(view: str, column: str, own: Sequence[Column]) -> dict[str, str] | None:
    table = tables.metadata.tables.get(view)
    text = schema.comment_of(column, own) if table is None else table.c[column].comment
    return {"comment": text} if text else None

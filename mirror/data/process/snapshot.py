"""The snapshot: all views of the results in one in-memory database, small enough for a million trials."""

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import duckdb

from db.columns import BY_NAME
from db.schema import EVERY, EXPOSED, select
from db.store import Store
from mirror.data.confinement import SETTINGS

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "snapshot"  # of the database that the views are in
# The order of the rows of a view, total and as short as can be; of others by all their columns.
_ORDERS = {
    "history": "benchmark, dataset, method, compression DESC, embedding_dim, batch_size, seed, trial_id",
    "failures": "trial_id",
    "curves": "trial_id, step, metric",
}
_FEW = 100_000  # rows that are copied whole
_BATCHES, _BATCH_ROWS = 10, 50_000  # that are held at once, before they are compressed
_TYPES = {"text": "VARCHAR", "integer": "BIGINT", "real": "DOUBLE", "boolean": "BOOLEAN", "timestamp": "TIMESTAMP"}


def read(store: Store, views: Collection[str]) -> "Iterator[tuple[str, pa.Table | pa.RecordBatchReader]]":
    """(view, its rows) of each view, all of one state of the results. `history` needs `results`, which comes first.

    Of `results` the ids alone are read: see load.
    """
    wanted = _wanted(views)
    if store.path is None:
        tables = store.snapshot(wanted)
        yield from ((view, tables.pop(view)) for view in wanted)
        return
    with store.held():
        for view, columns in wanted.items():
            with store.reader(view, columns) as rows:
                yield view, rows


def _wanted(views: Collection[str]) -> dict[str, Sequence[str]]:
    return {v: ("trial_id",) if v == "results" else EVERY for v in ("results", "history", *EXPOSED) if v in views}


def load(views: "Iterable[tuple[str, pa.Table | pa.RecordBatchReader]]", threads: int) -> duckdb.DuckDBPyConnection:
    """An in-memory database with the views, their rows in an order that does not change from load to load."""
    connection = empty(threads)
    finish(connection, append(connection, views))
    return connection


def empty(threads: int) -> duckdb.DuckDBPyConnection:
    """An in-memory database for the views."""
    connection = duckdb.connect(":memory:", config={**SETTINGS, "threads": threads})
    # Compressed, a million trials take 0.1 GB and not 0.8, and are read no slower.
    connection.execute(f"ATTACH ':memory:' AS {NAME} (COMPRESS)")
    connection.execute(f"USE {NAME}")
    return connection


def append(
    connection: duckdb.DuckDBPyConnection, views: "Iterable[tuple[str, pa.Table | pa.RecordBatchReader]]"
) -> list[str]:
    """Bring the views in as they come. Returns their names."""
    names = []
    for view, rows in views:
        names.append(view)
        _append(connection, f"read_{view}", rows)
    return names


def is_small(connection: duckdb.DuckDBPyConnection, views: Collection[str]) -> bool:
    """Whether the file that is attached has few enough rows to copy each view whole: that takes a tenth more memory."""
    tables = ("trials", *(t for v, t in (("samples", "samples"), ("curves", "curve_points")) if v in views))
    counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in tables]
    return all(count is not None and count[0] <= _FEW for count in counts)


def copy(connection: duckdb.DuckDBPyConnection, views: Collection[str]) -> list[str]:
    """What `append` does, of the file that is attached. Returns the names of the views."""
    wanted = _wanted(views)
    for view, columns in wanted.items():
        connection.execute(f"CREATE TABLE {NAME}.read_{view} AS {select(view, columns)}")
    return list(wanted)


def finish(connection: duckdb.DuckDBPyConnection, views: Collection[str]) -> None:
    """Sort the views that were brought in; not before the store is closed, whose part in the work takes as much memory.

    `results` is kept as a mark on the rows of `history`: it holds the same columns of fewer trials.
    """
    for view in views:
        if view != "results":
            _sort(connection, view)
    if "history" in views:
        measured = connection.execute("FROM measured LIMIT 0").description or []
        columns = ", ".join(f'"{column[0]}"' for column in measured if column[0] != "is_newest")
        connection.execute(f"CREATE VIEW history AS SELECT {columns} FROM measured")
        connection.execute(f"CREATE VIEW results AS SELECT {columns} FROM measured WHERE is_newest")
        connection.execute("DROP TABLE read_results")


def _append(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    rows: "pa.Table | pa.RecordBatchReader",
) -> None:
    """Make a table of the rows as they come, part by part; such as are few are compressed only once they are sorted."""
    import pyarrow as pa  # not before the process has said which modules pyarrow is to do without

    columns = ", ".join(map(_column, rows.schema.names))
    batches = iter(rows.to_batches(_BATCH_ROWS) if isinstance(rows, pa.Table) else rows)
    into, held = f"CREATE TABLE {table} AS", 0
    while (part := list(itertools.islice(batches, _BATCHES))) or into.startswith("CREATE"):
        connection.register("incoming", pa.Table.from_batches(part, rows.schema))
        connection.execute(f"{into} SELECT {columns} FROM incoming")
        connection.unregister("incoming")
        held += sum(len(batch) for batch in part)
        if held > _BATCH_ROWS:
            connection.execute(f"FORCE CHECKPOINT {NAME}")  # compresses
        into = f"INSERT INTO {table}"


def _sort(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    """Make the table that a view is read from, in its order, of the rows as they came.

    Samples stay as they came, which is how they were taken: to sort so many takes more memory than all the rest.
    """
    if view == "samples":
        connection.execute("ALTER TABLE read_samples RENAME TO samples")
        return
    if view == "history":
        table, columns = "measured", "*, trial_id IN (FROM read_results) AS is_newest"
    else:
        table, columns = view, "*"
    order = _ORDERS.get(view, "ALL")
    connection.execute(f"CREATE TABLE {table} AS SELECT {columns} FROM read_{view} ORDER BY {order}")
    connection.execute(f"DROP TABLE read_{view}")
    connection.execute(f"FORCE CHECKPOINT {NAME}")


def _column(name: str) -> str:
    # A database other than DuckDB gives a column without values no type.
    return f'"{name}"::{_TYPES[BY_NAME[name].type]} AS "{name}"' if name in BY_NAME else f'"{name}"'

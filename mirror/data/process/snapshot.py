"""The snapshot: all views of the results in one in-memory database, small enough for a million trials."""

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import duckdb

from db.columns import BY_NAME
from db.schema import EVERY, EXPOSED
from db.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

# The order of the rows of a view, total and as short as can be; of others by all their columns.
_ORDERS = {
    "history": "benchmark, dataset, method, compression DESC, embedding_dim, batch_size, seed, trial_id",
    "failures": "trial_id",
    "curves": "trial_id, step, metric",
}
_BATCHES, _BATCH_ROWS = 10, 50_000  # that are held at once, before they are compressed
_TYPES = {"text": "VARCHAR", "integer": "BIGINT", "real": "DOUBLE", "boolean": "BOOLEAN", "timestamp": "TIMESTAMP"}


def read(store: Store, views: Collection[str]) -> "Iterator[tuple[str, pa.Table | pa.RecordBatchReader]]":
    """(view, its rows) of each view, all of one state of the results. `history` needs `results`, which comes first.

    Of `results` the ids alone are read: see load.
    """
    wanted: dict[str, Sequence[str]] = {view: EVERY for view in ("results", "history", *EXPOSED) if view in views}
    if "results" in wanted:
        wanted["results"] = ("trial_id",)
    if store.path is None:
        tables = store.snapshot(wanted)
        yield from ((view, tables.pop(view)) for view in wanted)
        return
    with store.held():
        for view, columns in wanted.items():
            with store.reader(view, columns) as rows:
                yield view, rows


def load(views: "Iterable[tuple[str, pa.Table | pa.RecordBatchReader]]", threads: int) -> duckdb.DuckDBPyConnection:
    """An in-memory database with the views, their rows in an order that does not change from load to load.

    `results` is kept as a mark on the rows of `history`: it holds the same columns of fewer trials.
    """
    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": threads,
            "autoload_known_extensions": "false",
            "autoinstall_known_extensions": "false",
            "allow_community_extensions": "false",
        },
    )
    # Compressed, a million trials take 0.1 GB and not 0.8, and are read no slower.
    connection.execute("ATTACH ':memory:' AS snapshot (COMPRESS)")
    connection.execute("USE snapshot")
    names = {}
    for view, rows in views:
        names[view] = ", ".join(f'"{name}"' for name in rows.schema.names)
        _append(connection, f"read_{view}", rows)
    # Sorted only now that the store is closed, whose part in the work takes as much memory again.
    for view in names:
        if view != "results":
            _sort(connection, view)
    if "history" in names:
        connection.execute(f"CREATE VIEW history AS SELECT {names['history']} FROM measured")
        connection.execute(f"CREATE VIEW results AS SELECT {names['history']} FROM measured WHERE is_newest")
        connection.execute("DROP TABLE read_results")
    return connection


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
            connection.execute("FORCE CHECKPOINT snapshot")  # compresses
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
    connection.execute("FORCE CHECKPOINT snapshot")


def _column(name: str) -> str:
    # A database other than DuckDB gives a column without values no type.
    return f'"{name}"::{_TYPES[BY_NAME[name].type]} AS "{name}"' if name in BY_NAME else f'"{name}"'

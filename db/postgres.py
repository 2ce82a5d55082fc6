"""What PostgreSQL needs of its own: writers in turn, rows in and out by COPY, and its errors as sentences."""

import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.csv
import sqlalchemy as sa

from db.record import Record

# Advisory locks. One writer at a time, as a DuckDB file has it: what a transaction looks up stays true until it has
# written. And nobody reads while the tables and views change.
_WRITING, _CHANGING = (int.from_bytes(word) for word in (b"mirror w", b"mirror c"))

# A server that is coming up, or full, answers a moment later.
_NOT_YET = ("starting up", "too many clients", "too many connections", "connection slots are reserved")

_LOCKED, _NO_TABLE = "55P03", "42P01"

# By PostgreSQL's number of the type: boolean, bigint, double precision, timestamp; all others are text.
_ARROW_TYPES = {16: pa.bool_(), 20: pa.int64(), 701: pa.float64(), 1114: pa.timestamp("us")}

_NUL = "\N{REPLACEMENT CHARACTER}"

# What the server says -> what to do about it.
_ADVICE = (
    ("psycopg|pq wrapper", "install it with `pip install 'psycopg[binary]'`"),
    ("password authentication|no password", "mend the user or the password: in the URL, in PGPASSWORD or in ~/.pgpass"),
    (r'database ".*" does not exist', "make it with `createdb`, or name another"),
    (r'role ".*" does not exist', "make it with `createuser`, or name another user in the URL"),
    ("no equivalent in encoding", "make the database with `createdb -E UTF8 -T template0` and ingest again"),
    ("other objects depend on it", "drop what was built on the views of Mirror, and make it anew afterwards"),
    (
        "must be owner",
        "they are of another version of Mirror: use that one, or have their owner run `python -m bench_engine ingest` "
        "with this one",
    ),
    ("permission denied", "use the role that owns the database, or have it granted"),
    ("connection to server|resolve host|time-?out", "start the server, or mend host and port in the URL"),
    ("closed the connection|terminating connection|connection is (closed|lost|bad)", "try again when it is back"),
)


def engine_options(url: str, write: bool, wait_s: float) -> dict[str, Any]:
    """Arguments of create_engine: a transaction reads one state, all text is UTF-8, and a dead network ends in seconds.

    Raises sqlalchemy.exc.ArgumentError for a URL that cannot be taken apart.
    """
    try:
        parts = sa.make_url(url)
    except ValueError:
        raise sa.exc.ArgumentError("its port is no number") from None
    if "@" in (parts.host or ""):  # what should be hidden would be shown
        raise sa.exc.ArgumentError("a password must have its @ written as %40")
    arguments: dict[str, Any] = {"keepalives_idle": 30, "tcp_user_timeout": 30_000, "client_encoding": "utf8"}
    arguments["connect_timeout"] = max(2, round(wait_s))  # libpq takes less than 2 for 2
    level = "READ COMMITTED" if write else "REPEATABLE READ"
    return {
        "connect_args": {key: value for key, value in arguments.items() if key not in parts.query},
        "execution_options": {"isolation_level": level, "postgresql_readonly": not write},
    }


def begin(connection: sa.Connection, write: bool, wait_s: float) -> None:
    """Wait for the turn to write, or for tables that do not change; locks are free when the transaction ends."""
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, round(wait_s * 1000))}")
    if not write:
        # Of windows the planner expects a row or two, and takes them for cheap to compute anew for every trial.
        connection.exec_driver_sql("SET LOCAL enable_nestloop = off")
    lock = f"pg_advisory_xact_lock({_WRITING})" if write else f"pg_advisory_xact_lock_shared({_CHANGING})"
    connection.exec_driver_sql(f"SELECT {lock}")


def begin_change(connection: sa.Connection) -> None:
    """Wait until nobody reads: views that are dropped one by one would block a reader, and he them, for ever."""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CHANGING})")


def storable(record: Record) -> Record:
    """The record without NUL characters in its texts, which PostgreSQL cannot hold."""
    return replace(
        record,
        trial=_storable(record.trial),
        machine=_storable(record.machine),
        sweep=_storable(record.sweep),
        curves=tuple((metric.replace("\0", _NUL), step, value) for metric, step, value in record.curves),
        own_metrics={name.replace("\0", _NUL): _storable(said) for name, said in record.own_metrics.items()},
    )


def _storable(row: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v.replace("\0", _NUL) if isinstance(v, str) else v for k, v in row.items()}


def _cursor(connection: sa.Connection) -> Any:
    """A cursor of psycopg's own, which can COPY."""
    return connection.connection.driver_connection.cursor()  # type: ignore[union-attr]


def insert(connection: sa.Connection, table: sa.Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Append rows by COPY: an INSERT of each would take minutes for a large journal."""
    names = [c.name for c in table.c]
    with _cursor(connection) as cursor, cursor.copy(f"COPY {table.name} ({', '.join(names)}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row([row.get(name) for name in names])


def analyze(connection: sa.Connection, tables: Iterable[sa.Table]) -> None:
    """Count anew what the tables hold: before it is known, queries are planned for none."""
    for table in tables:
        connection.exec_driver_sql(f"ANALYZE {table.name}")


def column_types(connection: sa.Connection, select: str) -> dict[str, pa.DataType]:
    """The columns of a query on a view, in order.

    The view itself is asked: the catalogue would answer as of the start of the transaction.
    """
    with _cursor(connection) as cursor:
        cursor.execute(f"{select} LIMIT 0")
        return {column.name: _ARROW_TYPES.get(column.type_code, pa.string()) for column in cursor.description}


def fetch(connection: sa.Connection, select: str) -> pa.Table:
    """The rows of a query on a view, with the types of its columns, by COPY: row by row, a million take long."""
    connection.exec_driver_sql("SET LOCAL datestyle = 'ISO'")
    text = io.BytesIO()
    with _cursor(connection) as cursor, cursor.copy(f"COPY ({select}) TO STDOUT (FORMAT csv, HEADER)") as copy:
        for part in copy:
            text.write(part)
    length = text.tell()
    text.seek(0)
    return pyarrow.csv.read_csv(
        text,
        # No row may be longer than a block.
        pyarrow.csv.ReadOptions(block_size=min(max(length, 1), 2**30)),
        pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        pyarrow.csv.ConvertOptions(
            column_types=column_types(connection, select),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,  # COPY quotes an empty text, and not a NULL
            true_values=["t"],
            false_values=["f"],
        ),
    )


def is_busy(error: Exception) -> bool:
    """Whether the same attempt may succeed a moment later."""
    return _state(error) == _LOCKED or any(text in str(error) for text in _NOT_YET)


def sentence(name: str, error: Exception) -> str:
    """What went wrong with the results of this name, and what to do."""
    if _state(error) == _LOCKED:
        return (
            f"The results at {name} are held by another program and did not come free in time: try again in a moment. "
            "Nothing is lost: finished trials are in the journal."
        )
    if _state(error) == _NO_TABLE:
        return f"There are no results at {name} yet: run `python -m bench_engine ingest` first."
    first, *_ = str(error).strip().splitlines() or [type(error).__name__]
    what = re.sub(r"^connection (failed|is bad): ", "", first).rstrip(".")
    advice = next((text for pattern, text in _ADVICE if re.search(pattern, what)), "")
    return f"The results at {name} cannot be used: {what}" + (f"; {advice}." if advice else ".")


def _state(error: Exception) -> str | None:
    """PostgreSQL's code of an error, from the driver's or from SQLAlchemy's around it."""
    return getattr(getattr(error, "orig", error), "sqlstate", None)

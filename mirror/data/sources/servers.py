"""PostgreSQL and MySQL: transactions that can only read, with limits that the server itself keeps."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from mirror.data.data_source import QueryError
from mirror.data.plain_values import take
from mirror.data.sources import structure
from mirror.data.sources.location import Location, SourceError
from mirror.data.sources.reader import LOCK_LIMIT_S, ROW_CAP, TIME_LIMIT_S, Fetched, Reader, Structure, too_slow
from mirror.schema.database import Relation, shown

CONNECT_S = 8
SAMPLE_ROWS = 100_000

_INSTALL = {
    "postgresql": "PostgreSQL is read with psycopg, which is not installed: run `pip install 'psycopg[binary]'`.",
    "mysql": "MySQL is read with PyMySQL, which is not installed: run `pip install pymysql`.",
}

# What a server or driver says -> what to do about it.
_ADVICE = (
    ("password authentication|no password supplied|access denied", "mend the user or the password"),
    (r'database ".*" does not exist|unknown database', "mend the name of the database at the end of the URL"),
    (r'role ".*" does not exist', "mend the user in the URL"),
    ("permission denied|command denied", "ask for a user that may SELECT"),
    (
        "connection refused|resolve|timeout|timed out|can't connect|name or service not known|unreachable|no route",
        "mend host and port in the URL, or start the server",
    ),
    ("too many (clients|connections)|slots are reserved", "try again when it is less busy"),
    ("terminating connection|closed the connection|lost connection|gone away", "try again when it is back"),
    ("ssl", "mend the SSL settings of the URL, such as ?sslmode=require"),
)
# SQLSTATE of PostgreSQL and number of MySQL: a query that was stopped, a lock that was not had, a statement at fault.
_STOPPED = {"57014", 3024, 1969, 1317}
_LOCKED = {"55P03", 1205, 3572}
_GONE = ("08", "57P", "28", "3D", "53")

_VERSION = {
    "postgresql": """SELECT md5(coalesce(string_agg(concat_ws(':', c.oid, c.relname, a.attname, a.atttypid), ','
        ORDER BY c.oid, a.attnum), '')) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE a.attnum > 0 AND NOT a.attisdropped
        AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'""",
    "mysql": """SELECT concat(count(*), '-',
        coalesce(sum(crc32(concat_ws(':', table_name, column_name, column_type))), 0))
        FROM information_schema.columns WHERE table_schema = database()""",
}
_NAMES = """SELECT table_name FROM information_schema.tables
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"""
_ANY_CASE = "SELECT @@lower_case_table_names"
_PARTITIONS = "SELECT relname FROM pg_class WHERE relispartition"
_ESTIMATES = {
    "postgresql": """SELECT c.relname, c.reltuples::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'm') AND c.reltuples > 0""",
    "mysql": """SELECT table_name, table_rows FROM information_schema.tables
        WHERE table_schema = database() AND table_rows IS NOT NULL""",
}


class ServerReader(Reader):
    """A PostgreSQL or MySQL database at a URL. Each question gets a connection of its own, which reads one state."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._estimates: dict[str, int] | None = None
        self._engine = self._made()

    def _made(self) -> sa.Engine:
        try:
            return sa.create_engine(self.location.url, poolclass=sa.NullPool, **options(self.location))
        except ImportError:
            raise SourceError(_INSTALL[self.location.kind]) from None
        except (sa.exc.ArgumentError, ValueError, TypeError) as error:
            raise SourceError(self._sentence(error)) from None

    @contextlib.contextmanager
    def session(self) -> Iterator["ServerSession"]:
        """A connection in a transaction that can only read."""
        with self._connection() as connection:
            yield ServerSession(self, connection)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.connect() as connection:
                for statement in opening(self.location.kind):
                    connection.exec_driver_sql(statement)
                self._choose_schema(connection)
                try:
                    yield connection
                finally:
                    with contextlib.suppress(sa.exc.DBAPIError):
                        connection.rollback()
        except ImportError:
            raise SourceError(_INSTALL[self.location.kind]) from None
        except sa.exc.SQLAlchemyError as error:
            raise SourceError(self._sentence(error)) from None

    def _choose_schema(self, connection: sa.Connection) -> None:
        """Where PostgreSQL's search path has no tables, the one schema that has some; names stay without a prefix."""
        if self.location.kind != "postgresql":
            return
        there = [
            name
            for (name,) in connection.exec_driver_sql(
                "SELECT DISTINCT table_schema FROM information_schema.tables "
                "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
            )
        ]
        row = connection.exec_driver_sql("SELECT current_schema()").fetchone()
        if not there or (row and row[0] in there):
            return
        if len(there) > 1:
            raise SourceError(
                f"{self.location.name} has tables in the schemas {shown(there)}: name one in the URL, with "
                f"?options=-csearch_path%3D{there[0]} at its end."
            )
        name = there[0].replace('"', '""')
        connection.exec_driver_sql(f'SET LOCAL search_path = "{name}"')

    def names(self) -> set[str]:
        """Names of all tables and views, of every schema."""
        with self._connection() as connection:
            rows = connection.exec_driver_sql(_NAMES)
            return {str(row[0]) for row in rows}

    def structure(self) -> Structure:
        """Tables, columns and keys of the search path's schema (PostgreSQL) or the database (MySQL)."""
        with self._connection() as connection:
            skipped = set()
            if self.location.kind == "postgresql":
                skipped = {str(row[0]) for row in connection.exec_driver_sql(_PARTITIONS)}
            schema = None
            if self.location.kind == "postgresql":
                row = connection.exec_driver_sql("SELECT current_schema()").fetchone()
                schema = row[0] if row else None
            estimates = connection.exec_driver_sql(_ESTIMATES[self.location.kind]).all()
            self._estimates = {str(name): int(rows) for name, rows in estimates}
            any_case = self.location.kind == "mysql" and connection.exec_driver_sql(_ANY_CASE).scalar_one() != 0
            return structure.read(sa.inspect(connection), schema, skipped, any_case=any_case)

    def version(self) -> str:
        """A hash of all tables and columns."""
        with self._connection() as connection:
            row = connection.exec_driver_sql(_VERSION[self.location.kind]).fetchone()
            return str(row[0]) if row else ""

    def estimate(self, table: str) -> int | None:
        """The number of rows that the server expects."""
        return (self._estimates or {}).get(table)

    def sample(self, relation: Relation) -> tuple[int, str]:
        """The first rows; of a large PostgreSQL table rows from all over it."""
        preparer = self._engine.dialect.identifier_preparer
        name = preparer.quote_identifier(relation.name)
        rows = self.estimate(relation.name)
        if self.location.kind == "postgresql" and rows and rows > SAMPLE_ROWS and not relation.view:
            return SAMPLE_ROWS, f"{name} TABLESAMPLE SYSTEM ({max(0.0001, 100 * SAMPLE_ROWS / rows):.4f})"
        return SAMPLE_ROWS, name

    def _sentence(self, error: Exception) -> str:
        first, *_ = str(getattr(error, "orig", None) or error).strip().splitlines() or [type(error).__name__]
        numbered = re.match(r"\(\d+, ['\"](.*)['\"]\)$", first)
        what = re.sub(r"^connection (failed|is bad): ", "", numbered[1] if numbered else first).rstrip(".")
        what = self.location.without_password(what)
        advice = next((text for pattern, text in _ADVICE if re.search(pattern, what, re.IGNORECASE)), "")
        return f"{self.location.name} cannot be read: {what}" + (f"; {advice}." if advice else ".")

    def failure(self, error: sa.exc.DBAPIError, time_limit_s: float) -> Exception:
        """What a failed statement means for the person who asked."""
        cause = error.orig
        arguments: tuple[object, ...] = getattr(cause, "args", ())
        state = getattr(cause, "sqlstate", None) or (arguments[0] if arguments else None)
        if state in _STOPPED:
            return too_slow(time_limit_s)
        if state in _LOCKED:
            return QueryError("A table is locked by another program and did not come free in time: try again.")
        if error.connection_invalidated or (isinstance(state, str) and state.startswith(_GONE)):
            return SourceError(self._sentence(error))
        text = str(arguments[1] if isinstance(state, int) and len(arguments) > 1 else cause)
        lines = [line for line in text.splitlines() if line and not re.match(r"LINE \d+:|\s*\^", line)]
        what = self.location.without_password(" ".join(lines[:1] + [t for t in lines[1:] if t.startswith("HINT:")]))
        return QueryError(what.rstrip(".")[:600] + ".")


class ServerSession:
    """One connection in a transaction that can only read."""

    parser: None = None

    def __init__(self, reader: ServerReader, connection: sa.Connection) -> None:
        self._reader = reader
        self._connection = connection

    def fetch(self, sql: str, row_cap: int = ROW_CAP, time_limit_s: float = TIME_LIMIT_S) -> Fetched:
        """Run one statement; rows come from the server as they are asked for."""
        connection, kind = self._connection, self._reader.location.kind
        try:
            for statement in limits(kind, _is_mariadb(connection), time_limit_s, row_cap):
                connection.exec_driver_sql(statement)
            # A savepoint: a statement that fails leaves the transaction fit for the next.
            with connection.begin_nested():
                # PyMySQL would read a stream that is cut to its end; MySQL cuts the result itself.
                how = {"no_parameters": True, "stream_results": kind == "postgresql", "max_row_buffer": 100}
                result = connection.exec_driver_sql(sql, execution_options=how)
                columns = tuple(result.keys())
                rows, truncated = take(result.fetchmany, row_cap)
                result.close()
                return Fetched(columns, rows, truncated)
        except sa.exc.DBAPIError as error:
            raise self._reader.failure(error, time_limit_s) from None


def options(location: Location) -> dict[str, Any]:
    """Arguments of create_engine."""
    arguments: dict[str, Any] = {"connect_timeout": CONNECT_S}
    execution: dict[str, Any] = {}  # MySQL reads one state of the database by itself
    if location.kind == "postgresql":
        arguments |= {"client_encoding": "utf8", "application_name": "mirror"}
        execution = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    else:
        arguments |= {"charset": "utf8mb4", "read_timeout": int(3 * TIME_LIMIT_S), "local_infile": False}
    given = sa.make_url(location.url).query
    return {
        "connect_args": {k: v for k, v in arguments.items() if k not in given},
        "execution_options": execution,
    }


def opening(kind: str) -> list[str]:
    """What a session says first: read only, UTC, text as the standard has it, no waiting for locks."""
    if kind == "postgresql":
        return [
            "SET default_transaction_read_only = on",
            f"SET LOCAL lock_timeout = {round(LOCK_LIMIT_S * 1000)}",
            "SET LOCAL idle_in_transaction_session_timeout = 60000",
            "SET LOCAL standard_conforming_strings = on",
            "SET LOCAL timezone = 'UTC'",
        ]
    return [
        "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
        "SET SESSION time_zone = '+00:00'",
        f"SET SESSION lock_wait_timeout = {round(LOCK_LIMIT_S)}",
        f"SET SESSION innodb_lock_wait_timeout = {round(LOCK_LIMIT_S)}",
        "SET SESSION TRANSACTION READ ONLY",
        "START TRANSACTION READ ONLY",
    ]


def limits(kind: str, mariadb: bool, time_limit_s: float, row_cap: int) -> list[str]:
    """What limits the next statement on the server itself: its time, and for MySQL its rows."""
    milliseconds = max(1, round(time_limit_s * 1000))
    if kind == "postgresql":
        return [f"SET LOCAL statement_timeout = {milliseconds}"]
    time = f"max_statement_time = {milliseconds / 1000:g}" if mariadb else f"max_execution_time = {milliseconds}"
    return [f"SET SESSION {time}", f"SET SESSION sql_select_limit = {row_cap + 1}"]


def _is_mariadb(connection: sa.Connection) -> bool:
    return bool(getattr(connection.dialect, "is_mariadb", False))

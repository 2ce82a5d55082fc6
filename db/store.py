"""The store: short-lived connections to the results, whatever database holds them."""

import contextlib
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from db import duck, migrations, schema
from db.columns import Column, own_columns
from db.record import Record
from db.settings import db_url, is_postgres

# SQLAlchemy, and what needs it, takes longer to load than it takes to ask a DuckDB file, which is read without: it is
# imported by what writes, and by what reads from a server.
if TYPE_CHECKING:
    import pyarrow as pa
    import sqlalchemy as sa

LOCK_WAIT_S = 10.0
BATCH_ROWS = 50_000
# Anybody's file may be opened, and its views may name other files.
_CONFINED: dict[str, Any] = {"enable_external_access": "false"}
EVERY_VIEW = dict.fromkeys(schema.EXPOSED, schema.EVERY)

Opened = TypeVar("Opened")


class StoreError(RuntimeError):
    """The results cannot be read or written; the message says what to do."""


class StoreBusyError(StoreError):
    """Another process holds the results file."""


class Store:
    """Results at a SQLAlchemy URL (or a path of a DuckDB file).

    Every method opens a connection, does one transaction and closes it: a DuckDB file that one process holds for
    writing can be opened by nobody else, not even for reading. In PostgreSQL writers take turns, and readers go on.

    Attributes:
        recovered: whether this store has set aside a log of the database that could not be replayed. What it held is
            still in the journal (see db.journal.recover).
    """

    def __init__(self, url: str | None = None, lock_wait_s: float = LOCK_WAIT_S) -> None:
        self.url = db_url(url)
        self.lock_wait_s = lock_wait_s
        self.recovered = False
        self.path = Path(self.url.removeprefix("duckdb:///")) if self.url.startswith("duckdb:///") else None
        self.postgres = is_postgres(self.url)
        self._file_name = self.path.name if self.path else ""

    @property
    def name(self) -> str:
        """What to call the results in a message: the file's name, or the URL without its password."""
        if self.path:
            return self._file_name
        import sqlalchemy as sa

        try:
            url = sa.make_url(self.url)
        except (sa.exc.ArgumentError, ValueError):
            return "the URL given"  # it may hold a password, and cannot be taken apart to hide it
        if "@" in (url.host or ""):
            return "the URL given"
        return url.set(query={}).render_as_string(hide_password=True)  # a query, too, may hold a password

    # -- writing ---------------------------------------------------------------------------------------------------

    def ensure(self) -> bool:
        """Create or migrate the tables and views. Returns True when the results were created anew."""
        self.check_place()
        if self.path is not None and not self.path.exists():
            return self._create(self.path)
        if not self._pending():
            return False
        with self._connect(write=True) as connection:
            anew = migrations.migrate(connection)
        self.checkpoint()
        return anew

    def is_older(self) -> bool:
        """Whether `ensure` would change what is there. Raises StoreError where nothing is."""
        self._check_there()
        return self._pending()

    def _pending(self) -> bool:
        if self.path is None:
            with self._connect(write=False) as connection:
                return migrations.pending(connection)
        with self._file() as file:
            applied = duck.applied(file)
            return applied is None or bool(migrations.missing(applied))

    @staticmethod
    def _create(path: Path) -> bool:
        """Make the file whole under another name first: a process that is killed leaves no half database behind."""
        part = path.with_name(f"{path.stem}.{os.getpid()}.part.duckdb")
        files = (part, part.with_name(part.name + ".wal"))
        try:
            path.parent.mkdir(exist_ok=True)
            for file in files:
                file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"The folder {path.parent.name}/ cannot be made: {error.strerror}.") from error
        beside = Store(str(part))
        beside._file_name = path.name
        try:
            with beside._connect(write=True) as connection:
                migrations.migrate(connection)
            beside.checkpoint()
            os.link(part, path)
        except FileExistsError:  # another process was quicker
            return False
        except OSError as error:
            raise StoreError(f"The results {path.name} cannot be made: {error.strerror}.") from error
        finally:
            for file in files:
                with contextlib.suppress(OSError):
                    file.unlink()
        return True

    def check_place(self) -> None:
        """Raises StoreError where the folder of a results file can be no other than a slip: even the one above it is
        missing."""
        if self.path and "?" in str(self.path):
            raise StoreError(f"DuckDB takes what follows a ? in {self.name} for something else: name another file.")
        if self.path and not self.path.parent.parent.is_dir():
            raise StoreError(
                f"There is no folder {self.path.parent}: make it, or name another place with --db or MIRROR_DB."
            )

    def add(self, records: Iterable[Record]) -> int:
        """Insert the trials that are not there yet, in one transaction. Returns how many were new."""
        from db import postgres, tables

        by_id = {r.trial_id: r for r in (map(postgres.storable, records) if self.postgres else records)}
        if not by_id:
            return 0
        with self._connect(write=True) as connection:
            own = tables.own_metrics_in(connection, by_id.values())
            added = tables.add(connection, by_id)
            if renewed := bool(own) and tables.know_own_metrics(connection, own):
                migrations.create_views(connection)
        if renewed:
            self.checkpoint()
        return added

    def add_timings(self, records: Sequence[Record]) -> None:
        """Insert the raw timings of trials that are there without."""
        from db import tables

        with self._connect(write=True) as connection:
            tables.add_timings(connection, records)

    def checkpoint(self) -> None:
        """Fold the write-ahead log into the file: replaying one that holds DDL is the riskiest thing DuckDB does."""
        if self.path:
            with self._connect(write=True) as connection:
                connection.exec_driver_sql("COMMIT")
                connection.exec_driver_sql("CHECKPOINT")
                connection.exec_driver_sql("BEGIN TRANSACTION")

    # -- reading ---------------------------------------------------------------------------------------------------

    def rows(self, sql: str, **parameters: Any) -> list[dict[str, Any]]:
        """Rows of our own SQL as dicts. For text from people or models use mirror.data."""
        if self.path and not parameters:
            with self._file() as file:
                found = file.execute(sql)
                names = tuple(column[0] for column in found.description)
                return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        import sqlalchemy as sa

        query = sa.text(sql)
        if self.path:  # to bind a value DuckDB imports pandas, which takes longer than most queries: quote them instead
            query = query.bindparams(*(sa.bindparam(n, v, literal_execute=True) for n, v in parameters.items()))
            parameters = {}
        with self._connect(write=False) as connection:
            result = connection.execute(query, parameters)
            names = tuple(result.keys())
            return [dict(zip(names, row, strict=True)) for row in result.all()]

    def own_metrics(self) -> tuple[Column, ...]:
        """The metrics of plug-ins that the results have columns of, whether the plug-ins are known here or not."""
        found = self.rows("SELECT name, text, unit, better FROM own_metrics")
        return own_columns(tuple(text or "" for text in row.values()) for row in found)  # type: ignore[misc]

    def trial_ids(self, machine_id: str | None = None) -> list[str]:
        """Ids of all trials, or of those of one machine; as one text from the database, since they may be many."""
        sql = "SELECT string_agg(trial_id, ',') AS ids FROM trials"
        if machine_id is None:
            (row,) = self.rows(sql)
        else:
            (row,) = self.rows(f"{sql} WHERE machine_id = :machine", machine=machine_id)
        return str(row["ids"]).split(",") if row["ids"] else []

    @contextlib.contextmanager
    def reader(self, view: str, columns: Sequence[str] = schema.EVERY) -> "Iterator[pa.RecordBatchReader]":
        """The rows of an exposed view in batches, read in one transaction that lasts as long as the context."""
        if self.path:
            with self._file() as file:
                yield file.execute(schema.select(view, columns)).to_arrow_reader(BATCH_ROWS)
            return
        from db import tables

        with self._connect(write=False) as connection:
            yield tables.reader(connection, view, columns, BATCH_ROWS)

    def snapshot(self, views: Mapping[str, Sequence[str]] = EVERY_VIEW) -> "dict[str, pa.Table]":
        """Exposed views, of each the columns that are named, as Arrow tables; read in one transaction."""
        if self.path:
            with self._file() as file:
                selects = {view: schema.select(view, columns) for view, columns in views.items()}
                return {view: file.execute(select).to_arrow_table() for view, select in selects.items()}
        from db import tables

        with self._connect(write=False) as connection:
            return {view: tables.table(connection, view, columns, BATCH_ROWS) for view, columns in views.items()}

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """A results file stays open for the context: nobody can write to it, and each reading in it opens nothing."""
        with self._file() if self.path else contextlib.nullcontext():
            yield

    @contextlib.contextmanager
    def attached(self, connection: duckdb.DuckDBPyConnection, otherwise: str) -> Iterator[None]:
        """A results file is what a connection reads for the context, brought up to date where it is not, and nobody can
        write to it; then its database `otherwise` is again.

        Takes less than a connection to the file itself, and no rows need be carried from one to the other.
        """
        assert self.path is not None
        try:
            self._attach(connection)
            try:
                applied = duck.applied(connection)
                if applied is None or migrations.missing(applied):
                    self._detach(connection, otherwise)
                    self.ensure()
                    self._attach(connection)
                yield
            finally:
                self._detach(connection, otherwise)
        except duckdb.Error as error:
            raise StoreError(self._sentence(error)) from error
        except migrations.NewerDatabaseError as error:
            raise StoreError(str(error)) from error

    def _attach(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._check_there()
        path = str(self.path).replace("'", "''")
        self._open(lambda: connection.execute(f"ATTACH '{path}' AS stored (READ_ONLY)"), duckdb.Error)
        connection.execute("USE stored")
        # Anybody's file may be opened: what its views and macros say must reach no other file.
        connection.execute("SET enable_external_access = false")

    @staticmethod
    def _detach(connection: duckdb.DuckDBPyConnection, otherwise: str) -> None:
        connection.execute(f"USE {otherwise}")
        connection.execute("DETACH DATABASE IF EXISTS stored")

    def version(self) -> str:
        """A text that changes whenever the results may have changed; cheap, opens nothing for a file."""
        if self.path is None:
            return str(self.rows("SELECT count(*) AS n, max(started_at) AS t FROM trials"))
        parts = []
        for path in (self.path, self.path.with_name(self.path.name + ".wal")):
            with contextlib.suppress(FileNotFoundError):
                stat = path.stat()
                parts.append(f"{stat.st_ino}-{stat.st_mtime_ns}-{stat.st_size}")
        return "/".join(parts)

    # -- connections -----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _file(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The results file, open for reading: nobody can write to it meanwhile."""
        self._check_there()
        try:
            opened = partial(duckdb.connect, str(self.path), read_only=True, config=_CONFINED)
            with self._open(opened, duckdb.Error) as file:
                yield file
        except duckdb.Error as error:
            raise StoreError(self._sentence(error)) from error
        except migrations.NewerDatabaseError as error:
            raise StoreError(str(error)) from error

    @contextlib.contextmanager
    def _connect(self, write: bool) -> "Iterator[sa.Connection]":
        """A connection by SQLAlchemy, in a transaction that lasts as long as the context."""
        import sqlalchemy as sa

        from db import postgres

        if not write:
            self._check_there()
        engine = self._engine(write)
        driver_error = engine.dialect.loaded_dbapi.Error  # of the raw connection under SQLAlchemy's
        try:
            connection = self._open(engine.connect, sa.exc.DBAPIError)
            with connection:
                try:
                    if self.postgres:
                        postgres.begin(connection, write, self.lock_wait_s)
                    yield connection
                except BaseException:
                    try:
                        connection.rollback()
                    except (sa.exc.DBAPIError, driver_error):  # the server is gone, and what it had begun with it
                        connection.invalidate()
                    raise
                connection.commit()
        except (sa.exc.DBAPIError, driver_error) as error:
            if self.postgres and postgres.is_busy(error):
                raise StoreBusyError(self._sentence(error)) from error
            raise StoreError(self._sentence(error)) from error
        except migrations.NewerDatabaseError as error:
            raise StoreError(str(error)) from error
        finally:
            engine.dispose()

    def _check_there(self) -> None:
        if self.path and not self.path.exists():
            raise StoreError(f"There are no results at {self.name} yet: run `python -m bench_engine ingest` first.")

    def _engine(self, write: bool) -> "sa.Engine":
        import sqlalchemy as sa

        from db import postgres

        options: dict[str, Any] = {}
        if self.path:
            options = {"connect_args": {"read_only": not write, "config": _CONFINED}}
        try:
            if self.postgres:
                options = postgres.engine_options(self.url, write, self.lock_wait_s)
            # A path as it stands: in a URL, ? and % are more than text.
            url = sa.URL.create("duckdb", database=str(self.path)) if self.path else self.url
            # A pooled connection would hold the file's lock for ever.
            return sa.create_engine(url, poolclass=sa.NullPool, **options)
        except sa.exc.NoSuchModuleError as error:
            advice = "write postgresql+psycopg://USER@HOST/DATABASE, or the path of a DuckDB file."
            raise StoreError(f"{self._sentence(error)}; {advice}") from error
        except (sa.exc.ArgumentError, ImportError, ValueError) as error:
            raise StoreError(self._sentence(error)) from error

    def _open(self, connect: Callable[[], Opened], failure: type[Exception]) -> Opened:
        """What `connect` opens, once nobody else holds it."""
        deadline = time.monotonic() + self.lock_wait_s
        wal_set_aside = False
        while True:
            try:
                return connect()
            except failure as error:
                text = str(error)
                if self.path and not wal_set_aside and duck.is_broken_log(text):
                    self._set_wal_aside()
                    wal_set_aside = True
                    continue
                if not self._is_busy(error):
                    raise StoreError(self._sentence(error)) from error
                if time.monotonic() >= deadline:
                    if self.postgres:
                        raise StoreBusyError(self._sentence(error)) from error
                    raise StoreBusyError(duck.busy_sentence(self.name, text, self.lock_wait_s)) from error
                time.sleep(random.uniform(0.02, 0.1))

    def _is_busy(self, error: Exception) -> bool:
        if not self.postgres:
            return duck.is_busy(str(error))
        from db import postgres

        return postgres.is_busy(error)

    def _set_wal_aside(self) -> None:
        assert self.path is not None
        self.recovered = True
        wal = self.path.with_name(self.path.name + ".wal")
        if wal.exists():
            stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
            os.replace(wal, wal.with_name(f"{wal.name}.corrupt-{stamp}"))

    def _sentence(self, error: Exception) -> str:
        cause = getattr(error, "orig", error)
        if self.postgres:
            from db import postgres

            return postgres.sentence(self.name, cause)
        text = str(cause).strip().splitlines()[0]
        if self.path:
            return duck.sentence(self.name, self.path, text)
        return f"The results at {self.name} cannot be used: {text}"

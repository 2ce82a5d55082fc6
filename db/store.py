"""The store: short-lived connections to the results, whatever database holds them."""

import contextlib
import itertools
import os
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from db import duck, migrations, postgres, schema
from db.record import Record
from db.settings import db_url

LOCK_WAIT_S = 10.0
BATCH_ROWS = 50_000
EVERY = ("*",)  # column of a view
EVERY_VIEW = dict.fromkeys(schema.EXPOSED, EVERY)
ANALYZE_FROM = 100  # new trials at once; fewer are counted by PostgreSQL in its own time


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
        self.postgres = postgres.is_url(self.url)
        self._file_name = self.path.name if self.path else ""

    @property
    def name(self) -> str:
        """What to call the results in a message: the file's name, or the URL without its password."""
        if self.path:
            return self._file_name
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
        with self._connect(write=False) as connection:
            if not migrations.pending(connection):
                return False
        with self._connect(write=True) as connection:
            anew = migrations.migrate(connection)
        self.checkpoint()
        return anew

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
        if self.path and not self.path.parent.parent.is_dir():
            raise StoreError(
                f"There is no folder {self.path.parent}: make it, or name another place with --db or MIRROR_DB."
            )

    def add(self, records: Iterable[Record]) -> int:
        """Insert the trials that are not there yet, in one transaction. Returns how many were new."""
        by_id = {r.trial_id: r for r in (map(postgres.storable, records) if self.postgres else records)}
        if not by_id:
            return 0
        with self._connect(write=True) as connection:
            known = self._known(connection, schema.trials.c.trial_id, by_id)
            new = [r for r in by_id.values() if r.trial_id not in known]
            stored = {c.name for c in schema.trials.c}
            self._insert(connection, schema.trials, [{k: v for k, v in r.trial.items() if k in stored} for r in new])
            self._append(connection, schema.samples, _samples(new))
            self._append(connection, schema.curve_points, _curve_points(new))
            self._merge(connection, schema.machines, self._machines(connection, new))
            self._merge(connection, schema.sweeps, self._sweeps(connection, new))
            if self.postgres and len(new) >= ANALYZE_FROM:
                postgres.analyze(connection, (schema.trials, schema.samples, schema.curve_points))
        return len(new)

    def add_timings(self, records: Sequence[Record]) -> None:
        """Insert the raw timings of trials that are there without."""
        with self._connect(write=True) as connection:
            lacking = {r.trial_id: r for r in records}
            timed = schema.samples.c.trial_id
            known = set(connection.execute(sa.select(timed).where(timed.in_(list(lacking))).distinct()).scalars())
            self._append(connection, schema.samples, _samples([r for i, r in lacking.items() if i not in known]))

    @staticmethod
    def _machines(connection: sa.Connection, records: list[Record]) -> list[dict[str, Any]]:
        """Machines as their newest trials tell of them; none of which the store has a newer trial."""
        of = schema.trials.c
        newest = dict(
            connection.execute(sa.select(of.machine_id, sa.func.max(of.started_at)).group_by(of.machine_id)).all()
        )
        found = {}
        for r in sorted(records, key=lambda r: r.trial["started_at"]):
            machine_id = r.machine.get("machine_id")
            if machine_id and r.trial["started_at"] >= newest.get(machine_id, r.trial["started_at"]):
                found[machine_id] = dict(r.machine)
        return list(found.values())

    @staticmethod
    def _sweeps(connection: sa.Connection, records: list[Record]) -> list[dict[str, Any]]:
        """Sweeps with their first start."""
        first = dict(connection.execute(sa.select(schema.sweeps.c.sweep_id, schema.sweeps.c.started_at)).all())
        found = {}
        for r in records:
            if sweep_id := r.sweep.get("sweep_id"):
                starts = [t for t in (first.get(sweep_id), r.sweep.get("started_at")) if t is not None]
                first[sweep_id] = min(starts, default=None)
                found[sweep_id] = {**r.sweep, "started_at": first[sweep_id]}
        return list(found.values())

    def _merge(self, connection: sa.Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
        """Insert or update rows by the table's key; what is there already is not written again."""
        (key,) = table.primary_key
        by_key = {row[key.name]: {c.name: row.get(c.name) for c in table.c} for row in rows}
        stored = connection.execute(sa.select(table).where(key.in_(by_key))).mappings()
        there = {row[key.name]: dict(row) for row in stored}
        self._insert(connection, table, [row for k, row in by_key.items() if k not in there])
        for k, row in by_key.items():
            if changes := {name: value for name, value in row.items() if k in there and value != there[k][name]}:
                connection.execute(sa.update(table).where(key == k).values(changes))

    @staticmethod
    def _known(connection: sa.Connection, key: sa.Column[str], wanted: dict[str, Any]) -> set[str]:
        if len(wanted) <= 1000:
            return set(connection.execute(sa.select(key).where(key.in_(list(wanted)))).scalars())
        return set(connection.execute(sa.select(key)).scalars())

    def _insert(self, connection: sa.Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
        self._append(connection, table, {c.name: [row.get(c.name) for row in rows] for c in table.c})

    def _append(self, connection: sa.Connection, table: sa.Table, columns: Mapping[str, Sequence[Any]]) -> None:
        """Insert rows that are given as the values of each column, in the order of the table's columns."""
        names = list(columns)
        if not columns[names[0]]:
            return
        if self.path is None:
            rows = (dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True))
            if self.postgres:
                postgres.insert(connection, table, rows)
            else:
                connection.execute(sa.insert(table), list(rows))
            return
        # DuckDB takes an Arrow table a thousand times faster than row by row.
        arrow = pa.table({c.name: pa.array(columns[c.name], type=_arrow_type(c.type)) for c in table.c})
        raw = _raw(connection)
        raw.register("incoming_rows", arrow)
        try:
            raw.execute(f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {', '.join(names)} FROM incoming_rows")
        finally:
            raw.unregister("incoming_rows")

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
        query = sa.text(sql)
        if self.path:  # to bind a value DuckDB imports pandas, which takes longer than most queries: quote them instead
            query = query.bindparams(*(sa.bindparam(n, v, literal_execute=True) for n, v in parameters.items()))
            parameters = {}
        with self._connect(write=False) as connection:
            result = connection.execute(query, parameters)
            names = tuple(result.keys())
            return [dict(zip(names, row, strict=True)) for row in result.all()]

    @contextlib.contextmanager
    def reader(self, view: str, columns: Sequence[str] = EVERY) -> Iterator[pa.RecordBatchReader]:
        """The rows of an exposed view in batches, read in one transaction that lasts as long as the context."""
        with self._connect(write=False) as connection:
            yield self._reader(connection, view, columns)

    def _reader(self, connection: sa.Connection, view: str, columns: Sequence[str]) -> pa.RecordBatchReader:
        select = _select(view, columns)
        if self.path:
            return _raw(connection).execute(select).to_arrow_reader(BATCH_ROWS)
        types = pa.schema(self._types(connection, view, columns))
        result = connection.execution_options(yield_per=BATCH_ROWS).execute(sa.text(select))
        batches = (pa.RecordBatch.from_arrays(_columns(part, types), schema=types) for part in result.partitions())
        return pa.RecordBatchReader.from_batches(types, batches)

    def snapshot(self, views: Mapping[str, Sequence[str]] = EVERY_VIEW) -> dict[str, pa.Table]:
        """Exposed views, of each the columns that are named, as Arrow tables; read in one transaction."""
        with self._connect(write=False) as connection:
            return {view: self._table(connection, view, columns) for view, columns in views.items()}

    def _table(self, connection: sa.Connection, view: str, columns: Sequence[str]) -> pa.Table:
        if self.path:
            return _raw(connection).execute(_select(view, columns)).to_arrow_table()
        if self.postgres:
            return postgres.fetch(connection, _select(view, columns))
        return self._reader(connection, view, columns).read_all()

    def _types(self, connection: sa.Connection, view: str, columns: Sequence[str]) -> dict[str, pa.DataType]:
        if self.postgres:
            return postgres.column_types(connection, _select(view, columns))
        known = {c["name"]: _arrow_type(c["type"]) for c in sa.inspect(connection).get_columns(view)}
        return known if columns == EVERY else {name: known[name] for name in columns}

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
    def _connect(self, write: bool) -> Iterator[sa.Connection]:
        if self.path and not write and not self.path.exists():
            raise StoreError(f"There are no results at {self.name} yet: run `python -m bench_engine ingest` first.")
        engine = self._engine(write)
        driver_error = engine.dialect.loaded_dbapi.Error  # of the raw connection under SQLAlchemy's
        try:
            connection = self._open(engine)
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

    def _engine(self, write: bool) -> sa.Engine:
        options: dict[str, Any] = {"connect_args": {"read_only": not write}} if self.path else {}
        try:
            if self.postgres:
                options = postgres.engine_options(self.url, write, self.lock_wait_s)
            # A pooled connection would hold the file's lock for ever.
            return sa.create_engine(self.url, poolclass=sa.NullPool, **options)
        except (sa.exc.ArgumentError, ImportError, ValueError) as error:
            raise StoreError(self._sentence(error)) from error

    def _open(self, engine: sa.Engine) -> sa.Connection:
        deadline = time.monotonic() + self.lock_wait_s
        wal_set_aside = False
        while True:
            try:
                return engine.connect()
            except sa.exc.DBAPIError as error:
                text = str(error)
                if self.path and not wal_set_aside and duck.is_broken_log(text):
                    self._set_wal_aside()
                    wal_set_aside = True
                    continue
                if not (postgres.is_busy(error) if self.postgres else duck.is_busy(text)):
                    raise StoreError(self._sentence(error)) from error
                if time.monotonic() >= deadline:
                    if self.postgres:
                        raise StoreBusyError(self._sentence(error)) from error
                    raise StoreBusyError(duck.busy_sentence(self.name, text, self.lock_wait_s)) from error
                time.sleep(random.uniform(0.02, 0.1))

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
            return postgres.sentence(self.name, cause)
        text = str(cause).strip().splitlines()[0]
        if self.path:
            return duck.sentence(self.name, self.path, text)
        if isinstance(error, sa.exc.NoSuchModuleError):
            text += "; write postgresql+psycopg://USER@HOST/DATABASE, or the path of a DuckDB file."
        return f"The results at {self.name} cannot be used: {text}"


def _samples(records: list[Record]) -> dict[str, list[Any]]:
    """The raw timings of records as columns: of the many rows no dict each is made."""
    return {
        "trial_id": [trial_id for r in records for trial_id in itertools.repeat(r.trial_id, len(r.samples_us))],
        "sample": [i for r in records for i in range(len(r.samples_us))],
        "time_us": [x for r in records for x in r.samples_us],
        "turn": [turn for r in records for turn in r.turns()],
    }


def _curve_points(records: list[Record]) -> dict[str, list[Any]]:
    """The points of the curves of records as columns."""
    points = [(trial_id, *point) for r in records for trial_id, point in zip(itertools.repeat(r.trial_id), r.curves)]
    return {name: [point[i] for point in points] for i, name in enumerate(("trial_id", "metric", "step", "value"))}


def _select(view: str, columns: Sequence[str]) -> str:
    return f"SELECT {', '.join(columns)} FROM {view}"


def _raw(connection: sa.Connection) -> Any:
    """The duckdb connection under a SQLAlchemy one."""
    return connection.connection.driver_connection


def _columns(rows: Sequence[sa.Row[Any]], types: pa.Schema) -> list[pa.Array]:
    return [pa.array(values, type=t) for values, t in zip(zip(*rows, strict=True), types.types, strict=True)]


def _arrow_type(column: sa.types.TypeEngine[Any]) -> pa.DataType:
    if isinstance(column, sa.Boolean):
        return pa.bool_()
    if isinstance(column, sa.BigInteger):
        return pa.int64()
    if isinstance(column, sa.Double):
        return pa.float64()
    if isinstance(column, sa.DateTime):
        return pa.timestamp("us")
    return pa.string()

"""Tables of the results, in SQLAlchemy, and how records become their rows."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from db import postgres, schema
from db.columns import COLUMNS, OWN_STEP, Column, is_own_name, own_columns
from db.record import Record

ANALYZE_FROM = 100  # new trials at once; fewer are counted by PostgreSQL in its own time

_TYPES: dict[str, type[sa.types.TypeEngine[Any]]] = {
    # sa.Float would become a 32-bit FLOAT in DuckDB.
    "text": sa.Text, "integer": sa.BigInteger, "real": sa.Double, "boolean": sa.Boolean, "timestamp": sa.DateTime,
}  # fmt: skip

# `speedup` is derived from other trials, `machine` is the machine's name: neither is stored with a trial.
_DERIVED = ("speedup", "machine")

metadata = sa.MetaData()

# No foreign keys, sequences or secondary indexes: DuckDB pays for them with failed deletes and lost inserts.
trials = sa.Table(
    "trials",
    metadata,
    *(
        sa.Column(c.name, _TYPES[c.type], primary_key=c.name == "trial_id", comment=c.text)
        for c in COLUMNS
        if c.name not in _DERIVED
    ),
    sa.Column("status", sa.Text, nullable=False, comment="ok, failed, timeout, oom, cancelled or skipped"),
    sa.Column("error", sa.Text, comment="why the trial is not ok"),
    sa.Column(
        "identity",
        sa.Text,
        nullable=False,
        comment="hash of method, kernel source, configuration, machine and measurement",
    ),
    # Hashes of what was planned, and not the axes themselves: an axis that only a successful benchmark reports (the
    # device, the rows of a data set) is NULL in a failed trial, which a later success must still replace.
    sa.Column("configuration", sa.Text, nullable=False, comment="hash of benchmark, method and all planned axes"),
    sa.Column(
        "comparison",
        sa.Text,
        nullable=False,
        comment="hash of benchmark and the planned axes that say what work is done",
    ),
    sa.Column(
        "baseline_latency_us",
        sa.Double,
        comment="median time of the trial times what its turns say of the baseline, µs",
    ),
    sa.Column("environment", sa.Text, comment="JSON: versions, flags and load at the time of the trial"),
)
samples = sa.Table(
    "samples",
    metadata,
    sa.Column("trial_id", sa.Text, nullable=False, comment="trial the timing belongs to"),
    sa.Column("sample", sa.BigInteger, nullable=False, comment="number of the sample, in the order taken"),
    sa.Column("time_us", sa.Double, nullable=False, comment="time of one call in µs"),
    sa.Column("turn", sa.BigInteger, comment="number of the turn within the group in which it was taken"),
)
curve_points = sa.Table(
    "curve_points",
    metadata,
    sa.Column("trial_id", sa.Text, nullable=False),
    sa.Column("metric", sa.Text, nullable=False),
    sa.Column("step", sa.BigInteger, nullable=False),
    sa.Column("value", sa.Double, nullable=False),
)
machines = sa.Table(
    "machines",
    metadata,
    sa.Column("machine_id", sa.Text, primary_key=True, comment="identity of the machine"),
    sa.Column("name", sa.Text, nullable=False, comment="name of the machine"),
    sa.Column("cpu", sa.Text, comment="CPU model"),
    sa.Column("cores", sa.BigInteger, comment="CPU cores the process may use"),
    sa.Column("l2_kb", sa.BigInteger, comment="L2 cache per core / 1000 bytes"),
    sa.Column("l3_kb", sa.BigInteger, comment="L3 cache / 1000 bytes"),
    sa.Column("memory_gb", sa.Double, comment="main memory / 1e9 bytes"),
    sa.Column("gpu", sa.Text, comment="GPU model, if any"),
    sa.Column("os", sa.Text, comment="operating system"),
)
sweeps = sa.Table(
    "sweeps",
    metadata,
    sa.Column("sweep_id", sa.Text, primary_key=True, comment="hash of name and text"),
    sa.Column("name", sa.Text, nullable=False, comment="name of the sweep"),
    sa.Column("spec", sa.Text, comment="the sweep file as it was run"),
    sa.Column("started_at", sa.DateTime, comment="first start, UTC"),
)
own_metrics = sa.Table(
    "own_metrics",
    metadata,
    sa.Column("name", sa.Text, primary_key=True, comment="name of the metric, a column of results and history"),
    sa.Column("text", sa.Text, comment="what it means, as its plug-in says"),
    sa.Column("unit", sa.Text, comment="unit of its values"),
    sa.Column("better", sa.Text, comment="higher or lower, where one is better"),
)


# What has been done to the tables; not among those that `metadata` makes.
migrations = sa.Table(
    "schema_migrations",
    sa.MetaData(),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("applied_at", sa.DateTime, server_default=sa.func.now()),
)


def has_migrations(connection: sa.Connection) -> bool:
    """Whether any change was ever made to the tables, so that there are some."""
    return sa.inspect(connection).has_table(migrations.name)


def names(connection: sa.Connection) -> list[str]:
    """Tables and views that are there."""
    found = connection.exec_driver_sql("SELECT table_name FROM information_schema.tables ORDER BY table_name")
    return [str(name) for name in found.scalars()]


def applied(connection: sa.Connection) -> set[str]:
    """Names of the changes that were made."""
    return set(connection.execute(sa.select(migrations.c.name)).scalars())


# -- rows --------------------------------------------------------------------------------------------------------------


def add(connection: sa.Connection, records: Mapping[str, Record]) -> int:
    """Insert the trials that are not there yet, by their ids. Returns how many were new."""
    known = _known(connection, trials.c.trial_id, records)
    new = [r for r in records.values() if r.trial_id not in known]
    stored = {c.name for c in trials.c}
    _insert(connection, trials, [{k: v for k, v in r.trial.items() if k in stored} for r in new])
    _append(connection, samples, _samples(new))
    _append(connection, curve_points, _curve_points(new))
    _merge(connection, machines, _machines(connection, new))
    _merge(connection, sweeps, _sweeps(connection, new))
    if connection.dialect.name == "postgresql" and len(new) >= ANALYZE_FROM:
        postgres.analyze(connection, (trials, samples, curve_points))
    return len(new)


def add_timings(connection: sa.Connection, records: Sequence[Record]) -> None:
    """Insert the raw timings of trials that are there without."""
    lacking = {r.trial_id: r for r in records}
    timed = samples.c.trial_id
    known = set(connection.execute(sa.select(timed).where(timed.in_(list(lacking))).distinct()).scalars())
    _append(connection, samples, _samples([r for i, r in lacking.items() if i not in known]))


def own_metrics_in(connection: sa.Connection, records: Iterable[Record]) -> dict[str, Mapping[str, str]]:
    """What records say of metrics of plug-ins, the newest of each; nothing of which the store has a newer trial."""
    own: dict[str, tuple[datetime, Mapping[str, str]]] = {}
    for record in sorted(records, key=lambda r: r.trial["started_at"]):
        at = record.trial["started_at"]
        own |= {n: (at, said) for n, said in record.named_own_metrics().items() if said or n not in own}
    if not own:
        return {}
    of = curve_points.c
    newest = dict(
        connection.execute(
            sa.select(of.metric, sa.func.max(trials.c.started_at))
            .select_from(curve_points.join(trials, of.trial_id == trials.c.trial_id))
            .where(of.step == OWN_STEP, of.metric.in_(list(own)))
            .group_by(of.metric)
        ).all()
    )
    return {name: said if at >= newest.get(name, at) else {} for name, (at, said) in own.items()}


def know_own_metrics(connection: sa.Connection, found: Mapping[str, Mapping[str, str]]) -> bool:
    """Keep what is said of metrics of plug-ins, by their names. Returns whether one is new."""
    known = set(connection.execute(sa.select(own_metrics.c.name)).scalars())
    rows = [
        {"name": name, "text": "", "unit": "", "better": "", **told}
        for name, told in found.items()
        if is_own_name(name) and (told or name not in known)
    ]
    _merge(connection, own_metrics, rows)
    return not known.issuperset(row["name"] for row in rows)


def own_metrics_of(connection: sa.Connection) -> tuple[Column, ...]:
    """The metrics of plug-ins that the results have columns of."""
    of = own_metrics.c
    rows = connection.execute(sa.select(of.name, of.text, of.unit, of.better))
    return own_columns((str(name), text or "", unit or "", better or "") for name, text, unit, better in rows)


def _machines(connection: sa.Connection, records: list[Record]) -> list[dict[str, Any]]:
    """Machines as their newest trials tell of them; none of which the store has a newer trial."""
    of = trials.c
    newest = dict(
        connection.execute(sa.select(of.machine_id, sa.func.max(of.started_at)).group_by(of.machine_id)).all()
    )
    found = {}
    for r in sorted(records, key=lambda r: r.trial["started_at"]):
        machine_id = r.machine.get("machine_id")
        if machine_id and r.trial["started_at"] >= newest.get(machine_id, r.trial["started_at"]):
            found[machine_id] = dict(r.machine)
    return list(found.values())


def _sweeps(connection: sa.Connection, records: list[Record]) -> list[dict[str, Any]]:
    """Sweeps with their first start."""
    first = dict(connection.execute(sa.select(sweeps.c.sweep_id, sweeps.c.started_at)).all())
    found = {}
    for r in records:
        if sweep_id := r.sweep.get("sweep_id"):
            starts = [t for t in (first.get(sweep_id), r.sweep.get("started_at")) if t is not None]
            first[sweep_id] = min(starts, default=None)
            found[sweep_id] = {**r.sweep, "started_at": first[sweep_id]}
    return list(found.values())


def _merge(connection: sa.Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
    """Insert or update rows by the table's key; what is there already is not written again."""
    (key,) = table.primary_key
    by_key = {row[key.name]: {c.name: row.get(c.name) for c in table.c} for row in rows}
    stored = connection.execute(sa.select(table).where(key.in_(by_key))).mappings()
    there = {row[key.name]: dict(row) for row in stored}
    _insert(connection, table, [row for k, row in by_key.items() if k not in there])
    for k, row in by_key.items():
        if changes := {name: value for name, value in row.items() if k in there and value != there[k][name]}:
            connection.execute(sa.update(table).where(key == k).values(changes))


def _known(connection: sa.Connection, key: sa.Column[str], wanted: Mapping[str, Any]) -> set[str]:
    """Those of these keys that are there, asked for in parts: what is read does not grow with what is there."""
    keys = list(wanted)
    parts = (keys[i : i + 1000] for i in range(0, len(keys), 1000))
    return {k for part in parts for k in connection.execute(sa.select(key).where(key.in_(part))).scalars()}


def _insert(connection: sa.Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
    _append(connection, table, {c.name: [row.get(c.name) for row in rows] for c in table.c})


def _append(connection: sa.Connection, table: sa.Table, columns: Mapping[str, Sequence[Any]]) -> None:
    """Insert rows that are given as the values of each column, in the order of the table's columns."""
    names = list(columns)
    if not columns[names[0]]:
        return
    if connection.dialect.name != "duckdb":
        rows = (dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True))
        if connection.dialect.name == "postgresql":
            postgres.insert(connection, table, rows)
        else:
            connection.execute(sa.insert(table), list(rows))
        return
    # DuckDB takes an Arrow table a thousand times faster than row by row.
    arrow = pa.table({c.name: pa.array(columns[c.name], type=_arrow_type(c.type)) for c in table.c})
    raw = connection.connection.driver_connection
    assert raw
    raw.register("incoming_rows", arrow)
    try:
        raw.execute(f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {', '.join(names)} FROM incoming_rows")
    finally:
        raw.unregister("incoming_rows")


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


# -- servers -----------------------------------------------------------------------------------------------------------


def reader(connection: sa.Connection, view: str, columns: Sequence[str], batch_rows: int) -> pa.RecordBatchReader:
    """The rows of a view in batches."""
    select = schema.select(view, columns)
    types = pa.schema(_types(connection, view, columns))
    result = connection.execution_options(yield_per=batch_rows).execute(sa.text(select))
    batches = (pa.RecordBatch.from_arrays(_columns(part, types), schema=types) for part in result.partitions())
    return pa.RecordBatchReader.from_batches(types, batches)


def table(connection: sa.Connection, view: str, columns: Sequence[str], batch_rows: int) -> pa.Table:
    """All rows of a view."""
    if connection.dialect.name == "postgresql":
        return postgres.fetch(connection, schema.select(view, columns))
    return reader(connection, view, columns, batch_rows).read_all()


def _types(connection: sa.Connection, view: str, columns: Sequence[str]) -> dict[str, pa.DataType]:
    if connection.dialect.name == "postgresql":
        return postgres.column_types(connection, schema.select(view, columns))
    known = {c["name"]: _arrow_type(c["type"]) for c in sa.inspect(connection).get_columns(view)}
    return known if columns == schema.EVERY else {name: known[name] for name in columns}


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

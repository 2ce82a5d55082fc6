"""Tables and views of the results, in SQLAlchemy and in SQL that DuckDB and PostgreSQL both take."""

import sqlalchemy as sa

from db.columns import AXES, BY_NAME, COLUMNS, GROUP_AXES

_TYPES: dict[str, type[sa.types.TypeEngine]] = {
    # sa.Float would become a 32-bit FLOAT in DuckDB.
    "text": sa.Text, "integer": sa.BigInteger, "real": sa.Double, "boolean": sa.Boolean, "timestamp": sa.DateTime,
}  # fmt: skip

metadata = sa.MetaData()

# `speedup` is derived from other trials, `machine` is the machine's name: neither is stored with a trial.
_DERIVED = ("speedup", "machine")

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
    sa.Column("environment", sa.Text, comment="JSON: versions, flags and load at the time of the trial"),
)
samples = sa.Table(
    "samples",
    metadata,
    sa.Column("trial_id", sa.Text, nullable=False, comment="trial the timing belongs to"),
    sa.Column("sample", sa.BigInteger, nullable=False, comment="number of the sample, in the order taken"),
    sa.Column("time_us", sa.Double, nullable=False, comment="time of one call in µs"),
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


def _list(names: tuple[str, ...] | list[str], prefix: str = "t.") -> str:
    return ", ".join(prefix + n for n in names)


_CONFIGURATION = _list([*AXES, "machine_id"])
_GROUP = _list([*GROUP_AXES, "machine_id", "sweep"])


def _select(name: str) -> str:
    if name == "machine":
        return "coalesce(m.name, t.machine_id) AS machine"
    return f"t.{name}"


def _results_sql(source: str) -> str:
    columns = ", ".join(_select(c.name) for c in COLUMNS)
    return f"SELECT {columns} FROM {source} AS t LEFT JOIN machines AS m ON t.machine_id = m.machine_id"


_WITH_SPEEDUP = f"""SELECT t.*, CASE WHEN t.latency_us IS NULL THEN NULL
    WHEN t.is_baseline THEN CASE WHEN t.latency_us > 0 THEN 1.0 END
    ELSE avg(CASE WHEN t.is_baseline THEN t.latency_us END) OVER (PARTITION BY {_GROUP}) / nullif(t.latency_us, 0)
    END AS speedup"""

# Created in this order; each may use those before it.
VIEWS: dict[str, str] = {
    "history": f"WITH ok AS ({_WITH_SPEEDUP} FROM trials AS t WHERE t.status = 'ok') {_results_sql('ok')}",
    "results": f"""WITH newest AS (SELECT t.*, row_number() OVER (PARTITION BY {_CONFIGURATION}
        ORDER BY t.started_at DESC, t.trial_id DESC) AS age FROM trials AS t WHERE t.status = 'ok'),
        current_trials AS ({_WITH_SPEEDUP} FROM newest AS t WHERE t.age = 1) {_results_sql("current_trials")}""",
    "failures": f"""WITH newest AS (SELECT t.*, row_number() OVER (PARTITION BY {_CONFIGURATION}
        ORDER BY t.started_at DESC, t.trial_id DESC) AS age FROM trials AS t)
        SELECT t.trial_id, t.sweep, t.benchmark, t.op, t.method, t.dataset, t.device, t.compression, t.embedding_dim,
        t.batch_size, t.seed, t.status, t.error, t.machine_id, coalesce(m.name, t.machine_id) AS machine, t.started_at,
        t.duration_s FROM newest AS t LEFT JOIN machines AS m ON t.machine_id = m.machine_id
        WHERE t.age = 1 AND t.status <> 'ok'""",
    "curves": """SELECT c.trial_id, t.method, t.dataset, t.compression, t.embedding_dim, t.seed,
        coalesce(m.name, t.machine_id) AS machine, c.step, c.metric, c.value
        FROM curve_points AS c JOIN trials AS t ON c.trial_id = t.trial_id
        LEFT JOIN machines AS m ON t.machine_id = m.machine_id""",
}

# What people and questions may read.
EXPOSED: tuple[str, ...] = ("results", "failures", "curves", "samples", "machines", "sweeps", "history")

VIEW_COMMENTS: dict[str, str] = {
    "status": "failed, timeout, oom, cancelled or skipped",
    "error": "why the trial is not ok",
    "step": "training step",
    "metric": "name of the value",
    "value": "value of the metric at the step",
}


def comment_of(column: str) -> str:
    """Comment of a view's column: its meaning and unit."""
    if column in BY_NAME:
        c = BY_NAME[column]
        return f"{c.text} [{c.unit}]" if c.unit else c.text
    return VIEW_COMMENTS.get(column, "")

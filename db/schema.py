"""Tables and views of the results, in SQLAlchemy and in SQL that DuckDB and PostgreSQL both take."""

import sqlalchemy as sa

from db.columns import BY_NAME, COLUMNS

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
        "baseline_latency_us", sa.Double, comment="median time of the baseline that took turns with the trial, µs"
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


def _select(name: str) -> str:
    if name == "machine":
        return "coalesce(m.name, t.machine_id) AS machine"
    return f"t.{name}"


_COLUMNS = ", ".join(_select(c.name) for c in COLUMNS)
_MACHINE = "LEFT JOIN machines AS m ON t.machine_id = m.machine_id"
_AGE = """row_number() OVER (PARTITION BY t.configuration, t.machine_id
        ORDER BY t.started_at DESC, t.trial_id DESC) AS age"""
_SAME_WORK = "PARTITION BY t.comparison, t.machine_id, t.sweep ORDER BY t.started_at"

# Trials that are ok, with their speedup over the baseline nearest in time (the earlier of two equally near). Superseded
# baselines count: a newer one in another sweep takes nothing away, and a machine that drifts is compared with itself.
# The time of the nearest is found by windows and not by pairs, of which a configuration repeated often has millions.
_OK_TRIALS = f"""WITH ok AS (SELECT t.*, {_AGE},
        CASE WHEN t.is_baseline AND t.latency_us > 0 THEN t.started_at END AS baseline_at
        FROM trials AS t WHERE t.status = 'ok'),
    around AS (SELECT t.*, max(t.baseline_at) OVER ({_SAME_WORK}) AS before_at,
        min(t.baseline_at) OVER ({_SAME_WORK} DESC) AS after_at FROM ok AS t),
    paired AS (SELECT t.trial_id, b.latency_us AS baseline_us,
        row_number() OVER (PARTITION BY t.trial_id ORDER BY b.trial_id) AS place
        FROM around AS t JOIN ok AS b
        ON t.comparison = b.comparison AND t.machine_id = b.machine_id AND t.sweep = b.sweep AND b.baseline_at =
        CASE WHEN t.before_at IS NULL OR t.after_at - t.started_at < t.started_at - t.before_at THEN t.after_at
        ELSE t.before_at END),
    compared AS (SELECT t.*, CASE WHEN t.latency_us <= 0 THEN NULL WHEN t.baseline_at IS NOT NULL THEN 1.0
        ELSE coalesce(t.baseline_latency_us, p.baseline_us) / t.latency_us END AS speedup
        FROM ok AS t LEFT JOIN paired AS p ON t.trial_id = p.trial_id AND p.place = 1)
    SELECT {_COLUMNS} FROM compared AS t {_MACHINE}"""

# Created in this order; each may use those before it.
VIEWS: dict[str, str] = {
    "history": _OK_TRIALS,
    "results": f"{_OK_TRIALS} WHERE t.age = 1",
    "failures": f"""WITH newest AS (SELECT t.*, {_AGE} FROM trials AS t)
        SELECT t.trial_id, t.sweep, t.benchmark, t.op, t.method, t.dataset, t.device, t.compression, t.embedding_dim,
        t.batch_size, t.seed, t.status, t.error, t.machine_id, coalesce(m.name, t.machine_id) AS machine, t.started_at,
        t.duration_s FROM newest AS t {_MACHINE} WHERE t.age = 1 AND t.status <> 'ok'""",
    "curves": """SELECT c.trial_id, r.method, r.dataset, r.compression, r.embedding_dim, r.seed, r.machine,
        c.step, c.metric, c.value FROM curve_points AS c JOIN results AS r ON c.trial_id = r.trial_id""",
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

"""Views of the results, in SQL that DuckDB and PostgreSQL both take. The tables under them: see the module `tables`."""

from collections.abc import Sequence

from db.columns import BY_NAME, CHOICE_AXES, COLUMNS, IMPLIED, OWN_STEP, Column


def with_implied(name: str) -> str:
    """A column of `trials AS t` as SQL, with the value that is implied where a trial has none."""
    if name not in IMPLIED:
        return f"t.{name}"
    benchmark, value = IMPLIED[name]
    literal = f"'{value}'" if isinstance(value, str) else value
    return f"CASE WHEN t.benchmark = '{benchmark}' THEN coalesce(t.{name}, {literal}) ELSE t.{name} END"


_DERIVED_SQL = {
    # Trials that took turns know their baseline; others are compared with the one that `nearest` finds.
    "speedup": """CASE WHEN t.latency_us <= 0 THEN NULL WHEN t.is_baseline AND t.latency_us > 0 THEN 1.0
        ELSE coalesce(t.baseline_latency_us, b.latency_us) / t.latency_us END AS speedup""",
    "machine": "coalesce(m.name, t.machine_id) AS machine",
    **{name: f"{with_implied(name)} AS {name}" for name in IMPLIED},
}
# Of benchmarks of one table, or of tables that are joined to one, whose rows num_rows are. For SQL alone: a column that
# questions know changes what the trained reader makes of them.
_BUDGET_SHARE = """CASE WHEN t.benchmark IN ('lookup', 'embedding_step', 'collisions', 'training')
        THEN t.memory_mb * 1e6 / nullif(4.0 * t.num_rows * t.embedding_dim, 0) END AS budget_share"""
_COLUMNS = ", ".join([*(_DERIVED_SQL.get(c.name, f"t.{c.name}") for c in COLUMNS), _BUDGET_SHARE])
# Two machines of one name stay two: each then carries the start of its id.
_MACHINE = """LEFT JOIN (SELECT machine_id, name || CASE WHEN count(*) OVER (PARTITION BY name) > 1
        THEN ' (' || substr(machine_id, 1, 8) || ')' ELSE '' END AS name FROM machines) AS m
        ON t.machine_id = m.machine_id"""


# The number of an attempt as text of one length: nothing that a table may hold makes its comparison fail.
_ATTEMPT = "lpad(substr(t.trial_id, length(t.identity) + 2), 9, '0')"


def newest_first(where: str, columns: str = "t.*", ok_first: bool = False) -> str:
    """A SELECT that numbers trials of a configuration and machine as `age`, 1 for the newest, as `results` has it.

    `ok_first`: any trial that is ok before all others.
    """
    ok = "(t.status = 'ok') DESC, " if ok_first else ""
    return f"""SELECT {columns}, row_number() OVER (PARTITION BY t.configuration, t.machine_id
        ORDER BY {ok}t.started_at DESC, t.trial_id DESC) AS age FROM (SELECT t.*, row_number() OVER (
        PARTITION BY t.configuration, t.machine_id, t.identity ORDER BY {ok}{_ATTEMPT} DESC) AS attempt_age
        FROM trials AS t WHERE {where}) AS t WHERE t.attempt_age = 1"""


def _newest(where: str = "") -> str:
    """CTE `newest`: the newest trial of each configuration and machine. Aggregates: a third of a window's time.

    Of one identity the highest attempt is the newest, whatever the clock said; between identities time decides.
    """
    return f"""again AS (SELECT t.configuration, t.machine_id, t.identity, max({_ATTEMPT}) AS attempt
        FROM (SELECT * FROM trials AS t {where}) AS t WHERE {_ATTEMPT} > '000000001'
        GROUP BY t.configuration, t.machine_id, t.identity),
    last_attempts AS (SELECT t.configuration, t.machine_id, t.started_at, t.trial_id FROM trials AS t
        LEFT JOIN again AS a ON t.identity = a.identity AND t.configuration = a.configuration
        AND t.machine_id IS NOT DISTINCT FROM a.machine_id {where or "WHERE TRUE"}
        AND (a.attempt IS NULL OR {_ATTEMPT} = a.attempt)),
    latest AS (SELECT t.configuration, t.machine_id, max(t.started_at) AS started_at
        FROM last_attempts AS t GROUP BY t.configuration, t.machine_id),
    newest AS (SELECT max(t.trial_id) AS trial_id FROM last_attempts AS t
        JOIN latest AS l ON t.configuration = l.configuration AND t.started_at = l.started_at
        AND t.machine_id IS NOT DISTINCT FROM l.machine_id
        GROUP BY t.configuration, t.machine_id)"""


_OK = "WHERE t.status = 'ok'"
_SAME_WORK = "PARTITION BY t.comparison, t.machine_id, t.sweep"

# The baseline nearest in time (the earlier of two equally near) of each trial that does not know its own. Superseded
# baselines count: a newer one in another sweep takes nothing away, and a machine that drifts is compared with itself.
# The time of the nearest is found by windows and not by pairs, of which a configuration repeated often has millions;
# they see narrow rows, and none that knows its baseline.
_NEAREST = f"""timed AS (SELECT t.trial_id, t.comparison, t.machine_id, t.sweep, t.started_at, t.latency_us,
        t.baseline_latency_us, CASE WHEN t.is_baseline AND t.latency_us > 0 THEN t.started_at END AS baseline_at
        FROM trials AS t {_OK} AND (t.is_baseline OR t.baseline_latency_us IS NULL)),
    around AS (SELECT t.*, max(t.baseline_at) OVER ({_SAME_WORK} ORDER BY t.started_at) AS before_at,
        min(t.baseline_at) OVER ({_SAME_WORK} ORDER BY t.started_at
            RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS after_at FROM timed AS t),
    baselines AS (SELECT t.*, row_number() OVER ({_SAME_WORK}, t.baseline_at ORDER BY t.trial_id) AS place
        FROM timed AS t WHERE t.baseline_at IS NOT NULL),
    nearest AS (SELECT t.trial_id, b.latency_us FROM around AS t JOIN baselines AS b
        ON t.comparison = b.comparison AND t.machine_id = b.machine_id AND t.sweep = b.sweep AND b.baseline_at =
        CASE WHEN t.before_at IS NULL OR t.after_at - t.started_at < t.started_at - t.before_at THEN t.after_at
        ELSE t.before_at END
        WHERE b.place = 1 AND t.baseline_at IS NULL AND t.baseline_latency_us IS NULL)"""
_COMPARED = f"LEFT JOIN nearest AS b ON t.trial_id = b.trial_id {_MACHINE}"

# What tells the trials of the view `curves` apart.
CURVE_AXES: tuple[str, ...] = ("method", "dataset", "split", "embedding_dim", "batch_size", *CHOICE_AXES)

# Created in this order; each may use those before it.
VIEWS: dict[str, str] = {
    "history": f"WITH {_NEAREST} SELECT {_COLUMNS} FROM trials AS t {_COMPARED} {_OK}",
    "results": f"""WITH {_newest(_OK)}, {_NEAREST}
        SELECT {_COLUMNS} FROM trials AS t JOIN newest AS n ON t.trial_id = n.trial_id {_COMPARED}""",
    "failures": f"""WITH {_newest()}
        SELECT t.trial_id, t.sweep, t.benchmark, t.op, t.method, t.dataset, t.device, t.compression, t.embedding_dim,
        t.batch_size, t.seed, t.status, t.error, t.machine_id, coalesce(m.name, t.machine_id) AS machine, t.started_at,
        t.duration_s FROM trials AS t JOIN newest AS n ON t.trial_id = n.trial_id {_MACHINE} WHERE t.status <> 'ok'""",
    "curves": f"""SELECT c.trial_id, {", ".join(f"r.{name}" for name in CURVE_AXES)}, r.seed, r.machine,
        c.step, c.metric, c.value FROM curve_points AS c JOIN results AS r ON c.trial_id = r.trial_id""",
}

WITH_OWN = ("results", "history")  # have a column for each metric of plug-ins


def view(name: str, own: Sequence[Column] = ()) -> str:
    """The statement of a view, where results hold these metrics of plug-ins."""
    if not own or name not in WITH_OWN:
        return VIEWS[name]
    values = ", ".join(f"max(CASE WHEN p.metric = '{c.name}' THEN p.value END) AS {c.name}" for c in own)
    return f"""SELECT r.*, {", ".join(f"o.{c.name}" for c in own)} FROM ({VIEWS[name]}) AS r LEFT JOIN
        (SELECT p.trial_id, {values} FROM curve_points AS p WHERE p.step = {OWN_STEP} GROUP BY p.trial_id) AS o
        ON r.trial_id = o.trial_id"""


def own_value(name: str) -> str:
    """A metric of a plug-in as SQL, of `trials AS t`."""
    where = f"p.trial_id = t.trial_id AND p.metric = '{name}' AND p.step = {OWN_STEP}"
    return f"(SELECT max(p.value) FROM curve_points AS p WHERE {where})"


# What people and questions may read.
EXPOSED: tuple[str, ...] = ("results", "failures", "curves", "samples", "machines", "sweeps", "history")

EVERY = ("*",)  # column of a view
# The view `results` finds the baseline of each trial too, which takes three quarters of its time.
_NEWEST_IDS = f"WITH {_newest(_OK)} SELECT trial_id FROM newest"


def select(view: str, columns: Sequence[str] = EVERY) -> str:
    """The statement that reads columns of a view."""
    if view == "results" and tuple(columns) == ("trial_id",):
        return _NEWEST_IDS
    return f"SELECT {', '.join(columns)} FROM {view}"


VIEW_COMMENTS: dict[str, str] = {
    "status": "failed, timeout, oom, cancelled or skipped",
    "error": "why the trial is not ok",
    "budget_share": "memory_mb over the bytes of a dense float32 table of as many rows and dimensions; metadata count",
    "step": "training step",
    "metric": "name of the value",
    "value": "value of the metric at the step",
}


def comment_of(column: str, own: Sequence[Column] = ()) -> str:
    """Comment of a view's column: its meaning and unit."""
    if c := BY_NAME.get(column) or next((c for c in own if c.name == column), None):
        return f"{c.text} [{c.unit}]" if c.unit else c.text
    return VIEW_COMMENTS.get(column, "")

"""The sandbox's process: holds a locked snapshot of the results in memory and answers one SELECT at a time.

Started by the module `sandbox` as `python -m mirror.data.process.sandbox_child`. It speaks JSON, one object per line.
First comes `{url, views, usual, threads, memory_mb}`, answered by `{profile}` or an error; then any number of
`{id, sql, row_cap}`, each answered by `{columns, rows, truncated, milliseconds}` or `{error: kind, message}`.
`{interrupt: id}` may come at any time.
"""

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from db.columns import AXES, METRICS, OWN_STEP, own_columns
from db.migrations import NewerDatabaseError
from db.schema import EXPOSED, select
from db.store import Store, StoreError
from mirror.data.confinement import cap_memory, close_the_door, lock
from mirror.data.guard.check_sql import check
from mirror.data.guard.guard_errors import GuardError, NotSqlError
from mirror.data.plain_values import plain, plain_name, sentence, take, unique_names
from mirror.data.process import snapshot
from mirror.data.process.sql_serving import Request, Requests, serve
from mirror.schema.own_metrics import Said
from mirror.schema.profile import MAX_VALUES, Profile
from mirror.table.values import Value

# -- the snapshot ------------------------------------------------------------------------------------------------------


# Of what is recorded step by step: metrics of plug-ins are columns of trials.
_STEPS = f"HAVING max(step) > {OWN_STEP}"
_CURVE_NAMES = f"SELECT metric FROM curves GROUP BY metric {_STEPS} ORDER BY metric"
# The same of a store, where the view would join each of the points with all that the results say of its trial.
_CURVE_POINTS = f"""SELECT metric, count(*) AS points, max(step) AS last FROM curve_points
    WHERE trial_id IN ({select("results", ("trial_id",))}) GROUP BY metric ORDER BY metric"""
_OWN = "SELECT name, text, unit, better FROM own_metrics ORDER BY name"


def profile(
    connection: duckdb.DuckDBPyConnection,
    usual_values: Mapping[str, Value],
    row_counts: Mapping[str, int],
    curves: tuple[str, ...] | None = None,
    own: tuple[Said, ...] = (),
) -> Profile:
    """Count what the snapshot holds.

    Args:
        connection: has the views.
        usual_values: column -> its usual value, of those that have one.
        row_counts: of the views that the snapshot was made without.
        curves: the names of what is recorded, where their view is one of them.
        own: metrics of plug-ins that the results hold.
    """

    def rows(sql: str) -> list[tuple[Any, ...]]:
        return connection.execute(sql).fetchall()

    metrics = (*METRICS, *(c.name for c in own_columns(own)))
    counts = {v: row_counts[v] if v in row_counts else rows(f"SELECT count(*) FROM {v}")[0][0] for v in EXPOSED}
    filled, partly, counted = {}, {}, {}
    for benchmark, trials, *numbers in rows(
        f"SELECT benchmark, count(*), {', '.join(f'count({c})' for c in (*metrics, *AXES))} "
        "FROM results GROUP BY benchmark ORDER BY 1"
    ):
        counted[benchmark] = count = dict(zip((*metrics, *AXES), numbers, strict=True))
        filled[benchmark] = frozenset(m for m in metrics if count[m])
        partly[benchmark] = frozenset(a for a in AXES if 0 < count[a] < trials)
    distinct: dict[str, tuple[Value, ...]] = {}
    by_benchmark: dict[str, dict[str, tuple[Value, ...]]] = {benchmark: {} for benchmark in filled}
    # benchmark -> column with a usual value -> axis -> its values that no row with that usual value has
    lost: dict[str, dict[str, dict[str, tuple[Value, ...]]]] = {}
    usual = {c: v for c, v in usual_values.items() if any(c in AXES and counted[b][c] for b in filled)}
    values_of = _values(rows, (*AXES, "sweep", "machine", "verdict"), usual)
    for column, found in values_of.items():
        together = sorted({value for values in found.values() for value in values})
        if len(together) <= MAX_VALUES:
            distinct[column] = tuple(together)
        for benchmark, values in found.items():
            if len(values) > MAX_VALUES:
                continue
            by_benchmark[benchmark][column] = tuple(sorted(values))
            for i, other in enumerate(usual):
                gone = tuple(value for value in sorted(values) if not values[value][i])
                if gone and column in AXES and column != other:
                    lost.setdefault(benchmark, {}).setdefault(other, {})[column] = gone
    # Where no trial of a benchmark has the usual value, it is not assumed and leaves nothing out.
    for benchmark, of in list(lost.items()):
        lost[benchmark] = {c: axes for c, axes in of.items() if usual[c] in by_benchmark[benchmark].get(c, ())}
    lost = {benchmark: of for benchmark, of in lost.items() if of}
    baselines: dict[str, tuple[str, ...]] = {}
    for benchmark, method in rows("SELECT DISTINCT benchmark, method FROM results WHERE is_baseline ORDER BY ALL"):
        baselines[benchmark] = (*baselines.get(benchmark, ()), method)
    oldest, newest, machines = rows("SELECT min(started_at), max(started_at), count(DISTINCT machine_id) FROM results")[
        0
    ]
    started = (oldest.isoformat(), newest.isoformat()) if oldest else None
    if curves is None:
        curves = tuple(name for (name,) in rows(_CURVE_NAMES))
    return Profile(counts, distinct, by_benchmark, filled, partly, baselines, lost, started, machines, curves, own)


def _values(
    rows: Callable[[str], list[tuple[Any, ...]]], columns: Sequence[str], usual: Mapping[str, Value]
) -> dict[str, dict[str, dict[Value, list[bool]]]]:
    """Column -> benchmark -> value -> for each column with a usual value whether a row has both.

    The histograms of all columns together take a tenth of the time of grouping by one after another.
    """
    are_usual = [f"coalesce({column} = '{value}', FALSE)" for column, value in usual.items()]
    asked = ("benchmark", *are_usual, *(f"map_keys(histogram({column}))" for column in columns))
    found: dict[str, dict[str, dict[Value, list[bool]]]] = {column: {} for column in columns}
    for benchmark, *told in rows(f"SELECT {', '.join(asked)} FROM results GROUP BY ALL ORDER BY benchmark"):
        here = told[: len(usual)]
        for column, values in zip(columns, told[len(usual) :], strict=True):
            of = found[column].setdefault(benchmark, {})
            for value in values or ():
                of[value] = [a or b for a, b in zip(of.get(value, here), here, strict=True)]
    return found


# -- a query -----------------------------------------------------------------------------------------------------------


def answer(
    connection: duckdb.DuckDBPyConnection, sql: str, row_cap: int, views: Collection[str] = EXPOSED
) -> dict[str, Any]:
    """Run one statement; the reply is the result or what was wrong: `unloaded` where it may run but needs more views.

    Names are compared in ASCII: a statement that lacks the letters of a view cannot read it.
    """
    started = time.perf_counter()
    try:
        sql = check(sql, connection)
        if any(re.search(rf"\b{view}\b", sql, re.IGNORECASE) for view in EXPOSED if view not in views):
            return _error("unloaded", "")
        connection.execute(_only_select(connection, sql))
        columns = unique_names([plain_name(d[0]) for d in connection.description or []])
        rows, truncated = take(connection.fetchmany, row_cap, plain)
    except NotSqlError as error:
        return _error("unreadable", str(error))
    except GuardError as error:
        return _error("guard", str(error))
    except duckdb.InterruptException:
        return _error("stopped", "")
    except (duckdb.OutOfMemoryException, MemoryError):
        return _error("memory", "")
    except (duckdb.InternalException, duckdb.FatalException) as error:
        return _error("crash", str(error))
    except duckdb.Error as error:
        return _error("memory" if "bad_alloc" in str(error) else "query", sentence(str(error)))
    except (ArithmeticError, ValueError, OSError, ImportError):  # no value of Python's, such as 2,000,000,000 days
        return _error("query", "A value of the result cannot be shown as it is: cast it to VARCHAR.")
    return {
        "columns": columns,
        "rows": rows,
        "truncated": truncated,
        "milliseconds": (time.perf_counter() - started) * 1000,
    }


def _only_select(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """The statement as DuckDB itself takes it apart, after the guard: one, and a SELECT. Raises GuardError."""
    try:
        statements = connection.extract_statements(sql)
    except Exception as error:  # DuckDB 2.0 raises more than duckdb.Error here
        raise GuardError("This SQL cannot be checked, so it does not run: write it in a simpler way.") from error
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise GuardError("Only one SELECT can run here.")
    return statements[0]


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"error": kind, "message": message}


# -- the process -------------------------------------------------------------------------------------------------------


@dataclass
class _LeftOut:
    """What is known of views that a snapshot is made without.

    Attributes:
        rows: view -> number of its rows.
        curves: the names of what is recorded, where their view is left out; else None.
        own: metrics of plug-ins that the results hold.
    """

    rows: dict[str, int] = field(default_factory=dict)
    curves: tuple[str, ...] | None = None
    own: tuple[Said, ...] = ()

    @staticmethod
    def of(views: Collection[str], rows: Callable[[str], list[tuple[Any, ...]]]) -> "_LeftOut":
        """Counted by what runs a statement over the results."""
        found = _LeftOut(
            own=tuple((name, text or "", unit or "", better or "") for name, text, unit, better in rows(_OWN))
        )
        if "curves" not in views:
            points = rows(_CURVE_POINTS)
            found.curves = tuple(name for name, _, last in points if last > OWN_STEP)
            found.rows["curves"] = sum(count for _, count, _ in points)
        found.rows |= {v: rows(f"SELECT count(*) FROM {v}")[0][0] for v in EXPOSED if v not in (*views, *found.rows)}
        return found


def _loaded(store: Store, views: Collection[str], threads: int) -> tuple[duckdb.DuckDBPyConnection, _LeftOut]:
    """The snapshot of the views, and what is known of the others. Raises StoreError or NewerDatabaseError."""
    connection = snapshot.empty(threads)
    names: list[str] = []
    if store.path is not None:
        with store.attached(connection, snapshot.NAME):
            if snapshot.is_small(connection, views):
                left = _LeftOut.of(views, lambda sql: connection.execute(sql).fetchall())
                names = snapshot.copy(connection, views)
    if not names:
        if store.path is None:
            store.ensure()
        with store.held():
            left = _LeftOut.of(views, lambda sql: [tuple(row.values()) for row in store.rows(sql)])
            names = snapshot.append(connection, snapshot.read(store, views))
    snapshot.finish(connection, names)
    return connection, left


def _start(request: dict[str, Any]) -> tuple[duckdb.DuckDBPyConnection | None, dict[str, Any]]:
    store = Store(request["url"])
    views = request["views"]
    try:
        connection, left = _loaded(store, views, request["threads"])
    except (StoreError, NewerDatabaseError) as error:
        return None, _error(type(error).__name__, str(error))
    except duckdb.Error as error:
        return None, _error("StoreError", f"The results at {store.name} cannot be read: {sentence(str(error))}")
    found = profile(connection, request["usual"], left.rows, left.curves, left.own)
    lock(connection, request["memory_mb"])
    cap_memory(request["memory_mb"])
    close_the_door(connection)
    return connection, {"profile": found.to_dict()}


def _serving(hello: Request) -> tuple[Callable[[Request, Requests], dict[str, Any]] | None, dict[str, Any]]:
    connection, reply = _start(hello)
    if connection is None:
        return None, reply

    def run(request: Request, requests: Requests) -> dict[str, Any]:
        with requests.interrupting(request, connection.interrupt):
            return answer(connection, request["sql"], request["row_cap"], hello["views"])

    return run, reply


if __name__ == "__main__":
    serve(_serving)

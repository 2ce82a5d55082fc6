"""Trials side by side: what differs, which is faster if they took turns, samples and curves; failures by reason.

All of it goes through the same sandbox as every question.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from db.columns import GROUP_AXES
from mirror.data.process.sandbox import Sandbox
from mirror.query.sql import literal
from mirror.runs.listing import ALL_TRIALS, NEVER_SHOWN, in_order, where
from mirror.schema import catalog
from mirror.table.numbers import format_value
from mirror.table.table import Column, Table
from mirror.table.values import Value
from mirror.table.wording import join

MOST_COMPARED = 6  # side by side
_SAMPLE_CAP = 20_000
_TIMED = "latency_us"


@dataclass(frozen=True)
class Comparison:
    """Some trials side by side.

    Attributes:
        differing: a row for each trial in the order given, with the columns in which they differ; trial_id is last.
        told: which is faster by how much, or why the timings do not say; empty where nothing was timed.
        samples: (trial, latency_us), the raw timings, with a row for each.
        curves: (trial, metric, step, value) of training trials.
    """

    differing: Table
    told: tuple[str, ...]
    samples: Table
    curves: Table


def compared(box: Sandbox, trial_ids: Sequence[str]) -> Comparison:
    """Up to MOST_COMPARED trials side by side."""
    table = _whole(box, trial_ids)
    differ = [n for n in table.names if n not in NEVER_SHOWN and len(set(table.values(n))) > 1]
    shown = table.picked([*in_order(["method", *(n for n in differ if n != "method")]), "trial_id"])
    wanted = ", ".join(map(literal, trial_ids))
    samples = box.run(
        f"SELECT trial_id, time_us AS {_TIMED} FROM samples WHERE trial_id IN ({wanted}) ORDER BY sample, trial_id",
        row_cap=_SAMPLE_CAP,  # beyond it the last of each are left out
    )
    curves = box.run(
        f"SELECT trial_id, metric, step, value FROM curves WHERE trial_id IN ({wanted}) ORDER BY metric, step",
        row_cap=_SAMPLE_CAP,
    )
    names = names_of(table)
    return Comparison(shown, _told(table, names, box), _named(samples, names), _named(curves, names))


def side_by_side(box: Sandbox, trial_ids: Sequence[str]) -> Table:
    """What parallel coordinates are drawn of: the metrics that all of these trials have, and their methods."""
    table = _whole(box, trial_ids)
    metrics = [c.name for c in table.columns if c.role == "metric" and len(table.values(c.name).numbers) > 1]
    full = [m for m in metrics if all(v is not None for v in table.values(m))]
    return table.picked(["method", *in_order(full)])


def names_of(table: Table) -> dict[str, str]:
    """trial_id -> a short name: the method, and a number where several trials have the same."""
    methods = [str(m) for m in table.values("method")]
    named: dict[str, str] = {}
    for i, (trial_id, method) in enumerate(zip(table.values("trial_id"), methods, strict=True)):
        several = methods.count(method) > 1
        named[str(trial_id)] = f"{method} {methods[: i + 1].count(method)}" if several else method
    return named


def reasons(box: Sandbox, chosen: dict[str, list[str]]) -> Table:
    """The trials without a result that pass the filters, by reason: (status, reason, trials, methods, trial_id).

    Reasons that differ in their numbers alone are one; reason and trial_id are those of the newest of them.
    """
    kind = "regexp_replace(error, '[0-9][0-9.,]*', '#', 'g')"
    passing = f"FROM {ALL_TRIALS} AS t{where(chosen)}"
    return box.run(
        "SELECT status, arg_max(error, started_at) AS reason, count(*) AS trials,\n"
        "       string_agg(DISTINCT method, ', ' ORDER BY method) AS methods,\n"
        "       arg_max(trial_id, started_at) AS trial_id\n"
        f"FROM (SELECT * {passing}) AS passing\nWHERE status <> 'ok'\nGROUP BY status, {kind}\n"
        "ORDER BY trials DESC, status, reason"
    )


def _whole(box: Sandbox, trial_ids: Sequence[str]) -> Table:
    """All columns of some trials, in the order given."""
    wanted = ", ".join(map(literal, trial_ids))
    found = box.run(f"SELECT * FROM {ALL_TRIALS} AS t WHERE trial_id IN ({wanted})")
    place = {trial_id: i for i, trial_id in enumerate(trial_ids)}
    rows = sorted(found.rows, key=lambda row: place[str(row[found.names.index("trial_id")])])
    return replace(found, rows=tuple(rows))


def _named(table: Table, names: dict[str, str]) -> Table:
    """The same with the names of the trials in the place of their identities."""
    order = list(names)
    rows = sorted(table.rows, key=lambda row: order.index(str(row[0])))  # stable: what the statement sorted stays so
    columns = (Column("trial", "text", "trial"), *table.columns[1:])
    return replace(table, columns=columns, rows=tuple((names[str(row[0])], *row[1:]) for row in rows))


# -- which is faster ---------------------------------------------------------------------------------------------------


def _told(table: Table, names: dict[str, str], box: Sandbox) -> tuple[str, ...]:
    rows = [dict(zip(table.names, row, strict=True)) for row in table.rows]
    if any(row.get(_TIMED) is None for row in rows):
        return ()
    groups = {row["group_id"] for row in rows}
    if len(groups) > 1 or None in groups:
        return (_why_not(rows),)
    baseline = next((str(r["method"]) for r in rows if r["is_baseline"]), "") or _baseline_of(
        str(rows[0]["group_id"]), box
    )
    said = [_verdict(names[str(row["trial_id"])], baseline, row) for row in rows if not row["is_baseline"]]
    found = [s for s in said if s]
    return ("They took turns on one machine, so their times can be compared.", *found)


def _why_not(rows: Sequence[dict[str, Value | None]]) -> str:
    """Why the times of trials do not say which is faster."""
    differ = [a for a in GROUP_AXES if len({row.get(a) for row in rows}) > 1]
    if differ:
        return f"They did different work ({join(catalog.entry(a).label for a in differ)}), so no verdict compares them."
    if len({row["machine_id"] for row in rows}) > 1:
        return "They were measured on different machines, so no verdict compares their times."
    return (
        "They did not take turns but were measured at different times, so part of a difference may be the machine's: "
        "run them in one sweep for a verdict."
    )


def _baseline_of(group: str, box: Sandbox) -> str:
    found = box.run(f"SELECT method FROM history WHERE group_id = {literal(group)} AND is_baseline LIMIT 1")
    return str(found.rows[0][0]) if found.rows else ""


def _verdict(name: str, baseline: str, row: dict[str, Value | None]) -> str:
    """`hashed is faster than dense: 1.31x (95 % interval 1.28x to 1.34x)`; empty without one."""
    verdict, speedup = row.get("verdict"), row.get("speedup")
    if not (verdict and speedup and baseline):
        return ""
    entry = catalog.entry("speedup")
    low, high = row.get("speedup_ci_low"), row.get("speedup_ci_high")
    within = f" (95 % interval {format_value(entry, low)} to {format_value(entry, high)})" if low and high else ""
    words = {"faster": "is faster than", "slower": "is slower than", "same": "is as fast as"}
    told = words.get(str(verdict), "cannot be told apart from")
    return f"{name} {told} {baseline}: {format_value(entry, speedup)}{within}."

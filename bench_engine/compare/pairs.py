"""Pairs of trials: the newest of both sides of a comparison, and which of them belong together."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_engine.compare.sides import CompareError, Side, UsageError
from bench_engine.compare.why import COLUMNS as TOLD
from bench_engine.registry import hint
from db.columns import AXES, BY_NAME
from db.schema import newest_first, with_implied
from db.store import Store

Row = Mapping[str, Any]

_COLUMNS = (
    "trial_id", "configuration", "comparison", "machine_id", "group_id", "is_baseline", "started_at",
    "baseline_latency_us", "speedup_ci_low", "speedup_ci_high", *AXES, *TOLD,
)  # fmt: skip


@dataclass(frozen=True)
class Filters:
    """Which trials take part, as SQL.

    Attributes:
        given: what was asked for.
        sql: conditions on `trials AS t`, each after an AND.
        parameters: what is bound in them.
    """

    given: Sequence[str]
    sql: str
    parameters: Mapping[str, Any]


def filters(given: Sequence[str]) -> Filters:
    """Read `axis=value` and `axis=v1,v2`, a value with a comma in double quotes; `sweep` and `machine_id` are taken
    like an axis. Raises UsageError."""
    sql = ""
    parameters: dict[str, Any] = {}
    for text in given:
        name, equals, values = text.partition("=")
        known = (*AXES, "sweep", "machine_id")
        if not equals or name not in known:
            end = "." if name in known else hint(name, known)
            raise UsageError(
                f"--where {text} cannot be read: write AXIS=VALUE with one of the axes{end} Known: {', '.join(known)}."
            )
        places = []
        for value in _values(values, text):
            places.append(f"where_{len(parameters)}")
            parameters[places[-1]] = _typed(name, value, text)
        sql += f" AND {with_implied(name)} IN ({', '.join(':' + place for place in places)})"
    return Filters(given, sql, parameters)


def _values(values: str, text: str) -> list[str]:
    try:
        return next(csv.reader([values], strict=True)) or [""]
    except csv.Error:
        raise UsageError(
            f"--where {text!r} cannot be read: write a value that holds a comma as 'AXIS=\"a,b\"', a quote in it twice."
        ) from None


def _typed(name: str, value: str, text: str) -> str | int | float:
    """A value in the type of its column, in a form that every database takes."""
    kind = BY_NAME[name].type
    try:
        typed: str | int | float = {"integer": int, "real": float}.get(kind, str)(value)
        if isinstance(typed, str):
            typed.encode()
        elif not abs(typed) < 2**63:
            raise ValueError
    except ValueError:
        what = {"integer": "a whole number", "real": "a number"}.get(kind, "text")
        raise UsageError(f"--where {text!r} cannot be read: {name} takes {what}, not {value!r}.") from None
    return typed


def newest(store: Store, letter: str, side: Side, metric: Mapping[str, str], wanted: Filters) -> list[Row]:
    """The newest trial that is ok of each configuration and machine, with the columns that a comparison needs.

    `metric` is name -> SQL. Raises CompareError where there is none; `letter` says of which side.
    """
    read = {**{name: with_implied(name) for name in _COLUMNS}, **metric}
    names = ", ".join(f"{sql} AS {name}" for name, sql in read.items())
    of_side = newest_first(f"t.status = 'ok' AND {side.condition('side')}{wanted.sql}")
    sql = f"SELECT {names} FROM ({of_side}) AS t WHERE age = 1"
    rows = store.rows(sql, side=side.value, **wanted.parameters)
    if not rows:
        such = f" with {' and '.join(wanted.given)}" if wanted.given else ""
        raise CompareError(f"{letter} ({side.text}) holds no trial that is ok{such}.")
    return list(rows)


@dataclass(frozen=True)
class Joined:
    """Trials of both sides.

    Attributes:
        pairs: trials that belong together, (of A, of B).
        only_a, only_b: number of configurations (of methods: of trials) that the other side lacks.
    """

    pairs: list[tuple[Row, Row]]
    only_a: int
    only_b: int


def join(rows_a: Sequence[Row], rows_b: Sequence[Row]) -> Joined:
    """Pairs of one configuration: on each machine that both sides have, else the newest of each."""
    by_a, by_b = (group_by(rows, lambda row: row["configuration"]) for rows in (rows_a, rows_b))
    pairs = []
    for configuration in by_a.keys() & by_b.keys():
        on_a, on_b = ({row["machine_id"]: row for row in rows[configuration]} for rows in (by_a, by_b))
        if both := on_a.keys() & on_b.keys():
            pairs += [(on_a[machine], on_b[machine]) for machine in both]
        else:
            newest = [max(on.values(), key=lambda row: (row["started_at"], row["trial_id"])) for on in (on_a, on_b)]
            pairs.append((newest[0], newest[1]))
    return Joined(pairs, len(by_a.keys() - by_b.keys()), len(by_b.keys() - by_a.keys()))


def join_methods(rows_a: Sequence[Row], rows_b: Sequence[Row]) -> Joined:
    """Pairs of two methods that did the same work on one machine, with one seed and at one compression. A method that
    has a single compression there, as dense has, is paired with the other at all of its own."""

    def work(row: Row) -> tuple[Any, ...]:
        return row["comparison"], row["machine_id"], row["seed"]

    by_a, by_b = group_by(rows_a, work), group_by(rows_b, work)
    pairs = []
    for key in by_a.keys() & by_b.keys():
        single = any(len({row["compression"] for row in rows}) == 1 for rows in (by_a[key], by_b[key]))
        pairs += [(x, y) for x in by_a[key] for y in by_b[key] if single or x["compression"] == y["compression"]]
    paired = {row["trial_id"] for pair in pairs for row in pair}
    only_a, only_b = (sum(row["trial_id"] not in paired for row in rows) for rows in (rows_a, rows_b))
    return Joined(pairs, only_a, only_b)


def group_by(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """The rows of each key, both in the order in which they come."""
    found: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return found


def nothing_in_common(side_a: Side, rows_a: Sequence[Row], side_b: Side, rows_b: Sequence[Row]) -> str:
    """Why no configuration is on both sides: the axes that have no value in common."""
    apart = []
    for axis in AXES:
        values = [{row[axis] for row in rows} for rows in (rows_a, rows_b)]
        if not values[0] & values[1] and not (axis == "method" and side_a.kind == "method"):
            shown = [", ".join(sorted(map(str, v))[:3]) + (" ..." if len(v) > 3 else "") for v in values]
            apart.append(f"{axis} is {shown[0]} in A and {shown[1]} in B")
    why = f": {apart[0]}" if apart else ""
    return f"A ({side_a.text}) and B ({side_b.text}) have no configuration in common{why}."

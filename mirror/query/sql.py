"""QuerySpec -> SQL. One clause a line, so that a person can read and edit it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from db.columns import AXES, CHOICE_AXES, GROUP_AXES
from mirror.query.change import TIMED, change_columns, is_ratio, relative_columns
from mirror.query.spec import Filter, Metric, QuerySpec, is_of_groups
from mirror.schema import catalog
from mirror.table.values import Value

_AGGREGATE_SQL = {"stddev": "stddev_samp"}
# The interval and the verdict of a speedup; of several trials the widest interval, and the verdict that all share.
_VERDICTS = {
    "speedup_ci_low": "min(speedup_ci_low)",
    "speedup_ci_high": "max(speedup_ci_high)",
    "verdict": "CASE WHEN min(verdict) = max(verdict) THEN min(verdict) WHEN count(verdict) > 0 THEN 'unclear' END",
}
MOST_LISTED = 1000  # rows of whole trials, where the question sets no limit
# What tells the rows of a view apart, where that is not the trial.
_ROW_KEYS = {
    "machines": ("machine_id",), "sweeps": ("sweep_id",), "samples": ("trial_id", "sample"),
    "curves": ("trial_id", "metric", "step"),
}  # fmt: skip
_LINE = 88
_MOST_JOINS = 12  # the parser takes twice as long for each that has no condition


def compile_sql(spec: QuerySpec) -> str:
    """The SELECT statement of a spec, in SQL that DuckDB's own shell runs unchanged."""
    if spec.shape not in ("front", "relative"):
        return "\n".join([*_body(spec), *_tail(spec)])
    compared = _front(spec) if spec.shape == "front" else _relative(spec)
    # The groups as a table of their own, to be compared with one another.
    return "\n".join(
        ["WITH groups AS (", *(f"  {line}" for line in "\n".join(_body(spec)).splitlines()), ")", *compared]
    )


def _body(spec: QuerySpec) -> list[str]:
    """All but the order and what follows from it."""
    lines = [_select(_columns(spec) or ["*"]), f"FROM {spec.source}"]
    if conditions := _conditions(spec):
        lines.append("WHERE " + "\n  AND ".join(conditions))
    if spec.dimensions and spec.shape not in ("points", "rows"):
        lines.append("GROUP BY " + ", ".join(spec.dimensions))
    kept = [condition(replace(f, column=_call_of(f.column, spec))) for f in spec.filters if is_of_groups(f, spec)]
    if spec.within is not None and spec.shape != "points":
        kept.append(f"avg(auc) {_as_good_as_the_baseline(spec)}")
    if spec.shape == "relative" and spec.against:  # what the others are compared with need not meet it
        kept = [f"({text} OR {condition(spec.against)})" for text in kept]
    if kept:
        lines.append("HAVING " + "\n  AND ".join(kept))
    return lines


def _front(spec: QuerySpec) -> list[str]:
    """Of each partition the groups that no other beats: at least as good in both metrics and better in one."""
    names = [m.alias for m in spec.metrics[:2]]
    better = ["<" if catalog.entry(m.column).better == "lower" else ">" for m in spec.metrics[:2]]
    same = [f"other.{p} IS NOT DISTINCT FROM groups.{p}" for p in spec.partitions]
    as_good = [f"other.{n} {sign}= groups.{n}" for n, sign in zip(names, better, strict=True)]
    one_better = " OR ".join(f"other.{n} {sign} groups.{n}" for n, sign in zip(names, better, strict=True))
    beaten_by = "" if spec.claim == "worse" else "NOT "
    beaten = "\n      AND ".join([*same, *as_good, f"({one_better})"])
    lines = [
        "SELECT *",
        "FROM groups",
        f"WHERE {beaten_by}EXISTS (",
        "    SELECT 1 FROM groups AS other",
        f"    WHERE {beaten}",
    ]
    return [*lines, "  )", *_order_by([*spec.partitions, names[0]], spec.dimensions), *_limit(spec.limit)]


def _relative(spec: QuerySpec) -> list[str]:
    """Each group beside the reference at the same work, and what comes of both."""
    assert spec.against
    columns = [f"groups.{d}" for d in spec.dimensions]
    # What the reference may differ in, so that each of its variants is told.
    free = [d for d in spec.dimensions if d in _own_choices(spec)]
    columns += [f"reference.{d} AS reference_{d}" for d in free]
    for m in spec.metrics:
        names = relative_columns(m.column, spec.inverse)
        value, reference = f"groups.{m.alias}", f"reference.{m.alias}"
        outcome = f"{value} - {reference}"
        if is_ratio(m.column):
            above, below = (reference, value) if spec.inverse else (value, reference)
            outcome = f"{above} / nullif({below}, 0)"
        columns += [value, f"{reference} AS {names.reference}", f"{outcome} AS {names.outcome}"]
    same = [f"reference.{p} IS NOT DISTINCT FROM groups.{p}" for p in spec.partitions]
    chosen = condition(replace(spec.against, column=f"reference.{spec.against.column}"))
    others = [f"groups.{spec.against.column} <> {literal(spec.against.values[0])}"]
    for m in spec.metrics if spec.claim else ():
        more = (catalog.entry(m.column).better == "lower") == (spec.claim in ("worse", "slower"))
        others.append(f"groups.{m.alias} {'>' if more else '<'} reference.{m.alias}")
    return [
        _select([*columns, "groups.n"]),
        "FROM groups",
        "JOIN groups AS reference\n  ON " + "\n  AND ".join([chosen, *same]),
        "WHERE " + "\n  AND ".join(others),
        *_order_by(_asked_order(spec), (*spec.dimensions, *(f"reference_{d}" for d in free))),
        *_limit(spec.limit),
    ]


def _own_choices(spec: QuerySpec) -> set[str]:
    """What a method that is the reference chooses for itself; the baseline has no choices."""
    assert spec.against
    if spec.against.column != "method" or spec.against.values == (catalog.words()["baseline"],):
        return set()
    return set(CHOICE_AXES) - set(spec.partitions)


def _select(columns: list[str]) -> str:
    """The SELECT list, broken between columns where a line grows long."""
    lines = ["SELECT " + columns[0]]
    for column in columns[1:]:
        lines[-1] += ","
        if len(lines[-1]) + len(column) > _LINE:
            lines.append("      ")
        lines[-1] += " " + column
    return "\n".join(lines)


def _columns(spec: QuerySpec) -> list[str]:
    columns = list(spec.dimensions)
    if spec.shape in ("points", "rows"):
        columns += [m.column for m in spec.metrics if m.column not in columns]
        return columns + [c for c in _VERDICTS if spec.verdicts and c not in columns]
    if spec.shape == "count":
        if spec.distinct and spec.distinct not in spec.dimensions:
            return [*columns, f"count(DISTINCT {spec.distinct}) AS count_{spec.distinct}"]
        return [*columns, "count(*) AS trials"]
    if spec.shape == "change":
        return columns + _change(spec)
    columns += [f"{_call(m)} AS {m.alias}" for m in spec.metrics]
    leading = spec.metrics[0]
    deviation = f"stddev_{leading.name or leading.column}"
    if leading.aggregate in (None, "avg") and deviation not in [m.alias for m in spec.metrics]:
        columns.append(f"stddev_samp({leading.column}) AS {deviation}")
    if spec.verdicts:
        known = [*spec.dimensions, *(m.alias for m in spec.metrics)]
        columns += [f"{sql} AS {name}" for name, sql in _VERDICTS.items() if name not in known]
    return [*columns, "count(*) AS n"]


def _change(spec: QuerySpec) -> list[str]:
    """Both sides of the split for the leading metric, what came of it, its noise and the numbers of trials."""
    metric, names = spec.metrics[0].column, change_columns(spec.metrics[0].column)
    moment = literal(spec.split or "")
    before, since = (f"FILTER (WHERE started_at {sign} {moment})" for sign in ("<", ">="))
    change = f"{names.since} / nullif({names.before}, 0)" if is_ratio(metric) else f"{names.since} - {names.before}"
    deviation = f"stddev_samp({metric})"
    noise = "max(noise)" if metric in TIMED else f"greatest({deviation} {before}, {deviation} {since})"
    return [
        f"median({metric}) {before} AS {names.before}",
        f"median({metric}) {since} AS {names.since}",
        f"{change} AS {names.change}",
        f"{noise} AS {names.noise}",
        f"count(*) {before} AS {names.n_before}",
        f"count(*) {since} AS {names.n_since}",
    ]


def _call_of(column: str, spec: QuerySpec) -> str:
    """What a group has of a metric: as it is shown, else the mean."""
    return _call(next((m for m in spec.metrics if m.column == column), Metric(column)))


def _call(metric: Metric) -> str:
    name = metric.aggregate or "avg"
    return f"{_AGGREGATE_SQL.get(name, name)}({metric.column})"


def _is_beside_method(spec: QuerySpec) -> bool:
    return spec.shape == "relative" and spec.against is not None and spec.against.column == "method"


def _conditions(spec: QuerySpec) -> list[str]:
    conditions = []
    trials = [f for f in spec.filters if not is_of_groups(f, spec)]
    for f in trials:
        text = condition(f)
        if spec.keep_baseline and f.column in ("compression", "block_size"):
            reference = condition(spec.against) if spec.against else "is_baseline"
            text = f"({text} OR {reference})"
        elif _is_beside_method(spec) and f.column in CHOICE_AXES:  # a setting that it may not have
            text = f"({text} OR ({condition(spec.against)} AND {f.column} IS NULL))"  # type: ignore[arg-type]
        conditions.append(text)
    filtered = {f.column for f in trials}
    # An overview of several metrics keeps rows that lack one of them; a trade-off needs both.
    needed = spec.metrics if spec.shape in ("points", "front") else spec.metrics[:1]
    if len(spec.metrics) <= 2 or spec.shape in ("ranking", "best"):
        conditions += [f"{m.column} IS NOT NULL" for m in needed if m.column not in filtered]
    if spec.within is not None and spec.shape == "points":
        conditions.append(f"auc {_as_good_as_the_baseline(spec)}")
    if spec.last:
        conditions.append(
            f"step = (SELECT max(step) FROM {spec.source} AS same\n"
            f"      WHERE same.trial_id = {spec.source}.trial_id AND same.metric = {spec.source}.metric)"
        )
    if spec.distinct in spec.dimensions:
        conditions.append(f"{spec.distinct} IS NOT NULL")
    elif spec.distinct:
        conditions += [f"{d} IS NOT NULL" for d in spec.dimensions]
    if spec.shape == "count" and "verdict" in spec.dimensions and "verdict" not in filtered:
        conditions.append("verdict IS NOT NULL")  # the baseline has none
    return conditions


def _as_good_as_the_baseline(spec: QuerySpec) -> str:
    """`>= (the baseline's mean AUC at the same work) - margin`."""
    baseline = catalog.words()["baseline"]
    work = (*GROUP_AXES, "machine")
    where = [condition(Filter("method", "=", (baseline,)))]
    where += [condition(f) for f in spec.filters if f.column in work]
    where += [f"same_work.{d} IS NOT DISTINCT FROM {spec.source}.{d}" for d in spec.dimensions if d in work]
    inner = [f"SELECT avg(auc) FROM {spec.source} AS same_work", "WHERE " + "\n      AND ".join(where)]
    return "\n    ".join([">= (", *inner]) + f"\n  ) - {literal(spec.within or 0)}"


def condition(f: Filter) -> str:
    """One filter as SQL. NULL never matches, so `<>` and `not in` leave out rows without a value."""
    if f.operator in ("in", "not in"):
        return f"{f.column} {f.operator.upper()} ({', '.join(literal(v) for v in f.values)})"
    return f"{f.column} {f.operator} {literal(f.values[0])}"


def literal(value: Value) -> str:
    """A value as a SQL literal."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def format_sql(sql: str, dialect: str = "duckdb") -> str:
    """SQL of a dialect laid out one clause a line; text that cannot be parsed comes back as it is."""
    import sqlglot  # takes a third of a second: only the person who presses Format waits for it

    if len(re.findall(r"join\b", sql, re.IGNORECASE)) > _MOST_JOINS:
        return sql
    try:
        return ";\n".join(sqlglot.transpile(sql, read=dialect, write=dialect, pretty=True)) or sql
    except (sqlglot.errors.SqlglotError, RecursionError):
        return sql


def _tail(spec: QuerySpec) -> list[str]:
    if spec.shape in ("ranking", "best"):
        return _first(spec)
    order = _asked_order(spec)
    if spec.shape in ("points", "rows"):
        rows = _order_by(order, _ROW_KEYS.get(spec.source, ("trial_id",))) if order else []
        return [*rows, *_limit(spec.limit or (MOST_LISTED if spec.shape == "rows" else None))]
    if spec.shape == "count" and spec.limit and spec.order:  # ties count
        first = spec.order[0]
        counts = {"trials": "count(*)"} | ({f"count_{d}": f"count(DISTINCT {d})"} if (d := spec.distinct) else {})
        by = counts.get(first.column, first.column) + (" DESC" if first.descending else "")
        return [f"QUALIFY rank() OVER (ORDER BY {by}) <= {spec.limit}", *_order_by(order, spec.dimensions)]
    if spec.shape == "change":  # what cannot be compared stands last
        order = order or [f"{spec.drawn[0]} DESC NULLS LAST"]
    return [*_order_by(order, spec.dimensions), *_limit(spec.limit)]


def _first(spec: QuerySpec) -> list[str]:
    """The first groups by the leading metric, in the direction of the first sort key."""
    leading = spec.metrics[0]
    direction = " DESC" if spec.order[0].descending else ""
    by, shown = _call(leading) + direction, leading.alias + direction
    if spec.partitions:
        within = ", ".join(spec.partitions)
        keep = "= 1" if spec.shape == "best" else f"<= {spec.limit}"
        window = f"PARTITION BY {within} ORDER BY {by}"
        ranked = [d for d in spec.dimensions if d not in spec.partitions]
        # A dim that is the only one that was measured at some work is not the best of them.
        of_axis = all(d in AXES and d != "method" for d in ranked)
        several = [f"  AND count(*) OVER (PARTITION BY {within}) > 1"] * of_axis
        return [
            f"QUALIFY rank() OVER ({window}) {keep}",
            *several,
            *_order_by([*spec.partitions, shown], spec.dimensions),
        ]
    if spec.shape == "best":
        return [f"QUALIFY rank() OVER (ORDER BY {by}) = 1", *_order_by([], spec.dimensions)]
    return [*_order_by([shown], spec.dimensions), *_limit(spec.limit)]


def _asked_order(spec: QuerySpec) -> list[str]:
    """The sort keys of the question; a metric's column stands for what became of it, `median_latency_us`."""
    names = {m.column: m.alias for m in reversed(spec.metrics)} if spec.shape == "groups" else {}
    names |= {m.alias: m.alias for m in spec.metrics}
    return [names.get(o.column, o.column) + (" DESC" if o.descending else "") for o in spec.order]


def _order_by(keys: Sequence[str], own: Iterable[str]) -> list[str]:
    """ORDER BY the keys and then by what is a row's own, so that rows that tie have one order."""
    named = {key.split()[0] for key in keys}
    total = [*keys, *(name for name in own if name not in named)]
    return [f"ORDER BY {', '.join(total)}"] if total else []


def _limit(most: int | None) -> list[str]:
    return [f"LIMIT {most}"] if most else []

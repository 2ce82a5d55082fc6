"""A QuerySpec in words: said back ("Read as: ..."), and as a question to click."""

from mirror.query.filter_words import filter_in_words
from mirror.query.spec import Filter, QuerySpec, is_of_groups
from mirror.schema import catalog
from mirror.table.wording import join

_ROWS = {"machines": "machine", "sweeps": "sweep", "samples": "sample", "curves": "step"}
_SOURCES = {
    "machines": "machines",
    "failures": "trials that are not ok",
    "history": "all trials, superseded ones too",
    "curves": "training curves",
}
_LISTED = {"failures": "trials that failed", "machines": "machines", "history": "trials, repeats too"}


def read_back(spec: QuerySpec) -> str:
    """The reading of a question, parts set apart by " · "."""
    parts = []
    if spec.source in _SOURCES:
        parts.append(_SOURCES[spec.source])
    if spec.shape == "count":
        counted = spec.distinct if spec.distinct not in spec.dimensions else None
        parts.append(f"number of different {catalog.entry(counted).label}" if counted else "number of trials")
    elif spec.metrics:
        leading = spec.metrics[0]
        alike = len({m.aggregate for m in spec.metrics}) == 1
        word = catalog.AGGREGATE_WORDS[leading.aggregate] + " " if leading.aggregate and spec.shape != "change" else ""
        word = word if alike else ""
        names = ", ".join(catalog.entry(m.name or m.column if alike else m.alias).title for m in spec.metrics)
        parts.append(f"metrics {names}" if spec.shape == "points" else f"{word}{names}")
    if spec.split:
        parts.append(f"medians before and since {spec.split} UTC")
    if spec.verdicts:
        parts.append("with interval and verdict against the baseline")
    if spec.within is not None:
        parts.append(f"AUC at most {spec.within:g} below {catalog.words()['baseline']} at the same work")
    if spec.averaged:
        parts.append(f"averaged over {', '.join(catalog.entry(a).label for a in spec.averaged)}")
    if spec.filters:
        parts.append("where " + ", ".join(_filter(f, spec) for f in spec.filters))
    parts += _shape(spec)
    return " · ".join([*parts, *spec.notes])


def _filter(f: Filter, spec: QuerySpec) -> str:
    """`mean AUC > 0.75` where groups are kept by it, `AUC > 0.75` where trials are."""
    if not is_of_groups(f, spec):
        return filter_in_words(f)
    shown = next((m.aggregate for m in spec.metrics if m.column == f.column), None)
    return f"{catalog.AGGREGATE_WORDS[shown or 'avg']} {filter_in_words(f)}"


def _shape(spec: QuerySpec) -> list[str]:
    labels = [catalog.entry(d).label for d in spec.dimensions]
    within = f" for each {', '.join(catalog.entry(p).label for p in spec.partitions)}" if spec.partitions else ""
    if spec.shape == "points":
        along = [f"along {labels[0]}"] if spec.dimensions[:1] == ("started_at",) else []
        return ["points = trials", *along, "colour = method"]
    if spec.shape == "rows":
        return [f"one row per {_ROWS.get(spec.source, 'trial')}", *([f"only {', '.join(labels)}"] if labels else [])]
    if spec.shape in ("best", "ranking"):
        first = f"the first {spec.limit}" if spec.limit else "the first, ties included"
        order = "highest" if spec.order[0].descending else "lowest"
        ranked = ", ".join(catalog.entry(d).label for d in spec.dimensions if d not in spec.partitions)
        return [f"{first}{within}, {order} first", f"ranked: {ranked}", "mean over seeds"]
    if spec.shape == "front":
        which = "what another beats" if spec.claim == "worse" else "what no other beats"
        return [f"{which} in both{within}", "mean over seeds"]
    if spec.shape == "relative":
        which = f"only what is {spec.claim}" if spec.claim else ""
        return [p for p in (f"by {', '.join(labels)}", which) if p]
    if spec.shape == "change":
        return [f"same {', '.join(labels)} on both sides"] if labels else []
    return [f"by {', '.join(labels)}"] if labels else []


# -- as a question -----------------------------------------------------------------------------------------------------


def question_of(spec: QuerySpec) -> str:
    """`Show the mean latency (µs) by method where benchmark = lookup, the lowest first`."""
    parts = [_asked_for(spec)]
    if spec.against:
        parts.append(
            f"{'how many times less than' if spec.inverse else 'compared with'} {filter_in_words(spec.against)}"
        )
    if by := [catalog.entry(d).label for d in spec.dimensions if d not in (*spec.partitions, spec.distinct)]:
        parts.append(f"by {join(by)}")
    if spec.partitions:
        parts.append(f"for each {join([catalog.entry(p).label for p in spec.partitions])}")
    named = [f for f in spec.filters if not (spec.source == "curves" and f.column == "metric")]
    if named:
        parts.append(f"where {join([filter_in_words(f) for f in named])}")
    if spec.within is not None:
        parts.append(f"with AUC at most {spec.within:g} below {catalog.words()['baseline']}")
    said = ["in all that was ever run"] if spec.source == "history" and spec.shape != "rows" else []
    said += [f"from {spec.split} on against before"] if spec.split else []
    said += [f"only what is {spec.claim}"] if spec.claim and spec.shape != "front" else []
    said += ["with the verdict against the baseline"] if spec.verdicts else []
    said += ["at the end of training"] if spec.last else []
    said += [f"averaged over {join([catalog.entry(a).label for a in spec.averaged])}"] if spec.averaged else []
    said += ["and why"] if spec.explain else []
    said += [_order_said(spec)] if spec.order else [f"only the first {spec.limit}"] if spec.limit else []
    said += [f"as a {spec.chart.type} chart"] if spec.chart.type else []
    said += [f"log {axis}" for axis, log in (("x", spec.chart.log_x), ("y", spec.chart.log_y)) if log]
    said += ["linear axes"] if spec.chart.linear else []
    return ", ".join(filter(None, [" ".join(parts), *said]))


def _asked_for(spec: QuerySpec) -> str:
    names = [_name(spec, i) for i in range(len(spec.metrics))]
    if spec.shape == "count":
        what = f"different {catalog.entry(spec.distinct).label}" if spec.distinct else "trials"
        failed = " that failed" if spec.source == "failures" else ""
        return f"{'List' if spec.distinct in spec.dimensions else 'Count'} the {what}{failed}"
    if spec.shape == "rows" or not names:
        return f"List the {_LISTED.get(spec.source, 'trials')}"
    if spec.shape == "points":
        return f"Show {' against '.join(names)} of single trials"
    if spec.shape == "front":
        return f"Show what {'another beats' if spec.claim == 'worse' else 'no other beats'} in {join(names)}"
    if spec.shape == "change":
        return f"Show how {join(names)} changed"
    if spec.shape in ("best", "ranking"):
        first = f"{spec.limit} " if spec.limit else ""
        end = "highest" if spec.order and spec.order[0].descending else "lowest"
        return f"Show the {first}{end} {names[0]}" + (f" with {join(names[1:])}" if names[1:] else "")
    over = " over training" if spec.source == "curves" and not spec.last else ""
    return f"Show the {join(names)}{over}"


def _name(spec: QuerySpec, at: int) -> str:
    metric = spec.metrics[at]
    word = f"{catalog.AGGREGATE_WORDS[metric.aggregate]} " if metric.aggregate and spec.shape != "change" else ""
    return f"{word}{catalog.entry(metric.name or metric.column).title}"


def _order_said(spec: QuerySpec) -> str:
    if spec.shape in ("best", "ranking"):
        return ""
    known = {m.alias: catalog.entry(m.name or m.column).label for m in spec.metrics}
    said = []
    for order in spec.order:
        if order.column == "started_at":
            said.append("the newest" if order.descending else "the oldest")
        else:
            said.append(f"{'most' if order.descending else 'least'} {known.get(order.column) or _label(order.column)}")
    limit = f", only the first {spec.limit}" if spec.limit else ""
    return f"{join(said)} first{limit}"


def _label(column: str) -> str:
    return "trials" if column == "trials" else catalog.entry(column).label

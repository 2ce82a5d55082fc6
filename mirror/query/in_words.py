"""A QuerySpec said back in words: "Read as: ..."."""

from mirror.query.filter_words import filter_in_words
from mirror.query.spec import Filter, QuerySpec, is_of_groups
from mirror.schema import catalog

_ROWS = {"machines": "machine", "sweeps": "sweep", "samples": "sample", "curves": "step"}
_SOURCES = {
    "machines": "machines",
    "failures": "trials that are not ok",
    "history": "all trials, superseded ones too",
    "curves": "training curves",
}


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

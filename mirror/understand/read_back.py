"""A QuerySpec said back in words: "Read as: ..."."""

from mirror import catalog
from mirror.query_spec import QuerySpec
from mirror.wording import filter_in_words

_SOURCES = {
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
        parts.append("number of trials")
    elif spec.metrics:
        leading = spec.metrics[0]
        word = catalog.AGGREGATE_WORDS[leading.aggregate] + " " if leading.aggregate else ""
        names = ", ".join(catalog.entry(m.column).title for m in spec.metrics)
        parts.append(f"metrics {names}" if spec.shape == "points" else f"{word}{names}")
    if spec.filters:
        parts.append("where " + ", ".join(filter_in_words(f) for f in spec.filters))
    parts += _shape(spec)
    return " · ".join([*parts, *spec.notes])


def _shape(spec: QuerySpec) -> list[str]:
    labels = [catalog.entry(d).label for d in spec.dimensions]
    if spec.shape == "points":
        return ["points = trials", "colour = method"]
    if spec.shape == "rows":
        return ["one row per trial"]
    if spec.shape in ("best", "ranking"):
        first = f"the first {spec.limit}" if spec.limit else "the first, ties included"
        within = f" for each {', '.join(catalog.entry(p).label for p in spec.partitions)}" if spec.partitions else ""
        order = "highest" if spec.order[0].descending else "lowest"
        ranked = ", ".join(catalog.entry(d).label for d in spec.dimensions if d not in spec.partitions)
        return [f"{first}{within}, {order} first", f"ranked: {ranked}", "mean over seeds"]
    return [f"by {', '.join(labels)}"] if labels else []

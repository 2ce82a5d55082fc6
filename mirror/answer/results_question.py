"""A query over the results as a question to click: what is asked for, of what, and in which order."""

from mirror.query.filter_words import filter_in_words
from mirror.query.spec import QuerySpec
from mirror.schema import catalog
from mirror.table.wording import join

_LISTED = {"failures": "trials that failed", "machines": "machines", "history": "trials, repeats too"}


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
    said += [_order(spec)] if spec.order else []
    said += [f"as a {spec.chart.type} chart"] if spec.chart.type else []
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


def _order(spec: QuerySpec) -> str:
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

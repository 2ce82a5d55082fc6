"""Rankings and orders in follow-up questions: "the worst", "top 3", "show all", "sort by memory", "descending"."""

from collections.abc import Sequence
from dataclasses import replace

from db.columns import BY_NAME
from mirror.language.followup.draft import RANKED, Draft
from mirror.language.followup.marks import Direction
from mirror.language.grammar.slots import Slots
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import Order
from mirror.schema import catalog
from mirror.schema.views import KNOWN_COLUMNS
from mirror.table.wording import superlative

_FIXED = "The order of this result is fixed: it runs along its axis."


def rank(draft: Draft, slots: Slots) -> None:
    """ "the worst", "top 3", "top 10 instead". Raises Refusal or Ambiguity."""
    spec = draft.spec
    name = slots.superlative or ("best" if slots.recommend else "top")
    if spec.source == "curves":
        raise Refusal(
            "A course over training cannot be ranked: ask for a metric, as in “which method has the best AUC?”."
        )
    if spec.shape == "rows":
        if not slots.limit:
            raise Refusal("Whole trials are in no ranking: ask for the first 10 of them, or how many there are.")
        draft.spec = replace(spec, limit=slots.limit)
        draft.notes.append(f"the first {slots.limit}")
    elif spec.shape in ("count", "change", "relative"):
        _rank_outcome(draft, slots, name)
    elif spec.shape in RANKED and name == "top" and not slots.leading:
        was = f" instead of {spec.limit}" if spec.limit else ""
        draft.spec = replace(spec, shape="ranking" if slots.limit else "best", limit=slots.limit)
        draft.notes.append(f"the first {slots.limit or 'one'}{was}")
    else:
        _rank_anew(draft, slots, name)


def _rank_outcome(draft: Draft, slots: Slots, name: str) -> None:
    """The first of counts, changes or ratios, by what has become of them."""
    if draft.spec.shape == "count" and slots.named:
        draft.group("replace", slots.named)
    spec = draft.spec
    if not spec.dimensions:
        raise Refusal("One number has no first: ask for it by something, as in “by method”.")
    column = _default_order(draft)
    better = "higher" if spec.shape == "count" else catalog.entry(column).better
    low = name in ("worst", "lowest", "smallest", "bottom", "slowest")
    by_size = name in ("highest", "largest", "lowest", "smallest")
    descending = low != (by_size or better != "lower")
    draft.spec = replace(spec, order=(Order(column, descending),), limit=slots.limit or 1)
    end = "most" if descending else "fewest"
    words = f"{end} trials" if spec.shape == "count" else superlative(catalog.entry(column), descending)
    draft.notes.append(f"the {slots.limit or 'one'} with the {words}")


def _rank_anew(draft: Draft, slots: Slots, name: str) -> None:
    spec = draft.spec
    metrics = [slots.leading] * bool(slots.leading) + [m.column for m in spec.metrics if m.column != slots.leading]
    own = name in ("fastest", "slowest", "smallest", "largest")
    if not slots.leading and not own and ((len(metrics) > 1 and spec.shape not in RANKED) or not metrics):
        what = f"the {name}{f' {slots.limit}' if slots.limit else ''}"
        labels = [catalog.entry(m).label for m in metrics[:3]] or ["AUC", "memory", "latency"]
        by = " by" if slots.limit else ""
        raise Ambiguity(f"By what should {what} be chosen?", tuple(f"only {what}{by} {label}" for label in labels))
    limit = slots.limit or (spec.limit if spec.shape == "ranking" else None)
    grouped, entities = list(spec.partitions), [d for d in spec.dimensions if d not in spec.partitions]
    if spec.shape not in RANKED:
        grouped, entities = _parted(draft)
    named = slots.named or entities  # "the best machine"
    for column in slots.named:
        if any(f.column == column and f.operator == "=" for f in spec.filters):
            draft.lift(column)
    draft.reshape(
        superlative=name, limit=limit, leading=slots.leading, metrics=metrics, grouped=grouped, named=named, sort=[],
        tradeoff=False, chart=None if spec.shape == "points" else spec.chart.type,
    )  # fmt: skip
    column, descending = draft.spec.order[0].column, draft.spec.order[0].descending
    draft.notes.append(f"the {f'{limit} with the ' if limit else ''}{superlative(catalog.entry(column), descending)}")


def _parted(draft: Draft) -> tuple[list[str], list[str]]:
    """(partitions, what is ranked) of groups: different work is ranked apart, unless nothing but it could be ranked."""
    dimensions = [d for d in draft.spec.dimensions if d != "started_at"]
    work = [d for d in dimensions if d == "machine" or (d in BY_NAME and BY_NAME[d].workload)]
    one_method = any(f.column == "method" and f.operator == "=" for f in draft.spec.filters)
    if one_method and set(work) == set(dimensions):
        return [], dimensions
    return work, [d for d in dimensions if d not in work]


def show_all(draft: Draft) -> None:
    """All groups, not only the first. Raises Refusal where none are left out."""
    spec = draft.spec
    if spec.shape in RANKED:
        entities = [d for d in spec.dimensions if d not in spec.partitions]
        dimensions = tuple(dict.fromkeys((*(entities or ["method"]), *spec.partitions)))
        draft.spec = replace(spec, shape="groups", limit=None, partitions=(), dimensions=dimensions)
    elif spec.limit:
        draft.spec = replace(spec, limit=None)
    else:
        raise Refusal(
            "All rows are shown already; what a filter leaves out comes back with “for all compressions” or “drop the "
            "filters”."
        )
    draft.notes.append("all, not only the first")


def sort(draft: Draft, orders: Sequence[Order]) -> None:
    """ "sort by memory". Raises Refusal for a result with an order of its own."""
    for order in orders:
        spec, column = draft.spec, order.column
        label = catalog.entry(column).label
        is_metric = catalog.entry(column).role == "metric"
        if spec.source == "curves":
            raise Refusal(_FIXED)
        if spec.shape in ("best", "front"):
            raise Refusal(f"Only the first of a ranking is shown: ask “show all sorted by {label}”.")
        if spec.shape == "ranking" and is_metric:
            draft.reshape(superlative="top", limit=spec.limit, leading=column, sort=[], grouped=list(spec.partitions))
            draft.spec = replace(draft.spec, order=(Order(column, order.descending),))
            draft.notes.append(f"ranked by {label}")
            continue
        shown = KNOWN_COLUMNS[spec.source] if spec.shape == "rows" else spec.dimensions
        if spec.shape in ("count", "rows") and column not in shown:
            raise Refusal(f"The result has no {label} to sort by: ask for it, as in “by {label}”.")
        if spec.shape == "rows":
            pass
        elif is_metric and spec.shape in ("change", "relative") and column == draft.leading:
            order = replace(order, column=spec.drawn[0])
        elif is_metric and column not in [m.column for m in spec.metrics]:
            draft.show("add", [column])
        elif not is_metric and column not in draft.spec.dimensions:
            draft.group("add", [column])
        draft.spec = replace(draft.spec, order=(order,))
        draft.notes.append(f"sorted by {label}, {'highest' if order.descending else 'lowest'} first")


def direct(draft: Draft, direction: Direction) -> None:
    """ "descending", "reverse the order", "best first". Raises Refusal for a result with an order of its own."""
    spec = draft.spec
    if spec.shape == "front" or spec.source == "curves":
        raise Refusal(_FIXED)
    order = spec.order[-1] if spec.order else Order(_default_order(draft), spec.shape == "count")
    better = catalog.entry(order.column).better or "higher"
    descending = {
        "descending": True, "ascending": False, "reversed": not order.descending, "best": better == "higher",
        "worst": better == "lower", "": order.descending,
    }[direction]  # fmt: skip
    draft.spec = replace(spec, order=(*spec.order[:-1], replace(order, descending=descending)))
    draft.notes.append(f"{'highest' if descending else 'lowest'} {catalog.entry(order.column).label} first")


def _default_order(draft: Draft) -> str:
    spec = draft.spec
    if spec.shape == "count":
        return f"count_{spec.distinct}" if spec.distinct and spec.distinct not in spec.dimensions else "trials"
    if spec.shape in ("change", "relative"):
        return spec.drawn[0]
    if spec.shape == "rows":
        return "started_at"
    if not draft.leading:
        raise Refusal("It is not clear what to sort by: name it, as in “sort by memory”.")
    return draft.leading

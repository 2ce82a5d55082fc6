"""What the parts of a follow-up do to the question before: each slot that they fill is one change."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mirror.language.followup import ranking as followup_ranking
from mirror.language.followup.draft import RANKED, Draft
from mirror.language.followup.marks import Direction, Mode
from mirror.language.grammar import over_time
from mirror.language.grammar.slots import Slots
from mirror.language.phrases.time_cues import Times
from mirror.query.errors import Refusal
from mirror.query.spec import ChartType, ChartWish, Claim, Filter, Metric
from mirror.schema import catalog
from mirror.schema.views import KNOWN_COLUMNS
from mirror.table.wording import join

_END = {
    "faster": "fastest", "slower": "slowest", "smaller": "smallest", "larger": "largest", "better": "best",
    "worse": "worst", "less": "lowest", "more": "highest",
}  # fmt: skip
_OPPOSITE: dict[Claim, Claim] = {"faster": "slower", "slower": "faster", "better": "worse", "worse": "better"}


@dataclass(frozen=True)
class ReadPart:
    """A part of a follow-up as the grammar has read it: its mode, what it says, and what that is instead of."""

    mode: Mode
    slots: Slots
    instead_of: Slots


def apply(
    draft: Draft, parts: Sequence[ReadPart], direction: Direction, wishes: frozenset[str], within: float | None
) -> None:
    """Change the draft by all that a follow-up says (see `words.ParsedFollowUp`). Raises Refusal or Ambiguity."""
    parts = sorted(parts, key=lambda part: part.mode in ("without", "drop"))  # "without AUC but with memory"
    for part in parts:
        draft.notes += part.slots.notes
    _join_ranking(parts)
    if "unfilter" in wishes:
        _lift_all(draft)
    if "any time" in wishes and not draft.lift("started_at"):
        raise Refusal("The question is about no certain time: it has no limit to take away.")
    for part in parts:
        _sources(draft, part)
    for part in parts:
        _dimensions(draft, part)
    for part in parts:
        _filters(draft, part)
    for part in parts:
        _metrics(draft, part)
    if within is not None:
        _as_good(draft, within)
    for part in parts:
        _shape(draft, part)
    if "count" in wishes:
        _count(draft, Slots(grouped=[c for part in parts for c in part.slots.grouped]))
    if "everything" in wishes:
        followup_ranking.show_all(draft)
    for part in parts:
        followup_ranking.sort(draft, part.slots.sort)
    if direction:
        followup_ranking.direct(draft, direction)
    for part in parts:
        _chart(draft, part)
    _scales(draft, wishes)


def _join_ranking(parts: Sequence[ReadPart]) -> None:
    """ "top 3 by AUC": a metric after `by` is what the ranking is by."""
    ranking = next((p.slots for p in parts if p.slots.superlative and not p.slots.leading), None)
    by = next((p.slots for p in parts if p.mode == "group" and p.slots.metrics), None)
    if ranking and by:
        ranking.leading, by.metrics = by.metrics[0], by.metrics[1:]


# -- what is asked about -------------------------------------------------------------------------------------------


def _lift_all(draft: Draft) -> None:
    columns = dict.fromkeys(f.column for f in draft.spec.filters)
    kept = ("metric",) if draft.spec.source == "curves" else ("status",) if draft.spec.source == "failures" else ()
    lifted = [draft.lift(c) for c in columns if c not in kept]
    if not lifted:
        raise Refusal("The question has no filter to take away.")


def _sources(draft: Draft, part: ReadPart) -> None:
    """Failures in place of results, training curves in place of what training ends with."""
    slots, spec = part.slots, draft.spec
    statuses = any(f.column == "status" for f in slots.filters)
    if slots.failures and part.mode in ("without", "drop") and not (statuses and spec.source == "failures"):
        if spec.source == "failures":
            raise Refusal("Nothing would be left: the question is about trials that are not ok.")
        draft.notes.append("failed trials are left out already")
        slots.filters[:] = [f for f in slots.filters if f.column != "status"]
    elif (slots.failures or statuses) and spec.source != "failures":
        known = [f for f in spec.filters if f.column in KNOWN_COLUMNS["failures"]]
        if len(known) < len(spec.filters):
            gone = join(catalog.entry(f.column).label for f in spec.filters if f not in known)
            draft.notes.append(f"failed trials are not told apart by {gone}")
        draft.reshape(
            failures=True, filters=known, metrics=[], sort=[], chart=None, count=slots.count, grouped=[], named=[]
        )
        draft.notes.append("failures instead of results")
    elif (slots.over_training or slots.curves) and spec.source != "curves":
        names = [*slots.curves, *slots.metrics]
        metrics = [] if names else draft.slots().metrics
        columns = [d for d in draft.slots().dimensions() if d in KNOWN_COLUMNS["curves"]]
        draft.reshape(over_training=True, curves=names, metrics=metrics, grouped=columns, named=[], sort=[])
        draft.notes.append("step by step over training")
        slots.metrics, slots.curves = [], []
    elif spec.source == "curves" and slots.final != spec.last and (slots.final or slots.over_training):
        _follow(draft, [str(v) for f in spec.filters if f.column == "metric" for v in f.values], slots.final)
        draft.spec = replace(draft.spec, chart=replace(spec.chart, type=None if slots.final else "line"))
        draft.notes.append("at the last step" if slots.final else "step by step over training")


def _filters(draft: Draft, part: ReadPart) -> None:
    slots, mode = part.slots, part.mode
    filters = list(slots.filters)
    if mode in ("all", "regardless"):
        mode = "replace"
    methods = [f for f in filters if f.column == "method" and f.operator == "="]
    if (slots.contrasts or slots.relative) and not slots.against and len(methods) == 1:
        slots.against = methods[0]  # "how much less than dense?"
    if filters and (mode == "beside" or (slots.against and draft.spec.against)):
        draft.compare_with(filters)
        slots.against, slots.than = None, ""
        return
    if slots.against or slots.than:  # the reference stands beside what is compared with it
        column = slots.against.column if slots.against else "method"
        draft.filter("add", [f for f in filters if f.column == column and _is_filtered(draft, column)])
        filters = [f for f in filters if f.column != column]
    if filters:
        draft.filter(mode, filters, part.instead_of.filters)


def _is_filtered(draft: Draft, column: str) -> bool:
    return any(f.column == column for f in draft.spec.filters)


def _lift(draft: Draft, column: str, mode: Mode) -> None:
    if draft.lift(column):
        return
    if mode == "regardless":
        draft.merge([column])
    elif draft.usual(column) is not None:
        draft.group("by", [column])  # or the usual value would be assumed
    else:
        draft.notes.append(f"any {catalog.entry(column).label} as before")


def _as_good(draft: Draft, margin: float) -> None:
    spec = draft.spec
    if spec.source != "results" or spec.shape in ("count", "rows", "change"):
        raise Refusal(
            "What is as good as the baseline can be ranked or shown: ask “smallest memory without losing quality”."
        )
    auc = Metric("auc", None if spec.shape == "points" else "avg")
    shown = spec.metrics if "auc" in [m.column for m in spec.metrics] else (*spec.metrics, auc)
    draft.spec = replace(spec, within=margin, metrics=shown if spec.metrics else ())
    draft.notes.append("AUC as good as the baseline's")


# -- what is shown -------------------------------------------------------------------------------------------------


def _metrics(draft: Draft, part: ReadPart) -> None:
    slots = part.slots
    names = [m for m in slots.metrics if m not in [o.column for o in slots.sort]]
    if draft.spec.source == "curves" and (names or slots.curves):
        _curves(draft, part, [*slots.curves, *names])
        return
    if part.mode in ("without", "drop"):
        gone = {m.column for m in draft.before.metrics} - {m.column for m in draft.spec.metrics}
        for name in names:
            if name not in gone:
                draft.leave_out(name, part.mode)
        return
    if slots.superlative and draft.spec.metrics and slots.leading in names and part.mode != "add":
        names = []  # "the lowest memory": the ranking says it
    if names:
        draft.show(part.mode, names, part.instead_of.metrics)
        if slots.tradeoff and len(names) > 1 and draft.spec.shape == "groups":
            draft.reshape(tradeoff=True)
    if slots.aggregate:
        draft.aggregate(slots.aggregate)


def _curves(draft: Draft, part: ReadPart, names: list[str]) -> None:
    """Other curves than those that were followed, or these as well."""
    before = [f for f in draft.spec.filters if f.column == "metric"]
    old = [str(v) for f in before for v in f.values]
    same = {"logloss": "loss"}
    wanted = [same.get(n, n) for n in names]
    if part.mode in ("without", "drop"):
        new = [n for n in old if n not in wanted]
    else:
        new = list(dict.fromkeys([*(old if part.mode == "add" else ()), *wanted]))
    if not new:
        raise Refusal("Nothing would be left to follow over training.")
    _follow(draft, new, draft.spec.last)
    draft.tell_metrics(old, new)


def _follow(draft: Draft, names: Sequence[str], last: bool) -> None:
    """These curves, step by step or at their last step."""
    columns = [d for d in draft.spec.dimensions if d not in ("step", "metric")]
    rest = [f for f in draft.spec.filters if f.column != "metric"]
    draft.reshape(over_training=not last, final=last, curves=list(names), filters=rest, grouped=columns, named=[])


def _dimensions(draft: Draft, part: ReadPart) -> None:
    slots = part.slots
    columns = list(dict.fromkeys([*slots.grouped, *([] if _names_entities(slots) else slots.named)]))
    if part.mode in ("all", "regardless"):
        for column in (*columns, *slots.metrics):
            _lift(draft, column, part.mode)
        slots.metrics = []
        return
    if part.mode in ("without", "drop"):
        for column in columns:
            draft.leave_out(column, part.mode)
        return
    if columns and not slots.failures:
        gone = [*part.instead_of.grouped, *part.instead_of.named]
        draft.group(part.mode, columns, gone)
    if slots.averaged:
        draft.merge(slots.averaged)


def _names_entities(slots: Slots) -> bool:
    """Whether the columns that are named are what is ranked or counted: "the best method", "how many methods"."""
    return bool(slots.superlative or slots.counted or slots.exist)


# -- its shape -----------------------------------------------------------------------------------------------------


def _shape(draft: Draft, part: ReadPart) -> None:
    slots = part.slots
    if part.mode in ("without", "drop"):
        if slots.superlative:
            raise Refusal("Say what to leave out by its name, as in “without dense”, or ask to “drop the outliers”.")
        return
    if slots.front or slots.dominated:
        metrics = draft.slots().metrics if len(draft.spec.metrics) == 2 else []
        draft.reshape(
            front=slots.front, dominated=slots.dominated, metrics=metrics, sort=[], chart=None, tradeoff=False
        )
        draft.notes.append("what another beats" if slots.dominated else "the Pareto front")
    elif slots.extent and not slots.superlative:
        draft.reshape(extent=True, sort=[], tradeoff=False, chart=None)
        draft.notes.append("the lowest and the highest")
    elif slots.changed or (slots.times.start and slots.comparative and not slots.than):
        _change(draft, slots)
    elif slots.times.asked:
        _time(draft, slots.times)
    elif slots.newest:
        draft.reshape(
            newest=True, metrics=[], limit=slots.limit, failures=draft.spec.source == "failures", sort=[], chart=None
        )
        draft.notes.append("the newest trials")
    elif slots.explain:
        _explain(draft, slots)
    elif slots.count or slots.exist:
        _count(draft, slots)
    elif slots.contrasts and draft.spec.verdicts and not slots.against:
        draft.notes.append("the speedup tells by how much")
    elif slots.relative or slots.contrasts - {"ratio"} or slots.against or slots.than:
        draft.reshape(
            relative=slots.relative, contrasts=slots.contrasts, against=slots.against, than=slots.than,
            comparative=slots.comparative, over_baseline=slots.over_baseline, sort=[], tradeoff=False,
        )  # fmt: skip
    elif slots.comparative:
        _claim(draft, slots)
    elif slots.superlative or slots.limit or slots.recommend:
        followup_ranking.rank(draft, slots)


def _change(draft: Draft, slots: Slots) -> None:
    if not slots.times.start and draft.spec.split:
        _claim(draft, slots)
        return
    metrics = slots.metrics or [draft.leading] * bool(draft.leading)
    draft.lift("started_at")
    draft.reshape(
        changed=True, comparative=slots.comparative, times=slots.times, metrics=metrics, sort=[], chart=None,
        tradeoff=False,
    )  # fmt: skip
    draft.notes.append(f"before {draft.spec.split} and since")


def _time(draft: Draft, times: Times) -> None:
    spec = draft.spec
    if spec.shape == "change":
        rest = [f for f in spec.filters if f.column != "started_at"]
        draft.reshape(changed=True, times=times, filters=rest, sort=[], comparative=spec.claim or "")
        return
    draft.spec = replace(spec, filters=tuple(f for f in spec.filters if f.column != "started_at"))
    was_course = draft.is_course
    if was_course:
        times = replace(times, course=True)
    asked = draft.slots()
    asked.times, asked.failures, asked.count = times, spec.source == "failures", spec.shape == "count"
    asked.superlative = "best" if spec.shape in (*RANKED, "relative", "front") else ""
    course = over_time.spec_of(asked)
    draft.notes += asked.notes
    if course:
        draft.spec = replace(course, notes=())
        draft.notes += ["each trial along its time"] * (not was_course)
    else:
        source = "history" if spec.shape == "count" and spec.source == "results" else spec.source
        draft.spec = replace(draft.spec, filters=tuple(asked.filters), source=source)


def _explain(draft: Draft, slots: Slots) -> None:
    if draft.spec.source == "failures":
        draft.reshape(failures=True, explain=True, metrics=[], sort=[], grouped=[], named=[], chart=None)
        draft.notes.append("with the reasons")
        return
    if draft.spec.verdicts and draft.slots().methods():  # verdicts are told of the others
        draft.filter("add", [Filter("method", "=", (catalog.words()["baseline"],))])
    metrics = [m for m in draft.slots().metrics if m != "speedup"]
    draft.reshape(explain=True, comparative=slots.comparative or draft.spec.claim or "", metrics=metrics, sort=[])
    draft.notes.append("with all that is known of them")


def _count(draft: Draft, slots: Slots) -> None:
    spec = draft.spec
    if spec.shape in ("change", "relative", "front"):
        raise Refusal(
            "What is compared is not counted: ask how many trials there are, as in “how many trials by method”."
        )
    about = {"comparative": spec.claim, "than": catalog.words()["baseline"]} if spec.verdicts and spec.claim else {}
    columns = [*slots.grouped, *slots.named]
    draft.reshape(
        count=True, counted=slots.counted, trials=slots.trials, failures=spec.source == "failures", metrics=[], sort=[],
        grouped=columns, named=[], chart=None, **about,
    )  # fmt: skip
    draft.notes.append("counted")


def _claim(draft: Draft, slots: Slots) -> None:
    """ "and slower?" after "which methods are faster than dense?"."""
    spec = draft.spec
    claims: tuple[Claim, ...] = ("faster", "slower") if spec.verdicts else ("better", "worse")
    claim = next((c for c in claims if c == slots.comparative), None)
    limit = next((f for f in spec.filters if f.column == "speedup" and f.operator in ("<", ">")), None)
    if limit and slots.comparative in ("faster", "slower"):
        draft.filter("only", [replace(limit, operator=">" if slots.comparative == "faster" else "<")])
    elif spec.claim and claim:
        flipped = tuple(replace(o, descending=not o.descending) for o in spec.order)
        order = flipped if claim != spec.claim else spec.order
        draft.spec = replace(spec, claim=claim, order=order)
        draft.notes.append(f"{claim} instead of {_OPPOSITE[claim]}" if claim != spec.claim else f"{claim} as before")
    elif slots.comparative in ("less", "more") and not slots.metrics:
        raise Refusal(
            f"It is not clear what “{slots.comparative}” is of: name the metric, as in “which needs less memory?”, or "
            "ask to “show all”."
        )
    elif slots.comparative:
        followup_ranking.rank(draft, replace(slots, superlative=_END[slots.comparative]))


# -- the chart -----------------------------------------------------------------------------------------------------


def _chart(draft: Draft, part: ReadPart) -> None:
    spec, kind = draft.spec, part.slots.chart
    if kind is None:
        return
    if part.mode in ("without", "drop"):
        if spec.chart.type == kind:
            draft.spec = replace(spec, chart=replace(spec.chart, type=None))
        draft.notes.append(f"not as {_named(kind)}")
        return
    single = kind in ("box", "histogram") or (kind == "scatter" and len(spec.metrics) > 1)
    if single and spec.shape in ("groups", *RANKED) and spec.source == "results" and spec.metrics:
        metrics = tuple(Metric(m.column) for m in spec.metrics)
        draft.spec = replace(
            spec, shape="points", metrics=metrics, partitions=(), order=(), limit=None, verdicts=False, claim=None
        )
        draft.notes.append("single trials")
    elif not single and spec.shape == "points" and len(spec.metrics) == 1 and not draft.is_course and kind != "scatter":
        draft.reshape(chart=kind, tradeoff=False)
        draft.notes.append("means instead of single trials")
    draft.spec = replace(draft.spec, chart=replace(draft.spec.chart, type=kind))
    draft.notes.append(f"as {_named(kind)}")


def _named(kind: ChartType) -> str:
    return f"a {kind}{' plot' if kind in ('scatter', 'box') else ' chart' if kind in ('bar', 'line') else ''}"


def _scales(draft: Draft, wishes: frozenset[str]) -> None:
    spec = draft.spec
    chart = spec.chart
    if "chart" in wishes:
        chart = replace(chart, type=None)
    if "linear" in wishes:
        chart = replace(chart, log_x=False, log_y=False, linear=True)
    if "log" in wishes:
        chart = ChartWish(chart.type, True, chart.type != "scatter")
    if "log_x" in wishes or "log_y" in wishes:
        log_x, log_y = chart.log_x or "log_x" in wishes, chart.log_y or "log_y" in wishes
        chart = replace(chart, log_x=log_x, log_y=log_y, linear=False)
    if wishes & {"log", "log_x", "log_y", "linear"}:
        draft.notes.append("linear axes" if "linear" in wishes else "logarithmic axes")
    draft.spec = replace(spec, chart=chart)
    if "swap" in wishes:
        if spec.shape != "points" or len(spec.metrics) != 2:
            raise Refusal("Only a chart of one metric against another has axes to swap.")
        draft.spec = replace(draft.spec, metrics=spec.metrics[::-1])
        draft.notes.append("axes swapped")

"""Questions about time: a course, a change since a moment, or only what was measured in a span."""

from dataclasses import replace

from mirror.language.grammar.choices import nothing_asked
from mirror.language.grammar.slots import COMPARATIVES, Slots, bare
from mirror.language.phrases.time_cues import HOW_TO_SAY, in_sql
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import Claim, Filter, Metric, QuerySpec
from mirror.schema import catalog

# What a comparative claims of a change: less memory and less time are better.
_CLAIMS: dict[str, Claim] = {
    "faster": "better", "slower": "worse", "smaller": "better", "larger": "worse", "better": "better", "worse": "worse",
}  # fmt: skip


def spec_of(slots: Slots) -> QuerySpec | None:
    """The bare QuerySpec of a question about time; None when it is about something else.

    A span that reaches to now only filters (the slots then hold the filter, and None is returned): newer results stay
    the newest. What was measured in a span that is over may have been superseded: each of its trials is shown.

    Raises Refusal or Ambiguity.
    """
    times = slots.times
    if slots.changed or (times.start and slots.comparative and not slots.than):
        return _change(slots)
    if times.course:
        return _course(slots)
    if times.start is None and times.end is None:
        return None
    add_span(slots)
    over = times.end is not None and not slots.failures and not slots.count
    return _course(slots) if over else None


def _course(slots: Slots) -> QuerySpec:
    """Every trial along the time of its start."""
    _refuse_what_has_no_course(slots)
    if not slots.metrics:
        raise nothing_asked(slots)
    if slots.times.course and (slots.times.start or slots.times.end):
        add_span(slots)
    if slots.aggregate:
        slots.notes.append("each trial is shown, none is averaged")
    dimensions = ("started_at", *(d for d in slots.dimensions() if d != "started_at"))
    spec = bare(slots, "points", tuple(Metric(m) for m in slots.metrics), dimensions)
    chart = spec.chart if spec.chart.type else replace(spec.chart, type="line")
    return replace(spec, source="history", order=spec.order, chart=chart)


def _change(slots: Slots) -> QuerySpec:
    """The same configurations before a moment and since."""
    times = slots.times
    if times.start is None:
        if times.course:
            return _course(slots)
        raise Refusal(
            f"A change needs a time to begin with, as in “how has latency changed since monday”: {HOW_TO_SAY}."
        )
    _refuse_what_has_no_course(slots)
    metrics = slots.metrics or [m for m in (COMPARATIVES.get(slots.comparative),) if m]
    if len(metrics) != 1:
        since = f"since {in_sql(times.start)}"
        labels = [catalog.entry(m).label for m in metrics[:3]] or ["latency", "AUC", "memory"]
        raise Ambiguity("The change of what?", tuple(f"how has {label} changed {since}" for label in labels))
    if times.end:
        slots.filters.append(Filter("started_at", "<", (in_sql(times.end),)))
    if in_sql(times.start) not in times.phrase:
        slots.notes.append(f"“{times.phrase}” begins {in_sql(times.start)} UTC")
    spec = bare(slots, "change", (Metric(metrics[0]),), slots.dimensions("method"))
    return replace(spec, source="history", split=in_sql(times.start), claim=_CLAIMS.get(slots.comparative), order=())


def add_span(slots: Slots) -> None:
    """Filter by the span that the question names, and say which it is."""
    start, end = slots.times.start, slots.times.end
    ends = []
    if start:
        slots.filters.append(Filter("started_at", ">=", (in_sql(start),)))
        ends.append(f"from {in_sql(start)}")
    if end:
        slots.filters.append(Filter("started_at", "<", (in_sql(end),)))
        ends.append(f"{'to' if start else 'before'} {in_sql(end)}")
    slots.notes.append(f"“{slots.times.phrase}” is {' '.join(ends)} UTC")


def _refuse_what_has_no_course(slots: Slots) -> None:
    if slots.superlative or slots.count or slots.failures or slots.than:
        raise Refusal(
            "A ranking, a number of trials or a comparison with the baseline cannot be followed through time in words: "
            "ask for a metric, as in “latency of hashed over time” or “how has the speedup of hashed changed since "
            "monday”."
        )

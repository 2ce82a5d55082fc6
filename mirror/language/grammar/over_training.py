"""Questions about the course of a training: the loss, the AUC or the live dimensions step by step."""

from dataclasses import replace

from mirror.language.grammar.choices import scope_in_words
from mirror.language.grammar.slots import OWN_CURVES, Slots, bare
from mirror.query.curves import BENCHMARK
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import Filter, Metric, QuerySpec
from mirror.schema.views import is_curve_name


def spec_of(slots: Slots) -> QuerySpec | None:
    """The bare QuerySpec of a question about training curves; None when it is about something else.

    Raises Refusal or Ambiguity.
    """
    if not slots.over_training and not slots.curves:
        return None
    if slots.superlative or slots.count or slots.failures or slots.than or slots.changed or slots.within is not None:
        raise Refusal(
            "A ranking, a number of trials or a comparison with the baseline cannot be followed through training in "
            "words: ask for what is recorded, as in “loss over training for hashed”."
        )
    names = tuple(dict.fromkeys([*slots.curves, *(OWN_CURVES.get(m, m) for m in slots.metrics)]))
    if not names:
        about = scope_in_words(slots)
        raise Ambiguity(
            "What should be followed over training?", (f"loss over training{about}", f"AUC over training{about}")
        )
    slots.filters[:] = [f for f in slots.filters if f != Filter("benchmark", "=", (BENCHMARK,))]
    slots.filters.insert(0, Filter("metric", "=" if len(names) == 1 else "in", names))
    ends = slots.final and not slots.over_training
    several = ("metric",) if len(names) > 1 else ()
    named = None if several or not is_curve_name(names[0]) else names[0]
    metric = Metric("value", slots.aggregate or "avg", named)
    dimensions = slots.dimensions(*several) if ends else slots.dimensions("step", *several)
    spec = bare(slots, "groups", (metric,), dimensions)
    if ends:
        return replace(spec, source="curves", last=True)
    chart = spec.chart if spec.chart.type else replace(spec.chart, type="line")
    return replace(spec, source="curves", chart=chart)

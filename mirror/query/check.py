"""What a QuerySpec must be beyond the types of its fields to compile to a statement that runs."""

import difflib
from typing import Any

from mirror.query.change import change_columns, relative_columns
from mirror.query.spec import QuerySpec
from mirror.schema import catalog
from mirror.schema.views import KNOWN_COLUMNS

MAX_TEXT = 300
INT64 = 2**63
_MOST_NAMES = 24  # in a sentence


class SpecError(ValueError):
    """No QuerySpec that can be answered; the message is one sentence that names the place and what is allowed."""


def check(spec: QuerySpec) -> None:
    """Raises SpecError where the parts of a spec do not go together."""
    _shape(spec)
    _comparison(spec)
    _names(spec)


def _shape(spec: QuerySpec) -> None:
    """A shape has the fields that it cannot do without."""
    needed = {"points": ("metrics",), "groups": ("metrics",), "best": ("metrics", "order")}
    needed |= {"ranking": ("metrics", "order", "limit"), "change": ("metrics", "split"), "front": ("metrics",)}
    needed |= {"relative": ("metrics", "against")}
    for name in needed.get(spec.shape, ()):
        if not getattr(spec, name):
            raise SpecError(f"{name} is missing, and the shape {spec.shape} needs it.")
    if spec.shape in ("points", "rows"):
        for i, metric in enumerate(spec.metrics):
            if metric.aggregate:
                raise SpecError(
                    f"metrics[{i}].aggregate is null for the shape {spec.shape}, which shows single trials."
                )
    elif spec.shape in ("best", "ranking"):
        leading = spec.metrics[0]
        if spec.order[0].column not in (leading.alias, leading.column):
            raise SpecError(
                f"order[0].column: the shape {spec.shape} is ordered by its leading metric {leading.alias}."
            )
    for i, name in enumerate(spec.partitions):
        if name not in spec.dimensions:
            raise SpecError(f"partitions[{i}]: {name} is not among the dimensions; add it there too.")
    if spec.keep_baseline and "is_baseline" not in KNOWN_COLUMNS[spec.source]:
        raise SpecError(f"keep_baseline is false for {spec.source}, which does not know the baseline.")


def _comparison(spec: QuerySpec) -> None:
    """What is compared with another time or with the baseline can be."""
    known = KNOWN_COLUMNS[spec.source]
    if spec.shape == "change":
        if spec.source not in ("history", "results"):
            raise SpecError(f"source: the shape change reads history, not {spec.source}.")
        if len(spec.metrics) > 1 or spec.metrics[0].aggregate not in (None, "median"):
            raise SpecError("metrics: the shape change takes one metric, with the aggregate null.")
    elif spec.split:
        raise SpecError(f"split is null for the shape {spec.shape}; it goes with the shape change.")
    if spec.verdicts and ("verdict" not in known or spec.shape in ("count", "rows", "change")):
        raise SpecError(f"verdicts is false for the shape {spec.shape} of {spec.source}.")
    if spec.within is not None and ("auc" not in known or spec.shape in ("count", "rows", "change")):
        raise SpecError(f"within is null for the shape {spec.shape} of {spec.source}.")
    told = ("change", "relative", "front")
    if spec.claim and not (spec.verdicts if spec.claim in ("faster", "slower") else spec.shape in told):
        raise SpecError(
            f"claim: {spec.claim} does not fit; faster and slower go with verdicts, better and worse with change and "
            "relative."
        )
    _groups(spec)


def _groups(spec: QuerySpec) -> None:
    """Groups that are held against one another, counted or explained have what that takes."""
    if spec.shape == "front" and (
        len(spec.metrics) != 2 or not all(catalog.entry(m.column).better for m in spec.metrics)
    ):
        raise SpecError("metrics: the shape front takes two metrics, each with a direction that is better.")
    if spec.against and (spec.shape != "relative" or spec.against.operator != "="):
        raise SpecError("against goes with the shape relative, and has the operator =.")
    if spec.shape == "relative" and spec.against and spec.against.column not in spec.dimensions:
        raise SpecError(f"against: {spec.against.column} is not among the dimensions; add it there too.")
    if spec.shape == "relative" and (
        bad := [m.column for m in spec.metrics if m.column not in KNOWN_COLUMNS["results"]]
    ):
        raise SpecError(f"metrics: {bad[0]} is no metric of a trial, which the shape relative compares.")
    if spec.inverse and spec.shape != "relative":
        raise SpecError(f"inverse is false for the shape {spec.shape}; it goes with relative.")
    if spec.distinct and spec.shape != "count":
        raise SpecError(f"distinct is null for the shape {spec.shape}; it goes with count.")
    if spec.last and spec.source != "curves":
        raise SpecError(f"last is false for the source {spec.source}; it goes with curves.")
    if spec.explain and spec.shape != "groups":
        raise SpecError(f"explain is false for the shape {spec.shape}; it goes with groups.")


def _names(spec: QuerySpec) -> None:
    """A result's columns have different names, and a sort key is one of them."""
    aliases = [m.alias for m in spec.metrics]
    for place, names in (("metrics", aliases), ("dimensions", spec.dimensions), ("partitions", spec.partitions)):
        twice = [n for i, n in enumerate(names) if n in names[:i]]
        if twice:
            raise SpecError(f"{place} names {twice[0]} twice.")
    both = [n for n in aliases if n in spec.dimensions]
    if both:
        raise SpecError(f"{both[0]} is among the metrics and the dimensions: keep it in one of them.")
    results = list(spec.dimensions)
    if spec.shape == "count":
        results.append("trials" if spec.distinct in (None, *spec.dimensions) else f"count_{spec.distinct}")
    elif spec.shape == "change":
        results += vars(change_columns(spec.metrics[0].column)).values()
    elif spec.shape in ("points", "rows"):
        results += [c for c in KNOWN_COLUMNS[spec.source] if c not in results]
    else:
        results += [*aliases, *(m.column for m in spec.metrics), "n"]
        leading = spec.metrics[0]
        results += [f"stddev_{leading.name or leading.column}"] if spec.metrics[0].aggregate in (None, "avg") else []
        results += ["speedup_ci_low", "speedup_ci_high", "verdict"] if spec.verdicts else []
        if spec.shape == "relative":
            results += [n for m in spec.metrics for n in vars(relative_columns(m.column, spec.inverse)).values()]
    for i, order in enumerate(spec.order):
        if order.column not in results:
            raise SpecError(
                f"order[{i}].column: the result has no column {short(order.column)}"
                f"{nearest(order.column, tuple(results))}."
            )


# -- in a sentence -------------------------------------------------------------------------------------------------


def nearest(name: str, allowed: tuple[str, ...]) -> str:
    """What an unknown name may have meant, to end a sentence with."""
    near = difflib.get_close_matches(name[:MAX_TEXT].lower(), allowed, n=1, cutoff=0.5)
    if near:
        return f"; the nearest is {near[0]}"
    more = f" and {len(allowed) - _MOST_NAMES} more" if len(allowed) > _MOST_NAMES else ""
    return f"; there are {', '.join(allowed[:_MOST_NAMES])}{more}"


def short(value: Any) -> str:
    """A value as an error shows it: quoted, on one line, short."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= INT64:
        return "a number of that size"  # Python refuses to print the largest ones
    text = ascii(value) if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

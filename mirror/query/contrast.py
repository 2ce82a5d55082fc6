"""The axis whose values a question holds against one another: "cold vs warm", "dim 16 vs dim 64"."""

from db.columns import AXES
from mirror.query.spec import QuerySpec, Question
from mirror.table.values import Value

# Methods have sentences and colours of their own; numbers of different tasks are not compared.
_OTHERS = ("method", "benchmark", "op", "dataset", "seed")


def contrasted(spec: Question | None) -> str | None:
    """The axis of groups or points that two or more values are named of, one of text before one of numbers; else None.

    Where two methods are named they are what is compared, and the axis only parts them.
    """
    if not isinstance(spec, QuerySpec) or spec.shape not in ("groups", "points"):
        return None
    if spec.source != "results" or spec.explain or spec.claim:
        return None
    several = {f.column: f.values for f in spec.filters if f.operator == "in" and len(f.values) > 1}
    if "method" in several:
        return None
    found = [c for c in several if (c in AXES or c == "machine") and c not in _OTHERS]
    return next((c for c in found if isinstance(several[c][0], str)), found[0] if found else None)


def held_against(spec: QuerySpec) -> tuple[Value, ...]:
    """The values of the contrasted axis in the order of the question; empty for a course along three numbers or more.

    The last of them is what the others are held against.
    """
    axis = contrasted(spec)
    values = next((f.values for f in spec.filters if f.column == axis and f.operator == "in"), ())
    return values if len(values) == 2 or all(isinstance(v, str) for v in values) else ()

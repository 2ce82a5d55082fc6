"""Questions to click that keep what else was said: "AUC of hashed on frappe at compression 0.1"."""

from mirror.language.grammar.slots import Slots
from mirror.query.errors import Ambiguity
from mirror.schema import catalog

_BETWEEN = {"=": "", "in": "", "<>": "not ", "not in": "not ", "<": "under ", "<=": "at most ", ">": "above "}


def scope_in_words(slots: Slots) -> str:
    """What the question keeps to, in words that are read back the same: " for hashed on frappe at dim 16", or ""."""
    words = []
    for f in slots.filters:
        entry = catalog.entry(f.column)
        sign = _BETWEEN.get(f.operator, "at least ")
        values = " and ".join(f"{v:g}" if isinstance(v, float) else f"{v}" for v in f.values)
        if f.column == "method":
            words.append((0, f"for {sign}{values}"))
        elif f.column == "dataset":
            words.append((1, f"on {sign}{values}"))
        elif f.column == "benchmark":
            words.append((2, f"in {sign}{values}"))
        elif entry.type == "text":
            words.append((3, f"{sign}{entry.label} {values}"))
        elif f.column == "memory_mb":
            words.append((5, f"with memory {sign or 'at most '}{values} MB"))
        elif entry.role == "axis":
            words.append((4, f"at {entry.label} {sign}{values}"))
    return "".join(f" {phrase}" for _, phrase in sorted(words, key=lambda w: w[0]))


def nothing_asked(slots: Slots) -> Ambiguity:
    """What to show is not said: quality, memory or speed, of what the question is about."""
    about = scope_in_words(slots)
    axes = [catalog.entry(d).label for d in slots.dimensions() if d != "method"]
    if axes:
        by = f" by {' and '.join(axes)}"
        choices = (f"AUC{by}{about}", f"memory{by}{about}", f"latency{by}{about}")
    elif {f.column for f in slots.filters} - {"method"}:
        choices = (f"AUC by method{about}", f"memory by method{about}", f"latency by method{about}")
    else:
        choices = (f"AUC by compression{about}", f"memory vs AUC{about}", f"latency by batch size{about}")
    return Ambiguity("What should be shown: quality, memory or speed?", choices)


def best_by_what(what: str, slots: Slots) -> Ambiguity:
    """The best, or the top of a list, is not said to be the best of what."""
    methods, baseline = slots.methods(), str(catalog.words()["baseline"])
    others = [m for m in methods if m != baseline]
    if slots.recommend and len(others) == 1:  # "is hashed worth it": beside what it stands in for
        axes = [catalog.entry(d).label for d in slots.dimensions() if d != "method"]
        if axes:  # "is a larger dim worth it for hashed"
            return nothing_asked(slots)
        rest = scope_in_words(slots).replace(f" for {' and '.join(methods)}", "")
        return Ambiguity(
            f"Is {others[0]} judged by its quality, its memory or its speed?",
            tuple(f"{m} of {others[0]} compared to {baseline}{rest}" for m in ("AUC", "memory", "latency")),
        )
    about = scope_in_words(slots)
    return Ambiguity(
        f"By what should {what} be chosen?",
        (
            f"which method has the best AUC{about}?",
            f"which method has the smallest memory{about}?",
            "which method has the fastest lookups?" if not about else f"which method has the lowest latency{about}?",
        ),
    )

"""Whether one method is said to be the best: "is hashed the fastest", "fiited has the best AUC" rank it among all."""

from mirror.language.grammar.binding import SUPERLATIVES
from mirror.language.grammar.lexicon import Item
from mirror.language.grammar.slots import Slots

_OPENING = ("is", "was", "does", "did", "do", "has")
_HAVING = ("has", "have", "is", "was", "gives", "gets", "achieves", "reaches", "offers", "provides")
_ASKING = ("which", "what", "where", "when", "how")


def claimed(items: list[Item]) -> str | None:
    """The method of which a question, cut into items with its fillers, claims a superlative; None for none."""
    if any(item.kind == "filler" and item.text in _ASKING for item in items):
        return None
    at = next((i for i, item in enumerate(items) if item.is_cue(*SUPERLATIVES)), 0)
    between: list[str] = []
    for item in reversed(items[:at]):
        if item.kind == "value" and item.name == "method":
            opens = items[0].text in _OPENING
            return str(item.value) if opens or any(word in _HAVING for word in between) else None
        if item.kind != "filler":
            return None
        between.append(item.text)
    return None


def among_all(slots: Slots, method: str) -> None:
    """Rank all methods where the question claims of one of them that it is first."""
    if slots.methods() != [method] or slots.dimensions() or slots.limit or slots.against or slots.failures:
        return
    slots.filters[:] = [f for f in slots.filters if f.column != "method"]
    slots.named.append("method")
    slots.notes.append(f"{method} among all methods")

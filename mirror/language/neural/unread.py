"""What a line of actions leaves out of a question."""

from mirror.language.neural.action_language import Action
from mirror.language.neural.items import Items

NEGATIONS = frozenset(
    ("not", "no", "never", "without", "except", "excluding", "none", "neither", "nor", "w/o", "outside")
)
# Words of forms over other data that deny something.
OF_FORMS = frozenset(("not", "none", "<>", "null", "false", "not in", "-", "filled"))


def unread(
    items: Items, actions: tuple[Action, ...], denied_by: frozenset[str] = OF_FORMS, first: int = 0
) -> tuple[str, ...]:
    """Numbers, quoted texts, times and negations that a line of actions leaves out, from the token `first` on."""
    used = [items.literals[a.item - items.first_literal] for a in actions if a.item >= items.first_literal]
    taken = {at for literal in used for at in range(literal.start, literal.end)}
    found = []
    for literal in (k for k in items.literals if k.start >= first):
        said = set(range(literal.start, literal.end))
        if literal.kind in ("number", "text", "time") and not said & taken:
            token = items.tokens[literal.start]
            if token.kind in ("number", "quoted", "date") or literal.kind == "time":
                found.append(" ".join(t.text for t in items.tokens[literal.start : literal.end]))
                taken |= said
    denied = any(a.word in denied_by for a in actions) or any(literal.link and not literal.value for literal in used)
    found += [t.text for t in items.tokens[first:] if t.text in NEGATIONS and not denied]
    return tuple(dict.fromkeys(found))

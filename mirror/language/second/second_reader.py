"""Questions read by the network alone: forms with what they leave unread."""

from dataclasses import dataclass
from datetime import datetime

from mirror.language.second.form_actions import Action, Inexpressible, Reader
from mirror.language.second.items import Items, items_of
from mirror.language.second.network import trained
from mirror.query.errors import Refusal
from mirror.query.other_data.build import Built, build
from mirror.query.other_data.form import Asked
from mirror.schema.database import Database

_NEGATIONS = frozenset(("not", "no", "never", "without", "except", "excluding", "none", "neither", "nor", "w/o"))
_DENIED = frozenset(("not", "none", "<>", "null", "false", "not in", "-", "filled"))
BEAM = 4


@dataclass(frozen=True)
class SecondReading:
    """One reading of the network.

    Attributes:
        asked: the form.
        built: its SQL.
        score: logarithm of its probability.
        unread: numbers, quoted texts and negations that it leaves out.
    """

    asked: Asked
    built: Built
    score: float
    unread: tuple[str, ...]


def second_readings(question: str, database: Database, now: datetime, beam: int = BEAM) -> list[SecondReading]:
    """The likeliest readings, the likeliest first; none where no network ships or nothing can be built."""
    network = trained()
    if network is None:
        return []
    items = items_of(question, database, now)
    if not items.tokens:
        return []
    found: dict[Asked, SecondReading] = {}
    for line in network.lines(items, beam):
        try:
            asked = Reader(line.actions, items, database).asked()
            built = build(asked, database)
        except (Inexpressible, Refusal, KeyError, IndexError, ValueError):
            continue
        found.setdefault(asked, SecondReading(asked, built, line.score, _unread(items, line.actions)))
    return list(found.values())


def _unread(items: Items, actions: tuple[Action, ...]) -> tuple[str, ...]:
    used = [items.literals[a.item - items.first_literal] for a in actions if a.item >= items.first_literal]
    taken = {at for literal in used for at in range(literal.start, literal.end)}
    found = []
    for literal in items.literals:
        said = set(range(literal.start, literal.end))
        if literal.kind in ("number", "text", "time") and not said & taken:
            token = items.tokens[literal.start]
            if token.kind in ("number", "quoted", "date") or literal.kind == "time":
                found.append(" ".join(t.text for t in items.tokens[literal.start : literal.end]))
                taken |= said
    denied = any(a.word in _DENIED for a in actions) or any(literal.link and not literal.value for literal in used)
    found += [t.text for t in items.tokens if t.text in _NEGATIONS and not denied]
    return tuple(dict.fromkeys(found))

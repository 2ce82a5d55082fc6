"""Questions read by the network alone: forms with what they leave unread."""

from dataclasses import dataclass, replace
from datetime import datetime

from mirror.language.reading.held import is_contradiction, parts_of
from mirror.language.second.form_actions import Action, Inexpressible, Reader
from mirror.language.second.items import Items, items_of
from mirror.language.second.network import trained
from mirror.query.errors import Refusal
from mirror.query.other_data.build import Built, build
from mirror.query.other_data.counted_once import is_counted_once
from mirror.query.other_data.form import Asked, Predicate
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
            if _is_idle(asked) or is_contradiction(asked) or not is_counted_once(asked, database):
                continue
        except (Inexpressible, Refusal, KeyError, IndexError, ValueError):
            continue
        found.setdefault(asked, SecondReading(asked, built, line.score, _unread(items, line.actions)))
    return list(found.values())


def _is_idle(asked: Asked) -> bool:
    """Whether a part says nothing: a group twice, a number divided by itself, a column compared with itself."""
    halves = [(replace(m, over=None, minus=None), m.over or m.minus) for m in asked.measures]
    compared = [p.place in p.values for p in parts_of(asked, Predicate)]
    return len(set(asked.groups)) < len(asked.groups) or any(one == other for one, other in halves) or any(compared)


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

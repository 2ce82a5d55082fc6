"""Forms of other data that are switched off: a question that only such a form says is read otherwise, or not at all."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mirror.evaluation.ablations.swapped import Swap
from mirror.language.reading.held import parts_of
from mirror.query.errors import Refusal
from mirror.query.other_data import build as building
from mirror.query.other_data.form import Asked, ColumnRef, Mean, Measure, Predicate
from mirror.schema.database import Database

Build = Callable[[Asked, Database], Any]


def _parts(asked: Asked) -> Iterator[Measure]:
    return (part for measure in asked.measures for part in measure.parts)


def _compared(asked: Asked, kind: type) -> bool:
    return any(isinstance(value, kind) for p in parts_of(asked, Predicate) for value in p.values)


def _has_role(asked: Asked) -> bool:
    by_role = [place.role for place in parts_of(asked, ColumnRef)]
    by_role += [group.role for group in asked.groups]
    return any(role is not None for role in (*by_role, *(presence.role for presence in asked.presences)))


# Name of a form -> whether a query has it.
FORMS: Mapping[str, Callable[[Asked], bool]] = {
    "first-places": lambda a: a.limit is not None or a.ties,
    "later-places": lambda a: a.offset > 0,
    "top-per-group": lambda a: a.per > 0,
    "absence": lambda a: any(p.absent for p in a.presences),
    "presence": lambda a: any(not p.absent for p in a.presences),
    "group-limits": lambda a: bool(a.having),
    "ratios": lambda a: a.of_total or any(m.over for m in a.measures),
    "differences": lambda a: any(m.minus for m in a.measures),
    "counted-if": lambda a: any(part.conditions for part in _parts(a)),
    "products": lambda a: any(len(part.factors) > 1 for part in _parts(a)),
    "time-between": lambda a: any(part.until for part in _parts(a)),
    "of-groups": lambda a: a.count_groups or a.outer is not None,
    "above-mean": lambda a: _compared(a, Mean),
    "two-columns": lambda a: _compared(a, ColumnRef),
    "spans-of-time": lambda a: any(g.bucket for g in a.groups),
    "roles": _has_role,
    "ways": lambda a: bool(a.via),
}


def unused(form: str) -> Swap:
    """Off: no statement is made of a query of this form, so both readers leave it out and go on with their next."""

    def instead(original: Build) -> Build:
        def build(asked: Asked, database: Database) -> Any:
            if FORMS[form](asked):
                raise Refusal("Queries of this form are switched off.")
            return original(asked, database)

        return build

    return Swap(building, "build", instead)


def noted(seen: set[str]) -> Swap:
    """On, with the names of the forms for which a statement was tried."""

    def instead(original: Build) -> Build:
        def build(asked: Asked, database: Database) -> Any:
            seen.update(name for name, holds in FORMS.items() if name not in seen and holds(asked))
            return original(asked, database)

        return build

    return Swap(building, "build", instead)

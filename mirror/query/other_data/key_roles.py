"""Which foreign key is meant where several lead to one table: the airport of origin, or of destination."""

from dataclasses import replace
from itertools import islice, product

from mirror.query.other_data import paths
from mirror.query.other_data.form import Asked, ColumnRef, GroupBy
from mirror.schema.database import Database, ForeignKey
from mirror.schema.names import role_words

Role = ForeignKey | None
_MOST = 4  # forms


def roles(database: Database, start: str, table: str, role: Role, via: tuple[str, ...] = ()) -> list[Role]:
    """The foreign keys that may be meant; the given one alone where it says enough. Empty where nothing tells them."""
    ways = paths.shortest(database, start, table, role, via)
    if len(ways) <= 1:
        return [role] if ways else []
    last = [way[-1].link for way in ways]
    if len(set(last)) < len(ways) or len({way[:-1] for way in ways}) > 1 or not all(way[-1].up for way in ways):
        return []
    plain = [link for link in last if not role_words(database, link)]
    return list(plain if len(plain) == 1 else last)  # `department_id` beside `former_department_id`


def each_role(asked: Asked, database: Database) -> list[Asked]:
    """The form by each foreign key that its groups and conditions may mean; the form alone where they are clear."""
    start = asked.measures[0].table if asked.measures else asked.table

    def of_group(group: GroupBy) -> list[GroupBy]:
        if group.place is not None:
            return [replace(group, place=place) for place in of_place(group.place)]
        found = roles(database, start, group.table, group.role, asked.via) or [group.role]
        return [replace(group, role=role) for role in found]

    def of_place(place: ColumnRef) -> list[ColumnRef]:
        found = roles(database, start, place.table, place.role, asked.via) or [place.role]
        return [replace(place, role=role) for role in found]

    groups = product(*map(of_group, asked.groups))
    conditions = [[replace(c, place=place) for place in of_place(c.place)] for c in asked.conditions]
    return [
        replace(asked, groups=by, conditions=where)
        for by, where in islice(product(groups, list(product(*conditions))), _MOST)
    ]


def without_roles(asked: Asked) -> Asked:
    """The form as it is whichever foreign keys are meant."""
    plain = [replace(g, role=None, place=g.place and replace(g.place, role=None)) for g in asked.groups]
    where = [replace(c, place=replace(c.place, role=None)) for c in asked.conditions]
    return replace(asked, groups=tuple(plain), conditions=tuple(sorted(where, key=repr)), notes=())

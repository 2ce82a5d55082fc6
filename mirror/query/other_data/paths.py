"""Ways from one table to another along foreign keys, and whether they would count a row several times."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, permutations, product

from mirror.schema.database import Database, ForeignKey

MOST_STEPS = 6
_MOST_WAYS = 50
_MOST_VIA = 3

Links = tuple[ForeignKey, ...]


@dataclass(frozen=True)
class Step:
    """One foreign key, walked `up` from the table that holds it to the one row it names, or down to the many."""

    link: ForeignKey
    up: bool

    @property
    def to(self) -> str:
        """The table it leads to."""
        return self.link.to if self.up else self.link.table

    @property
    def multiplies(self) -> bool:
        """Whether one row may become several."""
        return not self.up and not self.link.unique


Path = tuple[Step, ...]


def multiplies(path: Path) -> bool:
    """Whether a row at the start may meet several rows at the end."""
    return any(step.multiplies for step in path)


def turns_down(path: Path) -> bool:
    """Whether a path goes to a row that others share, and down again to what belongs to those: `orders of the same
    customer's country`. What is found there has little to do with the row it began with."""
    return any(step.up and later.multiplies for i, step in enumerate(path) for later in path[i + 1 :])


def shortest(
    database: Database, start: str, goal: str, role: ForeignKey | None = None, via: tuple[str, ...] = ()
) -> list[Path]:
    """All shortest ways, those that multiply rows least; empty where there is none.

    Args:
        role: the foreign key that leads to the goal, where several do.
        via: tables that the way must pass.
    """
    if role is not None:
        before = shortest(database, start, role.table, None, via) if start != role.table else [()]
        return [(*path, Step(role, True)) for path in before]
    if start == goal:
        return [()]
    further = tuple(table for table in via if table not in (start, goal))
    found = (
        _through(database.foreign_keys, start, goal, further) if further else _ways(database.foreign_keys, start, goal)
    )
    # Flights and staff meet in the crew, and not because both belong to a carrier.
    found = [path for path in found if not turns_down(path)] or found
    fewest = min((sum(step.multiplies for step in path) for path in found), default=0)
    return [path for path in found if sum(step.multiplies for step in path) == fewest]


def _through(foreign_keys: Links, start: str, goal: str, via: tuple[str, ...]) -> list[Path]:
    """The shortest ways that pass some tables, in whatever order, and none of them twice."""
    found: list[Path] = []
    for order in permutations(via[:_MOST_VIA]):
        stops = (start, *order, goal)
        for parts in product(*(_ways(foreign_keys, a, b) for a, b in pairwise(stops))):
            path = tuple(step for part in parts for step in part)
            if len({start, *(step.to for step in path)}) == len(path) + 1:
                found.append(path)
    least = min(map(len, found), default=0)
    return [path for path in found if len(path) == least]


@lru_cache(maxsize=4096)
def _ways(foreign_keys: Links, start: str, goal: str) -> list[Path]:
    """All shortest ways between two tables, found from the goal backwards; at most as many as can be asked about."""
    distances = _distances(foreign_keys, start)
    if goal not in distances:
        return []
    found: list[Path] = [()]
    here = [goal]
    for distance in range(distances[goal] - 1, -1, -1):
        longer: list[tuple[str, Path]] = []
        for table, path in zip(here, found, strict=True):
            for step in _steps_to(foreign_keys, table):
                before = step.link.table if step.up else step.link.to
                if distances.get(before) == distance:
                    longer.append((before, (step, *path)))
        longer = longer[:_MOST_WAYS]
        here, found = [table for table, _ in longer], [path for _, path in longer]
    return found


@lru_cache(maxsize=1024)
def _distances(foreign_keys: Links, start: str) -> dict[str, int]:
    """How many foreign keys each table is away, as far as anybody would ask."""
    found = {start: 0}
    level = [start]
    for distance in range(1, MOST_STEPS + 1):
        level = [step.to for table in level for step in _steps_from(foreign_keys, table) if step.to not in found]
        found |= dict.fromkeys(level, distance)
        level = list(dict.fromkeys(level))
    return found


@lru_cache(maxsize=4096)
def _steps_from(foreign_keys: Links, table: str) -> list[Step]:
    ups = [Step(link, True) for link in foreign_keys if link.table == table]
    return ups + [Step(link, False) for link in foreign_keys if link.to == table]


def _steps_to(foreign_keys: Links, table: str) -> list[Step]:
    """The steps that end at a table."""
    return [Step(step.link, not step.up) for step in _steps_from(foreign_keys, table)]


def reaches_up(database: Database, start: str, goal: str) -> bool:
    """Whether each row of one table has at most one row of the other, along some shortest way."""
    return any(not multiplies(path) for path in shortest(database, start, goal))

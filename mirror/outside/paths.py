"""Ways from one table to another along foreign keys, and whether they would count a row several times."""

from dataclasses import dataclass

from mirror.outside.tables import Database, Link

MOST_STEPS = 6


@dataclass(frozen=True)
class Step:
    """One foreign key, walked `up` from the table that holds it to the one row it names, or down to the many."""

    link: Link
    up: bool

    @property
    def to(self) -> str:
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
    database: Database, start: str, goal: str, role: Link | None = None, via: tuple[str, ...] = ()
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
    found: list[Path] = []
    level: list[Path] = [()]
    for _ in range(MOST_STEPS):
        level = [(*path, step) for path in level for step in _steps(database, start, path)]
        found = [path for path in level if path[-1].to == goal and set(via) <= _passed(start, path)]
        if found:
            break
    # Flights and staff meet in the crew, and not because both belong to a carrier.
    found = [path for path in found if not turns_down(path)] or found
    fewest = min((sum(step.multiplies for step in path) for path in found), default=0)
    return [path for path in found if sum(step.multiplies for step in path) == fewest]


def _steps(database: Database, start: str, path: Path) -> list[Step]:
    here = path[-1].to if path else start
    passed = _passed(start, path)
    ups = [Step(link, True) for link in database.links if link.table == here and link.to not in passed]
    downs = [Step(link, False) for link in database.links if link.to == here and link.table not in passed]
    return ups + downs


def _passed(start: str, path: Path) -> set[str]:
    return {start, *(step.to for step in path)}


def reaches_up(database: Database, start: str, goal: str) -> bool:
    """Whether each row of one table has at most one row of the other, along some shortest way."""
    return any(not multiplies(path) for path in shortest(database, start, goal))

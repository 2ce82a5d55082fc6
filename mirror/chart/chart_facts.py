"""What the rules of charts ask of a result, computed once."""

from collections.abc import Iterable
from dataclasses import dataclass

from mirror.query.roles import Roles, differing, keys_in_order, roles_of
from mirror.query.spec import Question, Shape
from mirror.table.table import Domain, Table

_VALUES_OF_A_LINE = 3


@dataclass(frozen=True)
class Facts:
    """What there is to draw.

    Attributes:
        table: the result.
        roles: its columns by use.
        keys: the dimensions in which the rows differ, those of all where the row cap cut the result, what was asked for
            first.
        parameters: those with enough numbers for an axis.
        times: times that differ.
        shape: what kind of question it answers; None for edited SQL.
        asked: the columns of the result that answer the question, numbers or not.
    """

    table: Table
    roles: Roles
    keys: tuple[str, ...]
    parameters: tuple[str, ...]
    times: tuple[str, ...]
    shape: Shape | None = None
    asked: tuple[str, ...] = ()

    @property
    def metrics(self) -> tuple[str, ...]:
        """The numbers to draw, the leading one first."""
        return self.roles.metrics

    @property
    def metric(self) -> str | None:
        """The leading one."""
        return next(iter(self.metrics), None)

    @property
    def lead(self) -> str | None:
        """The axis whose values are held against one another."""
        return self.roles.lead

    @property
    def domain(self) -> Domain:
        """Whose data they are."""
        return self.table.domain

    @property
    def rival(self) -> str | None:
        """The column whose values compete with one another, where the rows hold several of them."""
        return next((k for k in self.keys if k == self.domain.rival), None)

    def size(self, column: str) -> int:
        """The number of different values."""
        return len(self.table.values(column).different)

    def few(self, columns: Iterable[str], most: int) -> list[str]:
        """The columns with at most so many different values."""
        return [c for c in columns if self.size(c) <= most]


def facts_of(table: Table, spec: Question | None = None) -> Facts:
    """The facts of a result; without a question the use of its columns is as they say themselves."""
    roles = roles_of(table, spec)
    keys = tuple(keys_in_order(table.everything, roles))
    asked = tuple(c for c in spec.drawn if c in table.names) if spec else ()
    times = tuple(differing(table, roles.times))
    return Facts(table, roles, keys, _parameters(table, roles, keys), times, spec.shape if spec else None, asked)


def _parameters(table: Table, roles: Roles, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Parameters with enough values for an axis; where an axis leads, along which two of its values can be seen."""
    wide = [k for k in keys if k in roles.parameters and len(table.values(k).numbers) >= _VALUES_OF_A_LINE]
    if not roles.lead or roles.lead in wide:
        return tuple(wide)
    leading = table.values(roles.lead)

    def shared(key: str) -> int:
        pairs = set(zip(table.values(key), leading, strict=True))
        places = [v for v, _ in pairs if v is not None]
        return sum(places.count(v) > 1 for v in set(places))

    return tuple(k for k in wide if shared(k) >= _VALUES_OF_A_LINE)

"""Which value stood with which method: "hashed at 0.1 vs small_dim at 0.5" must not become all four of them."""

from mirror.query.errors import Refusal
from mirror.query.spec import Filter
from mirror.schema import catalog
from mirror.table.values import Value

_SIDED = ("method", "machine", "dataset")  # besides axes: what two sides of a comparison may each have their own of


class Sides:
    """The values that were said beside each method.

    A value belongs to the method before it, or, where the first value of its axis stands before any method, to the
    method behind it.
    """

    def __init__(self) -> None:
        self._method = ""  # the one that was named last
        self._beside: dict[str, dict[str, frozenset[Value]]] = {}  # axis -> method -> values
        self._ahead: dict[str, tuple[Value, ...]] = {}  # axis -> values whose method is still to come
        self._leading: set[str] = set()  # axes whose values stand before their method

    def add(self, filters: tuple[Filter, ...]) -> None:
        """Take what was said next. Raises Refusal where two methods have values of their own on one axis."""
        for f in filters:
            sided = f.column in _SIDED or catalog.entry(f.column).role == "axis"
            if f.operator not in ("=", "in") or not sided:
                continue
            if f.column == "method":
                self._method = str(f.values[0])
                for column, values in self._ahead.items():
                    self._put(column, values)
                self._ahead = {}
            elif self._method and f.column not in self._leading:
                self._put(f.column, f.values)
            else:
                self._leading.add(f.column)
                self._ahead[f.column] = (*self._ahead.get(f.column, ()), *f.values)

    def _put(self, column: str, values: tuple[Value, ...]) -> None:
        own = self._beside.setdefault(column, {})
        own[self._method] = own.get(self._method, frozenset()) | set(values)
        if len({*own.values()}) > 1:
            label = catalog.entry(column).label
            raise Refusal(
                f"Two methods with {label} of their own each cannot be asked for at once: ask for one after the other, "
                f"or for both by {label}."
            )

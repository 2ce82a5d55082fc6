"""The text that tells mirror::grouped_embedding and mirror::side_by_side what to do.

The ops parse it once and keep it by its text, so a plan holds nothing that changes between calls: no batch size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Mode = Literal["sum", "mean", "max", "row"]
MODES: tuple[Mode, ...] = ("sum", "mean", "max", "row")


@dataclass(frozen=True)
class View:
    """A slice of a tensor: `narrow(dim, start, length)`; `select(dim, start)` where there is no length."""

    dim: int
    start: int
    length: int | None = None

    def __str__(self) -> str:
        return f"{self.dim}:{self.start}" + ("" if self.length is None else f":{self.length}")


@dataclass(frozen=True)
class Source:
    """One of the tensors of a list, or a view of it."""

    tensor: int
    view: View | None = None

    def __str__(self) -> str:
        return f"{self.tensor}" if self.view is None else f"{self.tensor}@{self.view}"


@dataclass(frozen=True)
class Table:
    """What one table looks up.

    name: for error messages. ids: (B, L) without offsets, (N,) with them; any shape for mode row. padding:
    padding_idx, not negative. last: include_last_offset. sparse: a sparse gradient.
    """

    name: str
    ids: Source
    offsets: Source | None = None
    weights: Source | None = None
    mode: Mode = "sum"
    padding: int | None = None
    last: bool = False
    sparse: bool = False

    def __str__(self) -> str:
        name = "".join("_" if c.isspace() else c for c in self.name) or "_"
        return (
            f"table {name} ids={self.ids} offsets={_or_dash(self.offsets)} weights={_or_dash(self.weights)} "
            f"mode={self.mode} padding={_or_dash(self.padding)} last={self.last:d} sparse={self.sparse:d}"
        )


@dataclass(frozen=True)
class Extra:
    """A tensor that is no table's but part of a concatenation, by its place among such tensors."""

    index: int

    def __str__(self) -> str:
        return f"x{self.index}"


@dataclass(frozen=True)
class Output:
    """One table (out); tables and extras joined along their last dimension (cat), or (B, D) to (B, n, D) (stack)."""

    kind: Literal["out", "cat", "stack"]
    parts: tuple[int | Extra, ...]

    def __str__(self) -> str:
        return " ".join([self.kind, *map(str, self.parts)])


@dataclass(frozen=True)
class Plan:
    """A grouped embedding. Raises ValueError unless each table and each extra stands in exactly one output."""

    tables: tuple[Table, ...]
    outputs: tuple[Output, ...]

    def __post_init__(self) -> None:
        parts = [part for output in self.outputs for part in output.parts]
        tables = sorted(part for part in parts if isinstance(part, int))
        extras = sorted(part.index for part in parts if isinstance(part, Extra))
        if tables != list(range(len(self.tables))) or extras != list(range(len(extras))):
            raise ValueError("each table and each extra tensor must stand in exactly one output of the plan")

    def text(self) -> str:
        """One line per table, then one per output."""
        return "".join(f"{line}\n" for line in (*self.tables, *self.outputs))

    @classmethod
    def parse(cls, text: str) -> "Plan":
        """The plan whose `text()` this is. Raises ValueError naming the line that is wrong."""
        tables: list[Table] = []
        outputs: list[Output] = []
        for line in text.splitlines():
            try:
                if line.startswith("table "):
                    tables.append(_table(line))
                else:
                    outputs.append(_output(line))
            except (ValueError, KeyError, TypeError):  # the last one from a view of too few numbers
                raise ValueError(f"this line of a plan is wrong: {line!r}") from None
        return cls(tuple(tables), tuple(outputs))


@dataclass(frozen=True)
class Input:
    """An argument of an op that is a tensor, by its place in the list of inputs."""

    index: int


@dataclass(frozen=True)
class Branch:
    """One of the ops that run side by side: an aten op, and its arguments by position."""

    op: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.op}({', '.join(map(_argument, self.arguments))})"


def branches_text(branches: Sequence[Branch]) -> str:
    """One line per branch. Raises TypeError for an argument that has no place in a plan."""
    return "".join(f"{branch}\n" for branch in branches)


def _argument(value: Any) -> str:
    if isinstance(value, Input):
        return f"%{value.index}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_argument, value))}]"
    if isinstance(value, str):
        return f"'{value}'"
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    raise TypeError(f"{type(value).__name__} cannot be an argument in a plan")


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)


def _table(line: str) -> Table:
    _, name, *fields = line.split(" ")
    value = dict(field.split("=", 1) for field in fields)
    mode = next((mode for mode in MODES if mode == value["mode"]), None)
    table = Table(
        name=name,
        ids=_source(value["ids"]),
        offsets=None if value["offsets"] == "-" else _source(value["offsets"]),
        weights=None if value["weights"] == "-" else _source(value["weights"]),
        mode=mode or "sum",
        padding=None if value["padding"] == "-" else int(value["padding"]),
        last=value["last"] == "1",
        sparse=value["sparse"] == "1",
    )
    if str(table) != line:
        raise ValueError
    return table


def _source(text: str) -> Source:
    tensor, at, view = text.partition("@")
    return Source(int(tensor), View(*map(int, view.split(":"))) if at else None)


def _output(line: str) -> Output:
    kind, *parts = line.split(" ")
    for known in ("out", "cat", "stack"):
        if kind == known and parts and (kind != "out" or len(parts) == 1):
            return Output(known, tuple(Extra(int(part[1:])) if part[0] == "x" else int(part) for part in parts))
    raise ValueError

"""Checks of arguments: one clear sentence that names the argument, what it may be and what it was."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from torch import Tensor


def is_number(value: Any) -> bool:
    """Whether it is a real number, and not True or False."""
    return isinstance(value, Real) and not isinstance(value, bool)


def whole(name: str, value: Any, low: int, high: int | None = None) -> None:
    """Raises ValueError unless it is a whole number in the range, both ends included."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= (high or int(value)):
        limits = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be a whole number {limits}, not {value!r}")


def fraction(name: str, value: Any, below_one: bool = False) -> None:
    """Raises ValueError unless it is a number in [0, 1], or in [0, 1)."""
    if not is_number(value) or not (0 <= value < 1 if below_one else 0 <= value <= 1):
        raise ValueError(f"{name} must be a number in [0, 1{')' if below_one else ']'}, not {value!r}")


def choice(name: str, value: Any, known: Sequence[str]) -> None:
    """Raises ValueError unless it is one of the known words."""
    if value not in known:
        raise ValueError(f"{name} must be {', '.join(known[:-1])} or {known[-1]}, not {value!r}")


def per_table(input: Any, offsets: Any, tables: int | None) -> tuple[list[Tensor], list[Tensor | None]]:
    """Ids and offsets of each table; `tables` is None where one tensor is given, not a list. Raises ValueError and
    TypeError."""
    if tables is None:
        inputs, starts = [input], [offsets]
    else:
        inputs = [] if isinstance(input, Tensor) else list(input)
        starts = [offsets] if isinstance(offsets, Tensor) else list(offsets or ())
        for name, given, values in (("inputs", input, inputs), ("offsets", offsets, starts)):
            if len(values) != tables and (values or name == "inputs"):
                number = "one tensor" if isinstance(given, Tensor) else len(values)
                raise ValueError(f"there are {tables} tables: give a list of {tables} {name}, not {number}")
    for name, values in (("input", inputs), ("offsets", starts)):
        for tensor in values:
            if not isinstance(tensor, Tensor) and not (tensor is None and name == "offsets"):
                raise TypeError(f"{name} must be a tensor of ids, not {type(tensor).__name__}")
    return inputs, starts

"""Checks of arguments: one clear sentence that names the argument, what it may be and what it was."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any


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

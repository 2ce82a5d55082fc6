"""Stored trials as tables of Markdown, with intervals of 95 % over seeds."""

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from bench_engine.measure.ratios import student

Row = dict[str, Any]


def groups(rows: Iterable[Row], *axes: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by the values of axes, in order of these."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[axis] for axis in axes), []).append(row)
    return dict(sorted(found.items(), key=lambda item: tuple((value is not None, value or 0) for value in item[0])))


def of_seeds(values: Sequence[float | None], digits: int = 4, signed: bool = False) -> str:
    """Mean and half the width of its interval."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    mean = f"{statistics.fmean(known):{'+' if signed else ''}.{digits}f}"
    if len(known) == 1:
        return mean
    return f"{mean} ± {student(len(known) - 1) * statistics.stdev(known) / math.sqrt(len(known)):.{digits}f}"


def table(head: Sequence[Any], lines: Iterable[Sequence[Any]]) -> None:
    """Print it, and an empty line."""
    print("|", " | ".join(map(str, head)), "|")
    print("|" + "---|" * len(head))
    for line in lines:
        print("|", " | ".join(map(str, line)), "|")
    print()

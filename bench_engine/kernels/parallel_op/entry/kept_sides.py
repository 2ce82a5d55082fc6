"""Which way was kept for which calls of a served model, kept in a file for the processes to come.

A file for each model class and its tables, a line for each kind of calls: the lesson that was learnt, as a hash, the
calls, the side, and the times in µs that it rests on. A line counts only where this process has learnt the same lesson
from its own first call. Files that cannot be read, or written, are as if they were not there.
"""

import hashlib
import math
import os
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_FIRST_LINE = "mirror parallel_op sides 1"
_SIDES = ("untouched", "grouped", "compiled")
_MOST_LINES = 200


@dataclass(frozen=True)
class Remembered:
    """The side that was kept, and the times in µs of untouched, grouped and (0: not tried) compiled."""

    side: str
    times: tuple[float, float, float]


class Memory:
    """What earlier processes kept for a model."""

    def __init__(self, folder: Path | None, model: str, tables: Sequence[str], build: str) -> None:
        """model: its class, with the module. tables: what identifies them. build: of the kernels."""
        told = "\n".join((model, *tables, build))
        name = f"sides-{hashlib.sha256(told.encode()).hexdigest()[:16]}.txt"
        self._path = None if folder is None else folder / name
        self._head = f"{_FIRST_LINE}\t{model}"
        self._lock = threading.Lock()
        self._lines = self._read()

    def side(self, lesson: str, calls: str) -> Remembered | None:
        """What was kept for calls of this kind that this was learnt from; None where nothing was."""
        return self._lines.get((_hash(lesson), calls))

    def keep(self, lesson: str, calls: str, found: Remembered) -> None:
        """Keep it in the file, beside what other processes have put there meanwhile."""
        if self._path is None or "\t" in calls or "\n" in calls:
            return
        with self._lock, suppress(OSError):
            self._lines = {**self._read(), **self._lines, (_hash(lesson), calls): found}
            kept = list(self._lines.items())[-_MOST_LINES:]
            lines = [
                "\t".join((key, calls, one.side, *(f"{time:.1f}" for time in one.times))) for (key, calls), one in kept
            ]
            self._write("\n".join((self._head, *lines)) + "\n")

    def _write(self, text: str) -> None:
        assert self._path is not None
        self._path.parent.mkdir(parents=True, exist_ok=True)
        number, part = tempfile.mkstemp(dir=self._path.parent, prefix=self._path.name)
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                file.write(text)
            Path(part).replace(self._path)
        except OSError:
            Path(part).unlink(missing_ok=True)
            raise

    def _read(self) -> dict[tuple[str, str], Remembered]:
        if self._path is None:
            return {}
        try:
            head, *lines = self._path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError):
            return {}
        if head != self._head:
            return {}
        return dict(pair for pair in map(_parsed, lines) if pair is not None)


def _parsed(line: str) -> tuple[tuple[str, str], Remembered] | None:
    try:
        key, calls, side, *times = line.split("\t")
        untouched, grouped, compiled = map(float, times)
    except ValueError:
        return None
    if not all(0 <= time < math.inf for time in (untouched, grouped, compiled)):
        return None
    return ((key, calls), Remembered(side, (untouched, grouped, compiled))) if side in _SIDES else None


def _hash(lesson: str) -> str:
    return hashlib.sha256(lesson.encode()).hexdigest()[:16]

"""Which of the ready sweeps measure a value, so that an answer can say what to run for it."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from db import installation
from mirror.table.values import Value

_FOLDER = installation.path("sweeps")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def measuring(column: str, value: Value, folder: Path = _FOLDER) -> dict[str, tuple[str, ...]]:
    """Name of a sweep -> its benchmarks that measure this method, or this value of an axis; sorted by name.

    Only values that are written out count, not ranges to draw from. A file that cannot be read measures nothing: what
    is wrong with it is said where it is planned or run.
    """
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted(folder.glob("*.yaml")):
        for part in _parts(path):
            if value in _values(part, column):
                found[path.stem] = tuple(dict.fromkeys((*found.get(path.stem, ()), str(part.get("benchmark")))))
    return found


def _parts(path: Path) -> tuple[dict[str, Any], ...]:
    try:
        told = path.stat()
        return _read(path, told.st_mtime_ns, told.st_size)
    except (OSError, ValueError, yaml.YAMLError):
        return ()


@lru_cache(maxsize=256)
def _read(path: Path, changed_ns: int, size: int) -> tuple[dict[str, Any], ...]:
    return tuple(d for d in yaml.load_all(path.read_text(encoding="utf-8"), _Loader) if isinstance(d, dict))


def _values(part: dict[str, Any], column: str) -> list[Any]:
    """The values of an axis, or the methods, of one part."""
    given = part.get("parameters")
    axis = given.get(column) if isinstance(given, dict) else None
    if column == "method":
        axis = {"values": part.get("methods")}
    if not isinstance(axis, dict):
        return []
    values = axis.get("values")
    return values if isinstance(values, list) else [axis["value"]] if "value" in axis else []

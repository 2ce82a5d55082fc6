"""Data sets of one's own: CSV and Parquet files, which workers know by MIRROR_DATA_FILES.

Imports nothing heavy; how such a file is read is told in bench_engine.data.sets.own_table.
"""

import hashlib
import importlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, unquote_to_bytes, urlencode

from bench_engine.data import ClickData
from bench_engine.data.problems import DataFileError
from bench_engine.registry.datasets import DataSet

VARIABLE = "MIRROR_DATA_FILES"
_OF_FILE = "#"  # between a file and what is said of it
TEXT = "a file of one's own"


@dataclass(frozen=True)
class OwnTable(DataSet):
    """A file, and what its columns are; see bench_engine.data.sets.own_table.load.

    Attributes:
        name: of the file, with a hash of its content and of what is said of it: another content is another data set.
    """

    module: str = "bench_engine.data.sets.own_table"
    path: Path = Path()
    label: str = ""
    fields: tuple[str, ...] = ()
    liked: float | None = None
    time: str = ""

    def __str__(self) -> str:
        said = {"label": self.label, "fields": ",".join(map(quote, self.fields)), "time": self.time}
        said |= {} if self.liked is None else {"liked": repr(self.liked)}
        told = urlencode({key: value for key, value in said.items() if value})
        return f"{self.name}={quote(os.fsencode(self.path))}{_OF_FILE}{told}"

    @property
    def absent(self) -> str:
        """One sentence where the file is not there; empty where it is."""
        return "" if self.path.is_file() else f"There is no file {self.path}: see whether the path is right."

    def load(self) -> Any:
        """What has `load()`: the data, of the content that it was named by. Raises DataFileError there."""
        return _Loader(self)


@dataclass(frozen=True)
class _Loader:
    table: OwnTable

    def load(self) -> ClickData:
        own = self.table
        if own_table(own.path, own.label, own.fields, own.liked, own.time).name != own.name:
            raise DataFileError(f"{own.path.name} was changed after the run began: start the run again.")
        found: ClickData = importlib.import_module(own.module).load(
            own.name, own.path, own.label, own.fields, own.liked, own.time
        )
        return found


def own_table(
    path: Path, label: str, fields: tuple[str, ...] = (), liked: float | None = None, time: str = ""
) -> OwnTable:
    """A file as a data set; this process does not know it by that. Raises DataFileError."""
    path = path.expanduser().resolve()
    fields, liked = tuple(fields), None if liked is None else float(liked)
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
    except OSError as error:
        raise DataFileError(f"{path} cannot be read ({error.strerror}): name another file.") from error
    digest.update(repr((label, fields, liked, time)).encode())
    stem = re.sub(r"[^a-z0-9]+", "_", path.name.lower().partition(".")[0]).strip("_")[:40] or "file"
    name = f"{stem}_{digest.hexdigest()[:8]}"
    return OwnTable(name, TEXT, path=path, label=label, fields=fields, liked=liked, time=time)


def name_table(table: OwnTable) -> None:
    """Have the processes that this one starts know a file."""
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*_named(), str(table)]))


def named_tables() -> Iterator[OwnTable]:
    """Those that a process which started this one has looked at."""
    for text in _named():
        place, _, said = text.partition(_OF_FILE)
        name, _, path = place.partition("=")
        told = dict(parse_qsl(said))
        yield OwnTable(
            name,
            TEXT,
            path=Path(os.fsdecode(unquote_to_bytes(path))),
            label=told.get("label", ""),
            fields=tuple(map(unquote, filter(None, told.get("fields", "").split(",")))),
            liked=float(told["liked"]) if "liked" in told else None,
            time=told.get("time", ""),
        )


def _named() -> list[str]:
    return [text for text in os.environ.get(VARIABLE, "").split(os.pathsep) if text.strip()]

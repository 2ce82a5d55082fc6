"""The reader of a location. What a kind of location needs is imported with the first of that kind."""

import tempfile
from pathlib import Path

from mirror.data.sources.location import Location, SourceError
from mirror.data.sources.reader import Reader


def open_reader(location: Location, scratch: Path | None = None) -> Reader:
    """The reader of a location. Raises SourceError.

    Args:
        location: what to read.
        scratch: a folder for what memory does not hold, which is removed by whoever made it.
    """
    if location.kind == "sqlite":
        from mirror.data.sources.sqlite import SqliteReader

        return SqliteReader(location)
    if location.kind == "duckdb":
        from mirror.data.sources.duck import DuckReader

        return DuckReader(location)
    if location.kind == "files":
        from mirror.data.sources.files import FilesReader

        return FilesReader(location, scratch or Path(tempfile.mkdtemp(prefix="mirror-")))
    if location.kind in ("postgresql", "mysql"):
        from mirror.data.sources.servers import ServerReader

        return ServerReader(location)
    raise SourceError(f"Nobody knows how to read {location.name}.")

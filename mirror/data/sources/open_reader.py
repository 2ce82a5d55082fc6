"""The reader of a source. What a kind of source needs is imported with the first of that kind."""

import tempfile
from pathlib import Path

from mirror.data.sources.location import Source, SourceError
from mirror.data.sources.reader import Reader


def open_reader(source: Source, scratch: Path | None = None) -> Reader:
    """The reader of a source. Raises SourceError.

    Args:
        source: what to read.
        scratch: a folder for what memory does not hold, which is removed by whoever made it.
    """
    if source.kind == "sqlite":
        from mirror.data.sources.sqlite import SqliteReader

        return SqliteReader(source)
    if source.kind in ("duckdb", "files"):
        from mirror.data.sources import duck

        if source.kind == "duckdb":
            return duck.DuckReader(source)
        return duck.FilesReader(source, scratch or Path(tempfile.mkdtemp(prefix="mirror-")))
    if source.kind in ("postgresql", "mysql"):
        from mirror.data.sources.servers import ServerReader

        return ServerReader(source)
    raise SourceError(f"Nobody knows how to read {source.name}.")

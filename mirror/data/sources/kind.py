"""Whether a database holds results of Mirror's or somebody's own data."""

from mirror.data.sources import location as source
from mirror.data.sources.location import Source, SourceError

# A table and a view that every results store has, whatever its version.
_OURS = {"trials", "schema_migrations"}


def is_outside(url: str) -> bool:
    """Whether a URL or path names data that are no results of Mirror's, to be asked about by `mirror.ask`.

    CSV, Parquet, SQLite and MySQL always do. A PostgreSQL or DuckDB database does when it has tables, but not Mirror's.
    An empty one, a DuckDB file that is not there yet, and one that cannot be opened are left to the store, which makes
    them or says what is wrong. Raises SourceError for what cannot be read.
    """
    found = source.find(url)
    if found.kind in ("sqlite", "mysql", "files"):
        return True
    tables = _tables(found)
    return bool(tables) and not tables >= _OURS


def _tables(found: Source) -> set[str]:
    if found.kind == "postgresql":
        from mirror.data.sources.servers import ServerReader

        return ServerReader(found).names()
    if not found.paths[0].is_file():
        return set()
    from mirror.data.sources.duck import tables_of

    try:
        return tables_of(found)
    except SourceError:
        return set()

"""Whether a database holds results of Mirror's or other data."""

from db.settings import setting
from mirror.data.sources.location import Location, SourceError, find

# A table and a view that every results store has, whatever its version.
_OURS = {"trials", "schema_migrations"}
# Found to be other data: a file that cannot be opened at the moment, since somebody writes to it or it is gone, is what
# it was.
_found: set[Location] = set()


def find_other_data(named: str | None = None) -> Location | None:
    """Where the other data are that a URL or path names, or without one the setting MIRROR_DB; None for results.

    Files of tables, SQLite and MySQL always are other data. A PostgreSQL or DuckDB database is when it has tables, but
    not Mirror's. An empty one, a DuckDB file that is not there yet, and one that cannot be opened are left to the
    store, which makes them or says what is wrong. Raises SourceError for what cannot be read, and SettingsError.
    """
    if named:
        return _other_data(named)
    try:
        return _other_data(text) if (text := setting("MIRROR_DB")) else None
    except SourceError as error:
        raise SourceError(f"MIRROR_DB: {error}") from None


def _other_data(named: str) -> Location | None:
    location = find(named)
    if location.kind in ("sqlite", "mysql", "files"):
        return location
    tables = _tables(location)
    if not tables and location in _found:
        return location
    if not tables or tables >= _OURS:
        return None
    _found.add(location)
    return location


def _tables(location: Location) -> set[str] | None:
    """Names of the tables; None of a file that cannot be opened."""
    if location.kind == "postgresql":
        from mirror.data.sources.servers import ServerReader

        return ServerReader(location).names()
    if not location.paths[0].is_file():
        return set()
    from mirror.data.sources.duck import tables_of

    try:
        return tables_of(location)
    except SourceError:
        return None

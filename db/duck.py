"""A DuckDB file of results: which changes it has had, and what is wrong with it in a sentence that says what to do."""

import re
from pathlib import Path

import duckdb

# Of a file that is something else, was cut off or has changed on the disk.
_NOT_WHOLE = re.compile(
    "not a valid DuckDB database file|checksum|not read enough bytes|attempted to read|corrupt|deserializ",
    re.IGNORECASE,
)
_DISK_FULL = re.compile("No space left on device|quota", re.IGNORECASE)
_HELD = ("Could not set lock", "different configuration")  # by another process, or by this one in another way


def applied(file: duckdb.DuckDBPyConnection) -> set[str] | None:
    """Names of the changes that were made to the tables; None where there are no tables yet."""
    try:
        return {name for (name,) in file.execute("SELECT name FROM schema_migrations").fetchall()}
    except duckdb.CatalogException:
        return None


def is_busy(error: str) -> bool:
    """Whether the same attempt may succeed a moment later."""
    return any(text in error for text in _HELD)


def is_broken_log(error: str) -> bool:
    """Whether the file's write-ahead log cannot be replayed."""
    return "WAL" in error and ("replay" in error.lower() or "corrupt" in error.lower())


def sentence(name: str, path: Path, error: str) -> str:
    """What to do about an error of the file at `path`, which people know as `name`."""
    if _NOT_WHOLE.search(error):
        return (
            f"{name} is not a whole DuckDB file: move it away and run `python -m bench_engine ingest`, "
            "which rebuilds it from the journal."
        )
    if _DISK_FULL.search(error):
        return (
            f"The results {name} cannot be written, the disk is full: free space, or name another place with MIRROR_DB."
        )
    return f"The results at {name} cannot be used: {error.replace(str(path), name)}"


def busy_sentence(name: str, error: str, waited_s: float) -> str:
    """Who holds the file, after waiting for it."""
    holder = re.search(r"held in ([^\s(]+).*?\(PID (\d+)\)", error)
    who = f"{Path(holder[1]).name} (process {holder[2]})" if holder else "another process"
    return (
        f"The results file {name} is held by {who} and did not come free within {waited_s:.0f} s: "
        "close that program, or wait for it to end, and try again. Nothing is lost: "
        "finished trials are in the journal."
    )

"""What a process that holds data gives up for good: ways out of DuckDB, memory, files and sockets."""

import json
import sys

import duckdb

from mirror.data.plain_values import as_text

# What a connection is made with, so that it loads nothing.
SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "temp_directory": "",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
}


def lock(connection: duckdb.DuckDBPyConnection, memory_mb: int) -> None:
    """Take from the connection, for good, every way out of the snapshot; queries get `memory_mb` beside it.

    It was made with an empty temp_directory, which cannot be changed where a file that is attached has closed the rest.
    """
    row = connection.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchone()
    held_mb = int(row[0] or 0) // 1_000_000 + 1 if row else 0
    for setting in (
        f"memory_limit = '{held_mb + memory_mb}MB'",
        "TimeZone = 'UTC'",
        "python_enable_replacements = false",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")


def cap_memory(memory_mb: int) -> None:
    """Let the operating system refuse this process more than twice `memory_mb` beyond what it holds now (Linux only).

    Twice, since DuckDB's own limit answers with a better sentence and should be met first.
    """
    if sys.platform != "linux":
        return
    import resource

    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    cap = held + 2 * memory_mb * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (cap, cap))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def cap_files(most_mb: int) -> None:
    """No file that this process writes grows beyond this: a packed file of a megabyte may hold a disk full."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (most_mb * 1_000_000, most_mb * 1_000_000))


def close_the_door(connection: duckdb.DuckDBPyConnection) -> None:
    """From here on this process can open no file, no socket and no pipe, whatever gets past all else."""
    if sys.platform == "win32":
        return
    import resource

    # What binding or fetching a value loads when it is first met.
    connection.execute(
        "SELECT now(), DATE '2026-01-01', TIME '12:00', INTERVAL 1 DAY, 1::DECIMAL(9, 2), 'a'::BLOB, 1.5, uuid(), ?",
        ["a"],
    )
    json.dumps([as_text(value) for value in connection.fetchall()[0]])
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))

"""A DuckDB file as a crash and a bad disk leave it."""

import subprocess
import sys
from pathlib import Path


def break_log(path: Path, sql: str = "INSERT INTO samples SELECT 'x', range, 1.0, NULL FROM range(100)") -> None:
    """Leave the last transaction of a file in a log that will not replay."""
    code = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1])\n"
        "c.execute('PRAGMA disable_checkpoint_on_shutdown'); c.execute(sys.argv[2]); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path), sql], check=True)
    wal = path.with_name(path.name + ".wal")
    content = bytearray(wal.read_bytes())
    content[len(content) // 2] ^= 0xFF
    wal.write_bytes(content)

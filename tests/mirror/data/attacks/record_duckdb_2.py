"""Records how DuckDB 2.0 lays out the trees of statements, for test_duckdb_2: the guard must know both layouts.

    pip install --target /somewhere/duckdb2 duckdb==2.0.0
    PYTHONPATH=/somewhere/duckdb2 python -m tests.mirror.data.attacks.record_duckdb_2

Writes `trees_of_duckdb_2.json.gz` beside this file: the version, and what `json_serialize_sql` says of each statement.
"""

import gzip
import json
import sys
from pathlib import Path

import duckdb

from mirror.data.guard.duckdb import check_text
from mirror.data.guard.guard_errors import GuardError
from tests.mirror.data.attacks.statements import ATTACKS
from tests.mirror.data.test_guard import GOOD, HOSTILE

FILE = Path(__file__).with_name("trees_of_duckdb_2.json.gz")
_LONGEST = 300  # characters of a statement; trees of the longer ones are large and say nothing new


def statements() -> list[str]:
    """What is recorded: all statements of the guard's tests and of the attacks that come as far as the parser."""
    found = []
    for sql in dict.fromkeys([*GOOD, *(sql for sql, _ in HOSTILE), *(a.sql for a in ATTACKS)]):
        try:
            check_text(sql)
        except GuardError:
            continue
        if len(sql) <= _LONGEST:
            found.append(sql)
    return found


def main() -> int:
    if not duckdb.__version__.startswith("2."):
        print(f"This is DuckDB {duckdb.__version__}: start it with PYTHONPATH as the docstring says.", file=sys.stderr)
        return 1
    connection = duckdb.connect()
    serialize = "SELECT json_serialize_sql(?::VARCHAR, skip_null := true, skip_empty := true)"
    trees = {sql: json.loads(connection.execute(serialize, [sql]).fetchall()[0][0]) for sql in statements()}
    text = json.dumps({"version": duckdb.__version__, "trees": trees}, indent=0)
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(trees)} trees of DuckDB {duckdb.__version__}: {FILE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

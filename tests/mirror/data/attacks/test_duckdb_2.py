"""The guard on DuckDB 2.0, whose trees have another layout, and which calls a DELETE in a CTE a SELECT.

Its trees have been recorded and are checked here whatever DuckDB is installed. Where DuckDB 2.0 itself is at hand, all
tests of guard and sandbox and all attacks run on it too. It is put into a folder of its own, for nothing
else of this environment may change, and the folder is named:

    pip install --target /somewhere/duckdb2 duckdb==2.0.0
    MIRROR_DUCKDB_2=/somewhere/duckdb2 python -m pytest tests/mirror/data/attacks/test_duckdb_2.py

When statements have been added, record again (tests.mirror.data.attacks.record_duckdb_2 says how).
"""

import gzip
import json
import os
import subprocess
import sys

import pytest

from db.installation import ROOT
from mirror.data.guard import duckdb as guard
from tests.mirror.data.attacks.record_duckdb_2 import FILE
from tests.mirror.data.attacks.statements import ATTACKS
from tests.mirror.data.test_guard import GOOD, HOSTILE

RECORDED = json.loads(gzip.decompress(FILE.read_bytes()))
TREES = RECORDED["trees"]
REFUSED = dict.fromkeys([*(sql for sql, _ in HOSTILE), *(a.sql for a in ATTACKS if a.outcome == "refused")])
DUCKDB_2 = os.environ.get("MIRROR_DUCKDB_2", "")


class Recorded:
    """A connection that parses as DuckDB 2.0 has done."""

    def execute(self, _: str, parameters: list[str]) -> "Recorded":
        self.tree = TREES[parameters[0]]
        return self

    def fetchone(self) -> tuple[str]:
        return (json.dumps(self.tree),)

    def extract_statements(self, _: str) -> None:
        raise RuntimeError("what 2.0 raises for some statements")


def recorded(statements: list[str]) -> list[str]:
    return [sql for sql in statements if sql in TREES]


@pytest.mark.parametrize("sql", recorded(GOOD), ids=lambda s: s[:60])
def test_everyday_sql_passes(sql: str) -> None:
    guard.check(Recorded(), sql)


@pytest.mark.parametrize("sql", recorded(list(REFUSED)), ids=lambda s: ascii(s)[:60])
def test_hostile_sql_is_refused(sql: str) -> None:
    with pytest.raises(guard.GuardError) as refusal:
        guard.check(Recorded(), sql)
    assert str(refusal.value).endswith((".", "?"))


def test_what_only_2_0_parses_is_among_it() -> None:
    """Statements that 1.5 cannot read, so that their refusal there says nothing of the walk over the tree."""
    assert RECORDED["version"].startswith("2.")
    assert len(recorded(GOOD)) > 50
    assert len(recorded(list(REFUSED))) > 300
    changing = TREES["WITH t AS (DELETE FROM results RETURNING *) SELECT * FROM t"]
    assert changing["error"] is False
    assert "DELETE_QUERY_NODE" in json.dumps(changing)


@pytest.mark.skipif(not DUCKDB_2, reason="MIRROR_DUCKDB_2 names no folder with DuckDB 2.0")
@pytest.mark.timeout(900)
def test_the_guard_and_all_attacks_on_duckdb_2_itself() -> None:
    tests = [
        "tests/mirror/data/test_guard.py",
        "tests/mirror/data/test_sandbox.py",
        "tests/mirror/data/attacks/test_attacks.py",
    ]
    check = (
        "import duckdb, pytest, sys; assert duckdb.__version__[0] == '2', duckdb; sys.exit(pytest.main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", check, "-q", "-p", "no:cacheprovider", *tests],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": DUCKDB_2}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

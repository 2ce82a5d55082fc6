"""What a language model is sent of PostgreSQL and SQLite: their own SQL, errors without values, and no password."""

import json
from pathlib import Path

import pytest
import sales_data
from chat_stub import running, says

from mirror import ask


def answer(sql: str) -> str:
    return json.dumps({"notes": [], "sql": sql, "choices": [], "cannot_answer": None})


@pytest.mark.parametrize(
    ("kind", "dialect", "failing", "told"),
    [
        ("sqlite_shop", "SQLite", "SELECT nothing_such FROM orders", "nothing_such"),
        ("postgres_shop", "PostgreSQL", "SELECT sum(CAST(name AS INTEGER)) AS n FROM customers", "fails on values"),
    ],
)
def test_sql_of_a_model(
    kind: str,
    dialect: str,
    failing: str,
    told: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    shop: sales_data.Shop = request.getfixturevalue(kind)
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path / "x.saved.jsonl"))
    names = [str(name) for (name,) in shop.rows("SELECT name FROM customers")]
    with running(monkeypatch) as server:
        server.replies = [says(answer(failing)), says(answer("SELECT count(*) AS n FROM customers"))]
        found = ask("how lopsided is our clientele?", db=shop.url)
        assert found.engine == "llm"
        assert found.table is not None
        assert found.table.rows == ((len(names),),)
        first, second = server.requests
        assert dialect in first["messages"][0]["content"]
        assert told in second["messages"][-1]["content"]
        heard = server.heard.decode()
        assert shop.url not in heard
        assert [name for name in names if name in heard] == []

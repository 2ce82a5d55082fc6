"""The setting MIRROR_DB may name what `--db` may: other data are asked, and what cannot be used is one sentence."""

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
import sales_data
from streamlit.testing.v1 import AppTest

from mirror.answer.answer import Answer
from mirror.answer.answering import ask, run_sql
from mirror.data.process.other_data_process import shared
from mirror.data.sources.location import find
from mirror.faces.command import main
from mirror.faces.pages import ask as ask_page
from mirror.faces.pages import new_run
from mirror.faces.pages.runs import runs_page

QUESTIONS = (
    "how many customers",
    "total amount by country",
    "SELECT count(*) AS n FROM orders",
    "what is the weather",
    " ",
)


def told(answer: Answer) -> Answer:
    """The answer without the time that its query took."""
    return replace(answer, table=answer.table and replace(answer.table, milliseconds=0.0))


@pytest.mark.parametrize("kind", ["csv", "sqlite", "duckdb"])
def test_the_setting_and_the_argument_are_one_way(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop: sales_data.Shop = request.getfixturevalue(f"{kind}_shop")
    monkeypatch.delenv("MIRROR_DB", raising=False)
    given = [told(ask(question, db=shop.url, now=sales_data.NOW)) for question in QUESTIONS]
    sql = "SELECT status, count(*) FROM orders GROUP BY 1"
    edited = told(run_sql(sql, db=shop.url))
    monkeypatch.setenv("MIRROR_DB", shop.url)
    assert [told(ask(question, now=sales_data.NOW)) for question in QUESTIONS] == given
    assert told(run_sql(sql)) == edited
    assert [answer.status for answer in given] == ["answered", "answered", "answered", "refused", "refused"]
    after = ask("only Germany", after=given[1])
    assert "Germany" in after.read_as, after.summary


def test_the_command_asks_what_the_setting_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "shop.csv"
    path.write_text("city,amount\nBerlin,3\nRome,4\n")
    assert main(["ask", "how many shops", "--db", str(path)]) == 0
    given = capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MIRROR_DB", "shop.csv")
    assert main(["ask", "how many shops"]) == 0
    assert capsys.readouterr().out == given
    shared(find(str(path))).close()


UNUSABLE = [
    ("nowhere.csv", "MIRROR_DB: There is no file nowhere.csv: mend the path."),
    ("empty", "MIRROR_DB: The folder empty/ holds no CSV, JSON lines, Excel or Parquet file."),
    ("nonsense://u:hidden-1@h/x", "MIRROR_DB: Tables of nonsense cannot be read: PostgreSQL, "),
    ("postgresql://u:hidden-1@x@h/y", "MIRROR_DB: The password of the URL must have its @ written as %40."),
    ("postgresql://u:hidden-1@127.0.0.1:1/y", "mend host and port in the URL, or start the server."),
    ("no/such/folder/x.duckdb", "/no/such/folder: make it, or name another place with --db or MIRROR_DB."),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(("named", "said"), UNUSABLE)
def test_a_setting_that_cannot_be_used_is_one_sentence(
    named: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if named.startswith("postgresql"):
        pytest.importorskip("psycopg")
    monkeypatch.setenv("MIRROR_DB", named)
    for answer in (ask("how many rows"), run_sql("SELECT 1 AS one")):
        assert (answer.status, answer.table) == ("error", None)
        assert said in answer.summary
        assert "\n" not in answer.summary
        assert "hidden-1" not in answer.summary
    assert [path.name for path in folder.iterdir()] == ["empty"]  # nothing is made


# -- the pages -----------------------------------------------------------------------------------------------------


def shown(page: str) -> str:
    """The one sentence that a page shows instead of itself."""
    app = AppTest.from_string(f"import {page} as shown\nshown.page()\n", default_timeout=60).run()
    assert not app.exception
    (error,) = app.error
    assert not app.button
    return str(error.value).replace("\\", "").replace("`", "")


PAGES = [module.__name__ for module in (ask_page, runs_page, new_run)]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_results_says_that_these_are_other_data(
    page: str, sqlite_shop: sales_data.Shop, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS id")
    before = path.read_bytes()
    for named in (sqlite_shop.url, str(path), "shop.duckdb"):
        monkeypatch.setenv("MIRROR_DB", named)
        assert shown(page) == (
            f"{Path(named).name} holds other data and no results: open it on the page Ask, or name a results "
            "database with MIRROR_DB."
        )
    assert path.read_bytes() == before  # no table of Mirror's is made there


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("named", "said"), [UNUSABLE[0], UNUSABLE[1], UNUSABLE[2]])
def test_a_page_of_results_says_why_a_setting_cannot_be_used(
    page: str, named: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRROR_DB", named)
    assert shown(page).startswith(said)

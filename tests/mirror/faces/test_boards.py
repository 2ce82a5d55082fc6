"""The page Boards: answers kept on the page Ask and asked anew, in order, undone; one that fails leaves the others."""

from dataclasses import replace
from pathlib import Path

import pytest
from page_driver import LIMIT_S, ROOT, ask, ask_page, press, texts
from streamlit.testing.v1 import AppTest

from mirror.answer.answering import ask as ask_about
from mirror.data.process.sandbox import Sandbox
from mirror.faces.kept_answers import ask_item, item_of, open_boards
from mirror.faces.pages.entrance import entry
from mirror.query.kept.board_file import BoardItem
from mirror.runs.person import Person

QUESTION = "average auc by method and dataset"


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, results_file: Path, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MIRROR_DB", str(results_file))
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path / "my.saved.jsonl"))


def boards_page() -> None:
    from mirror.faces.pages.boards import board_page

    board_page.page()


def opened(board: str = "") -> AppTest:
    app = AppTest.from_function(boards_page, default_timeout=LIMIT_S)
    if board:
        app.query_params["board"] = board
    app.run()
    assert not app.exception
    return app


def titles() -> list[str]:
    return [item.title or item.question for item in open_boards().all()[0].items]


def test_an_answer_is_put_on_a_board_from_the_page_ask() -> None:
    app = ask(ask_page(), QUESTION)
    app.checkbox(key="log_y_1").check().run()
    app.button(key="chart_add").click().run()
    assert "A board has a name" in texts(app)
    open_boards().add("Weekly look", BoardItem("other", "SELECT 1 AS one"))  # AppTest cannot type a new name
    app.run()
    app.selectbox(key="chart_board").set_value("Weekly look").run()
    app.button(key="chart_add").click().run()
    assert "It is on the board Weekly look" in "\n".join(t.value.replace("\\", "") for t in app.toast)
    (board,) = open_boards().all()
    _, item = board.items
    assert item.form
    assert item.address
    assert (item.address["q"], item.address["seen"][0][:3]) == ([QUESTION], "27-")
    app.button(key="chart_add").click().run()  # on the board that is there
    assert [len(b.items) for b in open_boards().all()] == [3]


def test_a_kept_answer_is_asked_anew_with_its_reading_and_its_chart(box: Sandbox, tmp_path: Path) -> None:
    answer = ask_about(QUESTION, sandbox=box)
    assert answer.table
    assert answer.chart
    changed = replace(answer.chart, type="box", x="method", y="auc", color=None, facet=None, metrics=())
    again = ask_item(item_of(answer, changed, "", {}), None)
    assert again.table == replace(answer.table, milliseconds=again.table.milliseconds if again.table else 0)
    assert again.spec == answer.spec
    assert again.headline().text == answer.headline().text
    assert again.chart
    assert (again.chart.type, again.chart.x, again.chart.facet) == ("box", "method", None)
    unreadable = replace(item_of(answer, answer.chart, "", {}), form={"shape": "of a later version"})
    assert ask_item(unreadable, None).engine == "sql"
    (tmp_path / "sales.csv").write_text("city,total\nBern,1\nOslo,5\nBern,3\n")
    other = ask_about("total by city", db=str(tmp_path / "sales.csv"))
    assert other.chart
    kept = item_of(other, other.chart, str(tmp_path / "sales.csv"), {})
    (tmp_path / "sales.csv").write_text("city,total\nBern,1\nRome,9\n")
    anew = ask_item(kept, kept.source)
    assert anew.form == other.form
    assert "Rome" in anew.headline().text


def test_one_that_fails_leaves_the_others(tmp_path: Path, box: Sandbox) -> None:
    answer = ask_about(QUESTION, sandbox=box)
    assert answer.chart
    store = open_boards()
    store.add("one", BoardItem("broken", "SELECT methodd FROM results"))
    store.add("one", item_of(answer, answer.chart, "", {"q": [QUESTION]}))
    store.add("one", BoardItem("gone", "SELECT 1", source=str(tmp_path / "gone.csv")))
    app = opened("one")
    assert len(app.info) == 2
    assert "There is no file gone.csv" in texts(app)
    assert answer.headline().text in texts(app)
    assert app.get("plotly_chart")
    ways = {e.proto.label.replace("\\", ""): e.proto.query_string for e in app.get("page_link")}
    assert ways[QUESTION] == "q=average+auc+by+method+and+dataset"


def test_items_are_ordered_entitled_removed_and_brought_back() -> None:
    store = open_boards()
    for name in "ab":
        store.add("one", BoardItem(name, f"SELECT '{name}' AS letter"))
    app = opened()
    assert app.query_params["board"] in ("one", ["one"])
    first = store.all()[0].items[0].id
    app.button(key=f"board_Later_{first}").click().run()
    assert titles() == ["b", "a"]
    app.text_input(key=f"board_title_{first}").set_value("my *letter*")
    app.button(key=f"FormSubmitter:title_form_{first}-Apply").click().run()
    assert titles() == ["b", "my *letter*"]
    assert r"**my \*letter\***" in [m.value for m in app.markdown]
    app.button(key=f"board_remove_{first}").click().run()
    assert titles() == ["b"]
    press(app, "Bring back: my *letter* on one")
    assert titles() == ["b", "my *letter*"]
    app.button(key="board_drop").click().run()
    assert "There is no board yet" in texts(app)
    press(app, "Bring back: 2 answers on one")
    assert titles() == ["b", "my *letter*"]
    app.text_input(key="board_name_one").set_value("two")
    press(app, "Rename")
    assert app.query_params["board"] in ("two", ["two"])
    assert "There is no board “three”" in texts(opened("three"))


def test_who_may_only_ask_changes_no_board(monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_boards()
    store.add("Weekly look", BoardItem("one", "SELECT 1 AS one"))
    store.add("Weekly look", BoardItem("two", "SELECT 2 AS two"))
    app, kept = opened(), titles()
    monkeypatch.setattr(entry, "person", lambda: Person("reader", may_run=False))
    press(app, "Remove")
    assert "You may ask here" in texts(app)
    assert titles() == kept
    app = ask(ask_page(), QUESTION)
    app.button(key="chart_add").click().run()
    assert "You may ask here" in texts(app)
    assert titles() == kept


def test_what_another_tab_added_is_brought_back_too() -> None:
    store = open_boards()
    store.add("one", BoardItem("a", "SELECT 1 AS one"))
    app = opened()
    store.add("one", BoardItem("b", "SELECT 2 AS two"))  # elsewhere, meanwhile
    app.button(key="board_drop").click().run()
    press(app, "Bring back: 2 answers on one")
    assert titles() == ["a", "b"]


def test_boards_written_by_hand_keep_their_own_answers(tmp_path: Path) -> None:
    item = '{{"name": "{0}", "items": [{{"question": "{0}", "sql": "SELECT {1} AS answer"}}]}}\n'
    (tmp_path / "my.boards.jsonl").write_text(item.format("a", 11) + item.format("b", 22))
    app = opened("a")
    assert "11" in texts(app)
    app.query_params["board"] = "b"
    app.run()
    assert "22" in texts(app)
    assert "11" not in texts(app)

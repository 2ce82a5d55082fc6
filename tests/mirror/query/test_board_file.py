"""Boards: in a person's order, changed by several at once without a loss; bad lines stay, bad input is a sentence."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from db.installation import ROOT
from mirror.data.sources.location import find
from mirror.query.kept import board_file
from mirror.query.kept.board_file import MAX_ITEMS, BoardError, BoardItem, Boards, boards_path

ITEM = BoardItem("average auc by method", "SELECT 1", {"shape": "groups"}, chart={"log_x": True}, address={"q": ["x"]})


@pytest.fixture
def boards(tmp_path: Path) -> Boards:
    return Boards(boards_path(tmp_path / "mirror.saved.jsonl"))


def titles(boards: Boards, at: int = 0) -> list[str]:
    return [item.title for item in boards.all()[at].items]


def filled(boards: Boards, *named: str) -> dict[str, str]:
    """Items with these titles on the board `one`; title -> id."""
    for title in named:
        boards.add("one", replace(ITEM, title=title))
    return {item.title: item.id for item in boards.all()[0].items}


def test_what_is_added_comes_back_as_it_was(boards: Boards) -> None:
    assert boards.all() == ()
    boards.add("  Weekly\n look ", ITEM)
    boards.add("weekly LOOK", replace(ITEM, source="sales.csv", form=None))
    (board,) = boards.all()
    assert board.name == "Weekly look"
    assert [replace(item, id="") for item in board.items] == [ITEM, replace(ITEM, source="sales.csv", form=None)]
    assert len({item.id for item in board.items}) == 2


def test_items_move_are_entitled_removed_and_brought_back(boards: Boards) -> None:
    ids = filled(boards, "a", "b", "c")
    boards.move("one", ids["c"], -1)
    assert titles(boards) == ["a", "c", "b"]
    boards.move("one", ids["a"], 5)
    assert titles(boards) == ["c", "b", "a"]
    boards.move("one", "gone", 1)
    boards.entitle("one", ids["b"], "  new\ttitle ")
    assert titles(boards) == ["c", "new title", "a"]
    removed = boards.all()[0].items[1]
    boards.remove("one", removed.id)
    assert titles(boards) == ["c", "a"]
    boards.add("one", removed, 1)
    boards.add("one", removed, 1)  # pressed twice
    assert titles(boards) == ["c", "new title", "a"]


def test_boards_are_renamed_and_dropped(boards: Boards) -> None:
    filled(boards, "a")
    boards.add("two", ITEM)
    boards.rename("one", "One")
    with pytest.raises(BoardError, match="There is a board “two” already"):
        boards.rename("one", "two")
    boards.drop("ONE")
    assert [board.name for board in boards.all()] == ["two"]
    with pytest.raises(BoardError, match="is gone"):
        boards.move("one", "x", 1)


def test_lines_that_cannot_be_read_are_kept(boards: Boards, tmp_path: Path) -> None:
    path = tmp_path / "mirror.boards.jsonl"
    path.write_text('{"name": "cut off", "ite\n{"name": 3, "items": []}\n')
    boards.add("one", ITEM)
    assert [board.name for board in boards.all()] == ["one"]
    assert path.read_text().startswith('{"name": "cut off", "ite\n{"name": 3, "items": []}\n{"name": "one"')


@pytest.mark.parametrize(
    ("name", "item"),
    [
        (" ", ITEM),
        ("x" * 81, ITEM),
        ("one", replace(ITEM, sql="")),
        ("one", replace(ITEM, question="x" * 1001)),
        ("one", replace(ITEM, chart=[1])),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_kept_is_a_sentence(boards: Boards, name: str, item: BoardItem) -> None:
    with pytest.raises(BoardError, match=r"\.$"):
        boards.add(name, item)
    assert boards.all() == ()


def test_a_full_board_and_too_many_boards_say_so(boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_file, "MAX_ITEMS", 2)
    monkeypatch.setattr(board_file, "MAX_BOARDS", 1)
    filled(boards, "a", "b")
    with pytest.raises(BoardError, match="at most 2 answers"):
        boards.add("one", ITEM)
    with pytest.raises(BoardError, match="no more can be"):
        boards.add("two", ITEM)
    assert titles(boards) == ["a", "b"]
    assert MAX_ITEMS > 2


ADDS = """
import sys
from pathlib import Path
from mirror.query.kept.board_file import BoardItem, Boards
boards = Boards(Path(sys.argv[1]))
for i in range(6):
    boards.add("one", BoardItem("q", "SELECT 1", title=f"{sys.argv[2]}{i}"))
    boards.move("one", boards.all()[0].items[0].id, 3)
"""


def test_processes_that_change_one_board_at_once_lose_nothing(boards: Boards, tmp_path: Path) -> None:
    path = str(tmp_path / "mirror.boards.jsonl")
    started = [subprocess.Popen([sys.executable, "-c", ADDS, path, name], cwd=ROOT) for name in "ab"]
    assert [process.wait(60) for process in started] == [0, 0]
    assert sorted(titles(boards)) == sorted(f"{name}{i}" for name in "ab" for i in range(6))


def test_boards_are_no_table_of_the_folder_they_lie_in(boards: Boards, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("a,b\n1,2\n")
    boards.add("one", ITEM)
    assert [path.name for path in find(str(tmp_path)).paths] == ["sales.csv"]


@pytest.mark.parametrize("line", ['{"name": "x"}', "{}", '{"name": "x", "items": null}', '{"items": []}'])
def test_a_line_that_lacks_something_is_passed_over_and_kept(boards: Boards, line: str) -> None:
    boards.add("one", ITEM)
    path = boards._file.path
    path.write_text(line + "\n" + path.read_text())
    assert [b.name for b in boards.all()] == ["one"]
    boards.add("two", ITEM)
    assert line in path.read_text().splitlines()


def test_items_without_an_id_are_told_apart(boards: Boards) -> None:
    boards._file.path.write_text(
        '{"name": "x", "items": [{"question": "q", "sql": "1"}, {"question": "r", "sql": "2"}]}'
    )
    first, second = boards.all()[0].items
    assert first.id != second.id
    boards.remove("x", second.id)
    assert [i.question for i in boards.all()[0].items] == ["q"]


def test_a_board_that_is_gone_is_not_renamed(boards: Boards) -> None:
    with pytest.raises(BoardError, match="The board “one” is gone"):
        boards.rename("one", "two")


def test_items_of_a_board_have_ids_of_their_own(boards: Boards, tmp_path: Path) -> None:
    item = {"question": "q", "sql": "SELECT 1"}
    named = {**item, "id": "item 2"}
    text = json.dumps({"name": "x", "items": [named, item, named]})
    boards_path(tmp_path / "mirror.saved.jsonl").write_text(f"{text}\n")
    assert len({i.id for i in boards.all()[0].items}) == 3

"""Boards: answers that are kept side by side to be asked anew, in one small file with a board a line."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from db.plain_text import printable
from mirror.query.kept.json_lines import read_lines, written_lines
from mirror.query.kept.whole_file import WholeFile

MAX_BOARDS, MAX_ITEMS = 100, 24  # all items of a board are asked when it opens
MAX_BYTES = 4_000_000
MAX_NAME = 80
_MAX_TEXT = {"id": 40, "question": 1_000, "title": 200, "sql": 20_000, "source": 2_000}


class BoardError(ValueError):
    """Boards cannot be read or changed; the message is a sentence, and what was kept before is kept."""


@dataclass(frozen=True)
class BoardItem:
    """One answer on a board.

    Attributes:
        question: in plain words, on one line.
        sql: the statement that answers it.
        form: how it was read, as parsed JSON; None where the SQL alone says it.
        source: the other data that it is about, without a password; empty for the results.
        chart: what a person changed of its chart, by the attributes of ChartSpec.
        address: the parameters of the address that leads to the answer.
        title: what a person calls it; empty for the line that answers.
        id: tells it from all other items.
    """

    question: str
    sql: str
    form: Mapping[str, Any] | None = None
    source: str = ""
    chart: Mapping[str, Any] | None = None
    address: Mapping[str, Sequence[str]] | None = None
    title: str = ""
    id: str = ""


@dataclass(frozen=True)
class Board:
    """A name, and answers in the order of a person."""

    name: str
    items: tuple[BoardItem, ...] = ()


def boards_path(saved: Path) -> Path:
    """The file beside that of the saved questions: `x.saved.jsonl` has `x.boards.jsonl`."""
    return saved.with_name(f"{saved.name.removesuffix('.jsonl').removesuffix('.saved')}.boards.jsonl")


class Boards:
    """The boards of one file. Each change is made to what the file holds by then, so that several processes lose none
    of one another's."""

    def __init__(self, path: Path) -> None:
        self._file = WholeFile(path, "boards", BoardError, "MIRROR_SAVED")

    def all(self) -> tuple[Board, ...]:
        """All of them, oldest first. Raises BoardError."""
        return tuple(self._read()[0])

    def add(self, name: str, item: BoardItem, at: int | None = None) -> Board:
        """Put an item on a board, which is made where it is not there; `at` a place, else at its end. Raises
        BoardError."""
        fresh = _checked_item(item if item.id else replace(item, id=uuid.uuid4().hex))

        def added(items: tuple[BoardItem, ...]) -> tuple[BoardItem, ...]:
            others = [i for i in items if i.id != fresh.id]
            if len(others) >= MAX_ITEMS:
                raise BoardError(f"A board has at most {MAX_ITEMS} answers: remove one, or begin another board.")
            others.insert(len(others) if at is None else at, fresh)
            return tuple(others)

        return self._change(name, added, new=True)

    def move(self, name: str, item: str, by: int) -> None:
        """Move an item, by its id, so many places on; an item that is gone stays so. Raises BoardError."""

        def moved(items: tuple[BoardItem, ...]) -> tuple[BoardItem, ...]:
            at = next((k for k, i in enumerate(items) if i.id == item), None)
            if at is None:
                return items
            others = [i for i in items if i.id != item]
            others.insert(max(0, min(at + by, len(others))), items[at])
            return tuple(others)

        self._change(name, moved)

    def entitle(self, name: str, item: str, title: str) -> None:
        """Give an item a title of its own, or with an empty one take it away. Raises BoardError."""
        told = _on_one_line(title)
        self._change(
            name, lambda items: tuple(_checked_item(replace(i, title=told)) if i.id == item else i for i in items)
        )

    def remove(self, name: str, item: str) -> None:
        """Take an item off a board. Raises BoardError."""
        self._change(name, lambda items: tuple(i for i in items if i.id != item))

    def rename(self, name: str, new: str) -> Board:
        """Call a board otherwise. Raises BoardError, also where another one has the name."""
        new = _checked_name(new)
        with self._file.turn():
            boards, unread = self._read()
            if all(_same(b.name) != _same(name) for b in boards):
                raise BoardError(_gone(name))
            if _same(new) != _same(name) and any(_same(b.name) == _same(new) for b in boards):
                raise BoardError(f"There is a board “{new}” already: choose another name.")
            renamed = [replace(b, name=new) if _same(b.name) == _same(name) else b for b in boards]
            self._write(renamed, unread)
        return Board(new)

    def drop(self, name: str) -> Board | None:
        """Remove a board with all that is on it. Returns it as it was by then. Raises BoardError."""
        with self._file.turn():
            boards, unread = self._read()
            self._write([b for b in boards if _same(b.name) != _same(name)], unread)
        return next((b for b in boards if _same(b.name) == _same(name)), None)

    def _change(
        self, name: str, change: Callable[[tuple[BoardItem, ...]], tuple[BoardItem, ...]], new: bool = False
    ) -> Board:
        """Change the items of a board; one that is not there is made where `new` says so."""
        name = _checked_name(name)
        with self._file.turn():
            boards, unread = self._read()
            at = next((k for k, b in enumerate(boards) if _same(b.name) == _same(name)), None)
            if at is None and not new:
                raise BoardError(_gone(name))
            if at is None:
                if len(boards) >= MAX_BOARDS:
                    raise BoardError(f"There are {MAX_BOARDS} boards, and no more can be: remove one first.")
                at = len(boards)
                boards.append(Board(name))
            boards[at] = replace(boards[at], items=change(boards[at].items))
            self._write(boards, unread)
        return boards[at]

    def _read(self) -> tuple[list[Board], tuple[bytes, ...]]:
        return read_lines(self._file.read(MAX_BYTES) or b"", _board)

    def _write(self, boards: Sequence[Board], unread: Sequence[bytes]) -> None:
        data = written_lines(unread, map(asdict, boards))
        if len(data) > MAX_BYTES:
            raise BoardError(f"The boards would grow beyond {MAX_BYTES // 1_000_000} MB: remove an answer first.")
        self._file.write(data)


def _gone(name: str) -> str:
    return f"The board “{name}” is gone: somebody removed or renamed it."


def _same(name: str) -> str:
    """What two spellings of one name have in common."""
    return _on_one_line(name).casefold()


def _on_one_line(text: str) -> str:
    return " ".join(printable(text).split())


def _board(held: Any) -> Board:
    """The board of a line; items that were written without an id, or with one that is taken, get one by their place.
    Raises ValueError, TypeError or KeyError."""
    items: list[BoardItem] = []
    for place, given in enumerate(held["items"], 1):
        item, taken = BoardItem(**given), {i.id for i in items}
        names = (item.id, *(f"item {number}" for number in range(place, place + len(items) + 1)))
        items.append(replace(item, id=next(name for name in names if name and name not in taken)))
    return Board(_checked_name(held["name"]), tuple(map(_checked_item, items)))


def _checked_name(name: str) -> str:
    name = _on_one_line(name) if isinstance(name, str) else ""
    if not name or len(name) > MAX_NAME:
        raise BoardError(f"A board has a name of 1 to {MAX_NAME} characters.")
    return name


def _checked_item(item: BoardItem) -> BoardItem:
    """The same. Raises BoardError for what cannot be shown or kept."""
    for attribute, most in _MAX_TEXT.items():
        text = getattr(item, attribute)
        if not isinstance(text, str) or len(text) > most:
            raise BoardError(f"The {attribute} of an answer on a board is a text of at most {most:,} characters.")
    if not item.sql.strip():
        raise BoardError("There is no SQL to ask anew.")
    if not all(held is None or isinstance(held, Mapping) for held in (item.form, item.chart, item.address)):
        raise BoardError("The reading, the chart and the address of an answer on a board are objects.")
    return item

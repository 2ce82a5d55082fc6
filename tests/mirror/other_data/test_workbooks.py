"""Excel workbooks: their sheets are tables, and whatever else their bytes hold is one sentence."""

import datetime
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from choosing import answer_with

from mirror.answer.answering import ask
from mirror.data.loading import workbook
from mirror.data.sources.location import SourceError, find
from mirror.data.sources.open_reader import open_reader

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not here: run `pip install openpyxl`")
D = datetime.date
T = datetime.datetime
Rows = Sequence[Sequence[Any]]
SALES: Rows = [("city", "amount"), ("Rome", 2.5), ("Oslo", 4)]


def saved(path: Path, **sheets: Rows) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


class Read:
    """What was read of files: types and rows by table, and what was said."""

    def __init__(self, *paths: Path) -> None:
        scratch = paths[0].parent / "scratch"
        scratch.mkdir(exist_ok=True)
        reader = open_reader(find(",".join(map(str, paths))), scratch)
        structure = reader.structure()
        self.notes = structure.notes
        self.types = {r.name: {c.name: c.type for c in r.columns} for r in structure.relations}
        with reader.session() as session:
            self.rows = {name: session.fetch(f'SELECT * FROM "{name}"').rows for name in self.types}
        assert not list(scratch.iterdir()), "nothing is left in the scratch folder"


def refused(path: Path) -> str:
    scratch = path.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    with pytest.raises(SourceError) as error:
        open_reader(find(str(path)), scratch)
    assert not list(scratch.iterdir())
    told = str(error.value)
    assert len(told) < 300
    assert str(path.parent) not in told
    return told


def test_a_sheet_is_a_table_with_types(tmp_path: Path) -> None:
    rows = [
        ("id", "day", "at", "amount", "price", "paid", "code", "note"),
        (1, D(2025, 1, 31), T(2025, 1, 31, 10, 30), 2.5, "$1,200.50", True, "007", 'a, "b"\nc'),
        (2, D(2025, 2, 1), T(2025, 2, 1), 4, "$2.00", False, "042", None),
    ]
    found = Read(saved(tmp_path / "sales.xlsx", Sheet1=rows))
    assert found.types == {
        "sales": {
            "id": "integer", "day": "date", "at": "timestamp", "amount": "real", "price": "real", "paid": "boolean",
            "code": "text", "note": "text",
        },
    }  # fmt: skip
    assert found.rows["sales"] == [
        (1, D(2025, 1, 31), T(2025, 1, 31, 10, 30), 2.5, 1200.5, True, "007", 'a, "b"\nc'),
        (2, D(2025, 2, 1), T(2025, 2, 1), 4.0, 2.0, False, "042", None),
    ]
    assert found.notes == ("Texts of sales are read as what they say: price (in $) as numbers.",)


def test_sheets_are_tables_called_like_them(tmp_path: Path) -> None:
    first = saved(tmp_path / "shop.xlsx", **{"Orders 2025": SALES, "customers": [("name",), ("Anna",)], "empty": []})
    assert set(Read(first).types) == {"Orders_2025", "customers"}
    second = saved(tmp_path / "more.xlsm", customers=SALES, orders=SALES)
    assert set(Read(first, second).types) == {
        "shop_Orders_2025", "shop_customers", "more_customers", "more_orders",
    }  # fmt: skip


def test_sheets_that_are_hidden_are_left_out(tmp_path: Path) -> None:
    path = saved(tmp_path / "shop.xlsx", sales=SALES, lists=SALES)
    book = openpyxl.load_workbook(path)
    book["lists"].sheet_state = "hidden"
    book.save(path)
    assert set(Read(path).types) == {"shop"}


def test_a_title_above_and_totals_below_are_left_out(tmp_path: Path) -> None:
    rows = [("Sales of 2025",), (), (None, None, "made by Bo"), *SALES, (), ("Total", 6.5)]
    found = Read(saved(tmp_path / "sales.xlsx", Sheet1=[*rows[:3], *[(*r, "x") for r in rows[3:6]], ("Total", 6.5)]))
    assert found.rows["sales"] == [("Rome", 2.5, "x"), ("Oslo", 4.0, "x")]
    assert found.notes == (
        "2 rows above the header of sales are left out.",
        "The last row of sales, “Total”, holds the sums of the others and is left out.",
    )


def test_errors_of_formulas_count_as_missing(tmp_path: Path) -> None:
    found = Read(saved(tmp_path / "sales.xlsx", a=[("v", "w"), (1, "x"), ("#DIV/0!", "y"), (3, "z")]))
    assert found.rows["sales"] == [(1, "x"), (None, "y"), (3, "z")]
    assert "“#DIV/0!” there count as missing" in found.notes[0]


def test_questions_about_a_workbook(tmp_path: Path) -> None:
    path = saved(tmp_path / "sales.xlsx", Sheet1=[*SALES, ("Rome", 1)])
    answer_with((("Oslo", 4.0), ("Rome", 3.5)), "total amount by city", db=str(path))


# -- what is wrong -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"nonsense" * 500, b"\xd0\xcf\x11\xe0" + b"\0" * 600])
def test_bytes_that_are_no_workbook(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    path.write_bytes(content)
    assert refused(path).startswith("book.xlsx is no whole Excel workbook, or one with a password: save it")


def test_an_answer_says_what_is_wrong_with_a_workbook(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    path.write_bytes(b"PK\3\4")
    told = ask("how many rows", db=str(path))
    assert told.status == "error"
    assert "book.xlsx is no whole Excel workbook" in told.summary


def repacked(path: Path, part: str, content: bytes) -> Path:
    """The workbook with another content of a part."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(info.filename, content if info.filename == part else old.read(info))
        if part not in old.namelist():
            new.writestr(part, content)
    path.write_bytes(out.getvalue())
    return path


SHEET = "xl/worksheets/sheet1.xml"
HEAD = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
BILLION = (
    b'<!DOCTYPE x [<!ENTITY a0 "ha">'
    + b"".join(b'<!ENTITY a%d "%s">' % (i, b"&a%d;" % (i - 1) * 10) for i in range(1, 30))
    + b"]>"
)


@pytest.mark.parametrize(
    ("part", "content"),
    [
        (SHEET, b"<no xml"),
        (SHEET, b"\0\xff" * 100),
        (SHEET, HEAD + b'<row r="1"><c r="ZZZZZZZ1"><v>1</v></c></row></sheetData></worksheet>'),
        (SHEET, HEAD + b'<row r="1"><c t="s"><v>999999</v></c></row></sheetData></worksheet>'),
        (SHEET, HEAD + b'<row r="1"><c><v>' + b"9" * 10_000 + b"</v></c></row></sheetData></worksheet>"),
        (SHEET, BILLION + HEAD + b'<row><c t="str"><v>&a29;</v></c></row></sheetData></worksheet>'),
        (SHEET, b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + HEAD + b"<row><c><v>&a;</v></c></row>"),
        ("xl/workbook.xml", b"<workbook/>"),
        ("[Content_Types].xml", b"<Types/>"),
        ("xl/styles.xml", b"<styleSheet"),
    ],
)
def test_parts_that_are_broken(part: str, content: bytes, tmp_path: Path) -> None:
    path = repacked(saved(tmp_path / "book.xlsx", a=SALES), part, content)
    told = refused(path)
    assert "book.xlsx is no whole Excel workbook" in told or "book.xlsx is empty" in told


def test_what_would_unpack_to_too_much_is_not_unpacked(tmp_path: Path) -> None:
    part, large = "xl/sharedStrings.xml", b" " * 101_000_000
    told = refused(repacked(saved(tmp_path / "book.xlsx", a=SALES), part, large))
    assert told == "book.xlsx would unpack to 101 MB, where 100 MB can be read: save its sheets as CSV."


def test_an_archive_that_lies_about_its_sizes(tmp_path: Path) -> None:
    path = repacked(saved(tmp_path / "book.xlsx", a=SALES), SHEET, HEAD + b" " * 5_000_000)
    content = path.read_bytes()
    stated = (len(HEAD) + 5_000_000).to_bytes(4, "little")
    assert stated in content
    path.write_bytes(content.replace(stated, (900).to_bytes(4, "little")))
    assert "book.xlsx is no whole Excel workbook" in refused(path)


def test_rows_and_texts_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = b'<row r="%d"><c r="A%d" t="str"><v>city</v></c></row>'
    far = HEAD + row % (1, 1) + row % (99_999_999_999, 99_999_999_999) + b"</sheetData></worksheet>"
    told = refused(repacked(saved(tmp_path / "book.xlsx", a=SALES), SHEET, far))
    assert told == "The sheet a of book.xlsx has more than 1,048,576 rows: save it as CSV."
    monkeypatch.setattr(workbook, "_MOST_CSV_MB", 1)
    wide = saved(tmp_path / "wide.xlsx", a=[("note",), *[("x" * 30_000,)] * 50])
    assert refused(wide) == "The sheet a of wide.xlsx holds more than 1 MB of text: save it as CSV."


def test_a_workbook_that_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook, "_MOST_SECONDS", 0.0)
    said = "book.xlsx takes longer than 0 s to read: save its sheets as CSV."
    assert refused(saved(tmp_path / "book.xlsx", a=SALES)) == said


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "book.xlsx is empty"),
        ([(1, 2), (3, 4)], "The first line of the sheet a of book.xlsx is “1,2”: it should name the columns"),
        ([("a", "A"), (3, 4)], "names a column twice"),
        ([("a", "b"), *[(1, 2)] * 30, (1, 2, 3)], "A row of the sheet a of book.xlsx has 3 columns"),
    ],
)
def test_sheets_that_are_no_tables(rows: Rows, said: str, tmp_path: Path) -> None:
    assert said in refused(saved(tmp_path / "book.xlsx", a=rows))


@pytest.mark.parametrize("name", ["book.XLS", "book.ods", "book.xlsb"])
def test_other_workbooks_are_one_sentence(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"PK\3\4")
    with pytest.raises(
        SourceError, match=rf"^{name} is a workbook of a kind that is not read: save it as .xlsx or CSV"
    ):
        find(str(path))


def test_without_openpyxl_the_other_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = saved(tmp_path / "book.xlsx", a=SALES)
    monkeypatch.setattr(workbook, "find_spec", lambda name: None)
    said = "book.xlsx is read with openpyxl, which is not installed: run `pip install openpyxl`, or save it as CSV."
    assert refused(book) == said
    other = tmp_path / "sales.csv"
    other.write_text("id\n1\n")
    found = Read(other, book)
    assert found.rows == {"sales": [(1,)]}
    assert found.notes == (said,)


def test_what_lies_beside_tables_in_a_folder_is_none_of_them(tmp_path: Path) -> None:
    for name in ("sales.csv", "shop.saved.jsonl", "~$book.xlsx", ".hidden.csv"):
        (tmp_path / name).write_text("id\n1\n")
    assert [path.name for path in find(str(tmp_path)).paths] == ["sales.csv"]

"""Texts of CSV files that are really numbers, dates or flags, and the files that they come in."""

import csv
import datetime
import gzip
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from choosing import answer_with

from mirror.answer.answering import ask
from mirror.data.loading import encoding
from mirror.data.sources.location import SourceError, find
from mirror.data.sources.open_reader import open_reader

D = datetime.date
T = datetime.datetime


@dataclass(frozen=True)
class Loaded:
    """A file as it was read: types and comments by column, the rows, and what was said."""

    types: dict[str, str]
    comments: dict[str, str]
    rows: list[tuple[Any, ...]]
    notes: tuple[str, ...]

    def column(self, name: str = "v") -> list[Any]:
        place = list(self.types).index(name)
        return [row[place] for row in self.rows]

    @property
    def told(self) -> str:
        return " ".join(self.notes)


def loaded(folder: Path, content: str | bytes, name: str = "sales.csv") -> Loaded:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    reader = open_reader(find(str(path)), scratch)
    structure = reader.structure()
    (relation,) = structure.relations
    with reader.session() as session:
        rows = session.fetch(f'SELECT * FROM "{relation.name}"', row_cap=5000).rows
    assert not list(scratch.iterdir()), "nothing is left in the scratch folder"
    types = {c.name: c.type for c in relation.columns}
    return Loaded(types, {c.name: c.comment for c in relation.columns if c.comment}, rows, structure.notes)


def column(folder: Path, values: Sequence[str], delimiter: str = ",", name: str = "v") -> Loaded:
    """A file of a column of numbers and a column of these texts."""
    out = io.StringIO()
    rows = csv.writer(out, delimiter=delimiter)
    rows.writerow(["k", name])
    rows.writerows([i, value] for i, value in enumerate(values, 1))
    return loaded(folder, out.getvalue())


# -- numbers -----------------------------------------------------------------------------------------------------------

NUMBERS: dict[str, tuple[list[str], list[float | int | None], str]] = {
    "dollars": (["$1,234.00", "$5.50", "$-3.00", "-$2.25"], [1234.0, 5.5, -3.0, -2.25], "in $"),
    "dollars without cents": (["$1,234", "$950", "$12,000"], [1234.0, 950.0, 12000.0], "in $"),
    "euros behind": (["1.234,56 EUR", "0,50 EUR", "12,00 EUR"], [1234.56, 0.5, 12.0], "in EUR"),
    "euro signs": (["1.234,56 €", "€ 0,50", "12,00 EUR"], [1234.56, 0.5, 12.0], "in EUR"),
    "euro signs, no-break": (["1.234,56\u00a0€", "1\u202f000,50\u00a0€"], [1234.56, 1000.5], "in EUR"),
    "francs": (["CHF 12'000.50", "CHF 1’200.00", "CHF 3"], [12000.5, 1200.0, 3.0], "in CHF"),
    "pounds": (["£1,234.50", "£0.99"], [1234.5, 0.99], "in GBP"),
    "crowns": (["1 234,50 kr", "99,00 kr"], [1234.5, 99.0], "in KR"),
    "accounting": (["(1,200.00)", "1,500.50", "(3.10)"], [-1200.0, 1500.5, -3.1], ""),
    "accounting in dollars": (["($1,200.00)", "$1,500.50"], [-1200.0, 1500.5], "in $"),
    "minus of typesetting": (["\u2212$4.50", "$3.25"], [-4.5, 3.25], "in $"),
    "a zero needs no unit": (["$4.50", "0", "0.00"], [4.5, 0.0, 0.0], "in $"),
    "percent": (["12.5%", "3%", "-1%"], [12.5, 3.0, -1.0], "in percent"),
    "percent, comma": (["12,5 %", "3 %", "100 %"], [12.5, 3.0, 100.0], "in percent"),
    "percent, three decimals": (["12.345%", "3.500%"], [12.345, 3.5], "in percent"),
    "thousands": (["1,234,567", "1,234", "12"], [1234567, 1234, 12], ""),
    "thousands and decimals": (["1,234.5", "0.25"], [1234.5, 0.25], ""),
    "German thousands": (["1.234,5", "1.234", "2"], [1234.5, 1234.0, 2.0], ""),
    "German millions": (["1.234.567", "1.234", "2"], [1234567, 1234, 2], ""),
    "Swiss thousands": (["12'000", "1'000", "5"], [12000, 1000, 5], ""),
    "decimal comma": (["1,5", "22,25", "1,125"], [1.5, 22.25, 1.125], ""),
    "nothing but a comma": (["1,5", ",5"], [1.5, 0.5], ""),
    "kilograms": (["12 kg", "7 kg", "1,250 kg"], [12, 7, 1250], "in kg"),
    "kilograms with decimals": (["12.5 kg", "7kg"], [12.5, 7.0], "in kg"),
    "square metres": (["85 m2", "120 m2"], [85, 120], "in m2"),
    "square metres raised": (["85 m²", "120,5 m²"], [85.0, 120.5], "in m²"),
    "square metres in words": (["85 sqm", "1,200 sqm"], [85, 1200], "in sqm"),
    "degrees": (["-3.5 °C", "21 °C"], [-3.5, 21.0], "in °C"),
    "one and many": (["1 day", "3 days"], [1, 3], "in days"),
    "words": (["2 bedrooms", "3 bedrooms"], [2, 3], "in bedrooms"),
    "speed": (["100 km/h", "80 km/h"], [100, 80], "in km/h"),
    "missing": (["$4.50", "", "-", "n/a", "NA", "null", "None", "$1.00"], [4.5, *[None] * 6, 1.0], "in $"),
    "missing among plain numbers": (["4", "n/a", "17"], [4, None, 17], ""),
    "missing among plain decimals": (["4.5", "-", "17"], [4.5, None, 17.0], ""),
    "exponents": (["1e3", "NA", "2.5E-2"], [1000.0, None, 0.025], ""),
    "spaces around": ([" $4.50 ", "$1.00  "], [4.5, 1.0], "in $"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_texts_become_numbers(name: str, folder: Path) -> None:
    texts, numbers, comment = NUMBERS[name]
    found = column(folder, texts)
    assert found.types["v"] == ("integer" if isinstance(numbers[0], int) else "real")
    assert found.column() == numbers
    assert found.comments.get("v", "") == comment
    assert len(found.notes) == 1
    assert found.told.startswith("Texts of sales are read as what they say: v ")
    assert found.told.count(".") >= 1
    assert found.told.endswith(".")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


TEXTS = {
    "codes": ["00123", "01234", "99999"],
    "codes late": [*(str(i) for i in range(10, 3000)), "007"],
    "telephones": ["+491701234567", "+4930123456"],
    "telephones apart": ["0170 1234567", "030 123456"],
    "telephones in threes": ["555 123 456", "555 987 654"],
    "telephones with dashes": ["555-1234", "555-9876"],
    "addresses of machines": ["10.0.0.1", "192.168.1.17"],
    "versions": ["1.2.3", "1.10.0"],
    "seats": ["12A", "13A", "14A"],
    "seats apart": ["12 B", "13 B"],
    "times of day": ["5 pm", "6 pm"],
    "clock": ["06:30", "17:15"],
    "days": ["5 Jan", "6 Jan"],
    "ranges": ["1-3", "4-6"],
    "fractions": ["1/2", "3/4"],
    "sizes": ["10x20", "30x40"],
    "several units": ["12 kg", "3 lb"],
    "unit in some": ["12 kg", "3"],
    "words": ["red", "blue"],
    "nothing but words for nothing": ["n/a", "-", "none"],
    "Indian groups": ["12,34,567", "1,23,456"],
    "wrong groups": ["1,2345.00", "12,3.4"],
    "open parenthesis": ["(1,200.00", "1,500.50"],
    "all in parentheses": ["(12)", "(15)"],
    "two signs": ["-$-4.00", "$5.00"],
    "too large to be whole": ["123456789012345678901 kg", "1 kg"],
    "Norway": ["NO", "NO"],
    "only yes": ["Y", "Y"],
    "three answers": ["yes", "no", "perhaps"],
    "two languages": ["yes", "nein"],
    "dates with both orders beside others": ["2025-01-05", "13/01/2025", "01/13/2025"],
    "no such day": ["31.02.2025", "30.02.2025"],
    "neither order": ["13/13/2025", "14/14/2025"],
    "both orders": ["13/01/2025", "01/13/2025"],
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_stays_text(name: str, folder: Path) -> None:
    found = column(folder, TEXTS[name])
    assert found.types["v"] == "text"
    assert found.column() == TEXTS[name]
    assert found.notes == ()


@pytest.mark.parametrize("name", ["phone", "zip", "PLZ", "product_code", "account id"])
def test_names_of_columns_that_hold_no_amounts(name: str, folder: Path) -> None:
    assert column(folder, ["12,345", "67,890"], name=name).types[name] == "text"


DOUBTS: dict[str, tuple[list[str], str, str]] = {
    "point and three digits": (["1.234", "5.678"], ";", "since “1.234” may be thousands or have three decimals."),
    "point, three digits and plain": (["1.234", "12"], ";", "“1.234” may be thousands"),
    "comma and three digits": (["1,234 EUR", "5,678 EUR"], ";", "“1,234 EUR” may be thousands"),
    "both styles": (["1,50", "2.75"], ",", "since some values have a decimal point and others a decimal comma."),
    "two currencies": (["$5.00", "7.00 €"], ",", "since it holds amounts in $ and €."),
    "some with a currency": (["$5.00", "7.00"], ",", "since only some of its amounts have a currency."),
    "several slips": (
        [*[f"${i}.50" for i in range(297)], "call us", "ask", "?"], ",",
        "numbers, since 3 rows hold none, the first of them, row 298 below the header, “call us”.",
    ),
    "days or months beside other forms": (
        ["2025-01-05", "03/04/2025"], ",", "whether “03/04/2025” begins with the day or the month.",
    ),
    "days or months": (["01/02/2025", "03/04/2025"], ",", "whether “01/02/2025” begins with the day or the month."),
    "one slip": ([*[f"${i}.50" for i in range(99)], "call us"], ",", "since row 100 below the header holds “call us”."),
    "one odd date": (
        [*[f"{i % 28 + 1}.03.2025" for i in range(99)], "soon"], ",", "dates, since row 100 below the header",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DOUBTS)
def test_a_doubt_keeps_the_text_and_is_said(name: str, folder: Path) -> None:
    texts, delimiter, said = DOUBTS[name]
    found = column(folder, texts, delimiter)
    assert found.column() == texts
    (note,) = found.notes
    assert note.startswith("sales.v is read as text and not as ")
    assert said in note


def test_one_bad_value_beyond_any_sample_keeps_the_text(folder: Path) -> None:
    texts = [*[f"${i},000.50" for i in range(1, 8000)], "ask Bob"]
    found = column(folder, [t for t in texts if len(t) < 12])
    assert found.types["v"] == "text"
    assert "holds “ask Bob”" in found.told


def test_a_word_beyond_what_is_guessed_from_is_no_error(folder: Path) -> None:
    rows = "".join(f"{i},{i * 1.5},2025-01-{i % 28 + 1:02d}\n" for i in range(120_000))
    found = loaded(folder, f"id,amount,day\n{rows}120001,n/a,2025-01-01\n120002,5,-\n")
    assert found.types == {"id": "integer", "amount": "real", "day": "date"}
    assert found.told.endswith("and “-” and “n/a” there count as missing.")
    odd = loaded(folder, f"id,amount,day\n{rows}0120001,see below,2025-01-01\n")
    assert odd.types == {"id": "text", "amount": "text", "day": "date"}
    assert "sales.amount is read as text and not as numbers, since row 120,001 below the header holds" in odd.told


def test_a_point_before_decimals_stays_one(folder: Path) -> None:
    """Where nothing in the file speaks for a decimal comma."""
    assert column(folder, ["1.234", "5.678"]).column() == [1.234, 5.678]
    assert column(folder, ["1.234", "n/a", "5.678"]).column() == [1.234, None, 5.678]
    assert column(folder, ["0.998", "1.234"], ";").column() == [0.998, 1.234]
    assert column(folder, ["1.5", "1.234"], ";").column() == [1.5, 1.234]


def test_a_german_export(folder: Path) -> None:
    found = loaded(
        folder,
        "Datum;Kunde;Menge;Betrag;Rabatt;Bezahlt;PLZ\n"
        "01.02.2025;Ägir;1.200;1.234,50;5,5 %;ja;01067\n02.02.2025;Brigg;12;2,00;0 %;nein;10115\n",
    )
    assert found.types == {
        "Datum": "date", "Kunde": "text", "Menge": "text", "Betrag": "real", "Rabatt": "real", "Bezahlt": "boolean",
        "PLZ": "text",
    }  # fmt: skip
    assert found.rows[0] == (D(2025, 2, 1), "Ägir", "1.200", 1234.5, 5.5, True, "01067")
    assert found.notes[0] == (
        "Texts of sales are read as what they say: Datum (day first) as dates; Betrag (decimal comma), Rabatt (in "
        "percent, decimal comma) as numbers; Bezahlt as yes or no."
    )
    assert found.notes[1] == (
        "sales.Menge is read as text and not as numbers, since “1.200” may be thousands or have three decimals."
    )


# -- dates and flags ---------------------------------------------------------------------------------------------------

DATES: dict[str, tuple[list[str], list[Any], str]] = {
    "German": (["31.01.2025", "1.2.2025"], [D(2025, 1, 31), D(2025, 2, 1)], "v (day first) as dates"),
    "German, short years": (["31.01.25", "01.02.99"], [D(2025, 1, 31), D(1999, 2, 1)], "v (day first)"),
    "day first": (["31/01/2025", "01/02/2025"], [D(2025, 1, 31), D(2025, 2, 1)], "v (day first)"),
    "month first": (["01/31/2025", "02/01/2025"], [D(2025, 1, 31), D(2025, 2, 1)], "v (month first)"),
    "month first, short": (["1/31/25", "2/1/25"], [D(2025, 1, 31), D(2025, 2, 1)], "v (month first)"),
    "dashes": (["31-01-2025", "01-02-2025"], [D(2025, 1, 31), D(2025, 2, 1)], "v (day first)"),
    "English": (["Jan 5, 2025", "March 10, 2025", "Feb. 1 2025"], [D(2025, 1, 5), D(2025, 3, 10), D(2025, 2, 1)], ""),
    "British": (["5 Jan 2025", "10 February 2025", "1 sept 2025"], [D(2025, 1, 5), D(2025, 2, 10), D(2025, 9, 1)], ""),
    "Oracle": (["05-Jan-2025", "10-FEB-2025"], [D(2025, 1, 5), D(2025, 2, 10)], ""),
    "with gaps": (["2025-01-05", "n/a", "2025-02-10"], [D(2025, 1, 5), None, D(2025, 2, 10)], "“n/a” there"),
    "German minutes": (
        ["31.01.2025 14:30", "1.2.2025 08:05:09"], [T(2025, 1, 31, 14, 30), T(2025, 2, 1, 8, 5, 9)], "as times",
    ),
    "minutes in some": (["31/01/2025 14:30", "01/02/2025"], [T(2025, 1, 31, 14, 30), T(2025, 2, 1)], "(day first)"),
    "afternoon": (
        ["01/31/2025 2:30 PM", "02/01/2025 12:05 am"], [T(2025, 1, 31, 14, 30), T(2025, 2, 1, 0, 5)], "(month first)",
    ),
    "in several forms": (
        ["2025-01-05", "06.01.2025", "Jan 7, 2025", "8 Jan 2025", "13/01/2025", "01/02/25"],
        [D(2025, 1, 5), D(2025, 1, 6), D(2025, 1, 7), D(2025, 1, 8), D(2025, 1, 13), D(2025, 2, 1)],
        "v (in several forms, day first) as dates",
    ),
    "in several forms with times": (
        ["2025-01-05 10:30", "06.01.2025", "-"], [T(2025, 1, 5, 10, 30), T(2025, 1, 6), None], "v (in several forms, ",
    ),
    "comma": (["31.01.2025, 14:30", "01.02.2025, 9:00"], [T(2025, 1, 31, 14, 30), T(2025, 2, 1, 9)], "as times"),
    "English minutes": (
        ["Jan 5, 2025 14:30", "Feb 1, 2025 at 9:05 am"], [T(2025, 1, 5, 14, 30), T(2025, 2, 1, 9, 5)], "as times",
    ),
    "ISO minutes with gaps": (
        ["2025-01-05T14:30:00Z", "-", "2025-01-06 10:00"], [T(2025, 1, 5, 14, 30), None, T(2025, 1, 6, 10)], "as times",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DATES)
def test_texts_become_dates(name: str, folder: Path) -> None:
    texts, dates, said = DATES[name]
    found = column(folder, texts)
    assert found.types["v"] == ("timestamp" if isinstance(dates[0], T) else "date")
    assert found.column() == dates
    assert said in found.told


@pytest.mark.parametrize(
    ("yes", "no"), [("yes", "no"), ("Yes", "NO"), ("ja", "nein"), ("Y", "N"), ("J", "N"), ("True", "False")]
)
def test_texts_become_flags(yes: str, no: str, folder: Path) -> None:
    found = column(folder, [yes, no, "", "n/a", yes])
    assert found.types["v"] == "boolean"
    assert found.column() == [True, False, None, None, True]
    assert "v as yes or no" in found.told


@pytest.mark.parametrize("name", ["is_member", "HasCar", "active", "newsletter_flag"])
def test_zero_and_one_are_flags_where_the_name_says_so(name: str, folder: Path) -> None:
    found = column(folder, ["1", "0", "", "1"], name=name)
    assert found.column(name) == [True, False, None, True]
    assert f"{name} (1 is yes) as yes or no" in found.told
    assert column(folder, ["1", "n/a", "0"], name=name).column(name) == [True, None, False]


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("goals", ["1", "0", "1"]),
        ("is_member", ["1", "2", "1"]),
        ("is_member", ["1", "1"]),
        ("is_member", ["0", "-1", "1"]),
        ("v", ["1", "2", "2"]),
    ],
)
def test_other_small_numbers_stay_numbers(name: str, texts: list[str], folder: Path) -> None:
    found = column(folder, texts, name=name)
    assert found.column(name) == [int(text) for text in texts]
    assert found.notes == ()


def test_a_date_is_made_of_year_and_month(folder: Path) -> None:
    found = loaded(folder, "Year,Month,amount\n2024,12,5\n2025,3,7\n")
    assert found.column("date") == [D(2024, 12, 1), D(2025, 3, 1)]
    assert found.notes == ("sales.date is made of Year and Month: the first day of each month.",)
    found = loaded(folder, "year,month,day,amount\n2024,12,31,5\n")
    assert found.column("date") == [D(2024, 12, 31)]
    assert found.notes == ("sales.date is made of year, month and day.",)


@pytest.mark.parametrize(
    "text",
    [
        "year,month\n2025,13\n2025,1\n",
        "year,month\n2025,\n2025,1\n",
        "year,month\n3,1\n4,2\n",
        "year,month,day\n2025,2,30\n",
        "year,month,sold\n2025,2,2025-01-01\n",
        "year,month,date\n2025,2,soon\n",
        "year,month\n",
        "year,amount\n2025,2\n",
    ],
)
def test_no_date_is_made_of_what_is_none_or_beside_one(text: str, folder: Path) -> None:
    found = loaded(folder, text)
    assert list(found.types) == text.partition("\n")[0].split(",")
    assert found.notes == ()


# -- totals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["Total", "TOTAL:", "Grand Total", "Sum", "Summe", "Gesamt"])
def test_a_row_of_totals_is_left_out(label: str, folder: Path) -> None:
    found = loaded(
        folder,
        'day,city,amount,share,kg\n01.02.2025,Rome,"$1,200.50",40%,3\n13.02.2025,Oslo,$2.00,60%,4\n'
        f'{label},,"$1,202.50",100%,7\n',
    )
    assert found.types == {"day": "date", "city": "text", "amount": "real", "share": "real", "kg": "integer"}
    assert len(found.rows) == 2
    assert len(found.notes) == 1
    assert f"the last row of sales, “{label.rstrip(':')}”, holds the sums of the others and is left out." in found.told


def test_totals_of_a_column_that_is_not_the_first(folder: Path) -> None:
    found = loaded(folder, "id,city,amount\n1,Rome,2\n2,Oslo,3\n,Total,5\n")
    assert found.rows == [(1, "Rome", 2), (2, "Oslo", 3)]


@pytest.mark.parametrize(
    "last", ["Total,6", "Total,", "Totals of Rome,5", "Rome Total,5", "Total,about 5"], ids=lambda text: text
)
def test_a_row_that_is_no_total_stays(last: str, folder: Path) -> None:
    found = loaded(folder, f"city,amount\nRome,2\nOslo,3\n{last}\n")
    assert len(found.rows) == 3
    assert ("is called “Total”, but its numbers are not the sums" in found.told) == last.startswith("Total,")


def test_a_total_may_be_a_customer(folder: Path) -> None:
    assert len(loaded(folder, "customer,amount\nTotal,2\nOslo,3\n").rows) == 2


def test_columns_called_total_and_count_are_columns(folder: Path) -> None:
    path = folder / "bills.csv"
    path.write_text("city,total,count\nRome,2.50,3\nRome,1.50,1\nOslo,3.00,5\nTotal,7.00,9\n")
    for question, rows in (
        ("total total by city", (("Rome", 4.0), ("Oslo", 3.0))),
        ("total count by city", (("Oslo", 5), ("Rome", 4))),
        ("how many bills", ((3,),)),
    ):
        answer_with(rows, question, db=str(path))


# -- hostile content ---------------------------------------------------------------------------------------------------


def test_names_and_values_are_never_sql(folder: Path) -> None:
    name = """a"b') DROP TABLE sales --"""
    found = column(folder, ["$1.50", "$2.50"], name=name)
    assert found.column(name) == [1.5, 2.5]
    assert found.types == {"k": "integer", name: "real"}
    unit = ["5 o'x", "6 o'x", "7 %s", "8 \\1", "9 {x}", "1 x'); DROP TABLE sales; --"]
    assert column(folder, unit).column() == unit
    quotes = ['"', "'", '""', "x", "1'"]
    assert column(folder, quotes).column() == quotes


@pytest.mark.parametrize("name", ["x", "rowid", "text_values", "Total", "values", "v v", "ä", "place"])
def test_columns_may_be_called_anything(name: str, folder: Path) -> None:
    found = column(folder, ["$1,000.50", "-", "$2.00"], name=name)
    assert found.column(name) == [1000.5, None, 2.0]
    assert column(folder, [*["31.12.2025"] * 40, "x"], name=name).types[name] == "text"


def test_a_table_may_be_called_like_what_is_made_on_the_way(folder: Path) -> None:
    for name in ("text_values.csv", "x.csv", "temp.csv"):
        found = loaded(folder, "k,v\n1,$5.50\n2,$6.50\n", name)
        assert found.column() == [5.5, 6.5]


def test_columns_of_nothing(folder: Path) -> None:
    found = loaded(folder, "k,a,b\n1,,-\n2,,\n3,,n/a\n")
    assert found.rows == [(1, None, "-"), (2, None, None), (3, None, "n/a")]
    assert loaded(folder, "a,b\n").rows == []


def test_a_value_of_enormous_length(folder: Path) -> None:
    texts = ["1" * 5000, "$" * 5000, "(" * 5000, "1," * 3000, "$1.00"]
    assert column(folder, texts).types["v"] == "text"


def test_quoted_values_with_delimiters_and_line_breaks(folder: Path) -> None:
    found = loaded(folder, 'k,note,v\n1,"a, ""b""\nc","1,000.50"\n2,d,"2,000.00"\n')
    assert found.rows == [(1, 'a, "b"\nc', 1000.5), (2, "d", 2000.0)]


def test_five_hundred_columns(folder: Path) -> None:
    names = [f"c{i}" for i in range(500)]
    row = ",".join(f"${i}.50" for i in range(500))
    found = loaded(folder, f"{','.join(names)}\n{row}\n{row}\n")
    assert set(found.types.values()) == {"real"}
    assert len(found.told) < 500
    assert "and 488 more as numbers" in found.told


@pytest.mark.parametrize("text", ["", "\n", "   \n"])
def test_an_empty_file(text: str, folder: Path) -> None:
    for name in ("sales.csv", "sales.csv.gz"):
        with pytest.raises(SourceError, match=r"sales\.csv(\.gz)? is empty"):
            loaded(folder, gzip.compress(text.encode()) if name.endswith(".gz") else text, name)


def test_a_file_of_one_column(folder: Path) -> None:
    for text, values in (
        ("city\nRome\nOslo\n", ["Rome", "Oslo"]),
        ("amount\n1,50\n22,25\n", [1.5, 22.25]),
        ("amount\n$1,234.50\n$2.00\n", [1234.5, 2.0]),
        ("name\nBerg, Anna\nLund; Bo\n", ["Berg, Anna", "Lund; Bo"]),
        ('name\n"Berg, Anna"\nBo\n', ["Berg, Anna", "Bo"]),
        ("day\n31.01.2025\n01.02.2025\n", [D(2025, 1, 31), D(2025, 2, 1)]),
    ):
        found = loaded(folder, text)
        assert [row for (row,) in found.rows] == values


# -- encodings and other files -----------------------------------------------------------------------------------------


def test_a_file_in_windows_1252(folder: Path) -> None:
    text = "Straße;Betrag\nMühle;5,50 €\nGröße “1”;7,25 €\n"
    found = loaded(folder, text.encode("cp1252"))
    assert found.rows == [("Mühle", 5.5), ("Größe “1”", 7.25)]
    assert found.notes[0] == "3 lines of sales.csv are not UTF-8 and read as Windows-1252."


def test_lines_that_are_utf8_stay_so_beside_others(folder: Path) -> None:
    found = loaded(folder, "k,v\n1,Zoë\n".encode() + b"2,Andr\xe9\n3,\x81x\n")
    assert found.column() == ["Zoë", "André", "\x81x"]
    assert found.notes == ("2 lines of sales.csv are not UTF-8 and read as Windows-1252.",)
    packed = loaded(folder, gzip.compress(b"k,v\n1,Andr\xe9\n"), "sales.csv.gz")
    assert packed.column() == ["André"]


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-be"])
def test_a_file_in_utf_16(coding: str, folder: Path) -> None:
    bom = "\ufeff" if coding == "utf-16-be" else ""
    found = loaded(folder, f"{bom}k\tv\n1\tZoë\n2\tBo\n".encode(coding), "sales.tsv")
    assert found.column() == ["Zoë", "Bo"]
    assert found.notes == ("sales.tsv is UTF-16 text and is read as such.",)


def test_bytes_that_are_no_text_are_not_taken_for_an_old_encoding(folder: Path) -> None:
    with pytest.raises(SourceError, match="not UTF-8 text"):
        loaded(folder, b"k,v\n1,\xe9\0\xff\n")


def test_a_letter_cut_by_a_block_is_still_utf8(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_BLOCK", 3)
    path = folder / "a.csv"
    path.write_text("äöü€ß" * 10)
    assert not encoding.is_other_text(path)
    path.write_bytes("äöü".encode("latin-1"))
    assert encoding.is_other_text(path)


def test_json_lines(folder: Path) -> None:
    lines = [{"id": 1, "paid": "$5.50", "day": "31.01.2025", "ok": True}, {"id": 2, "paid": "$7.00", "day": None}]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    for name in ("sales.jsonl", "sales.ndjson"):
        found = loaded(folder, text, name)
        assert found.types == {"id": "integer", "paid": "real", "day": "date", "ok": "boolean"}
        assert found.rows == [(1, 5.5, D(2025, 1, 31), True), (2, 7.0, None, None)]
    odd = loaded(
        folder, '{"at": "10:30:00", "tags": ["a"], "code": "007", "n": 1}\n{"n": "x", "code": "8"}\n', "odd.jsonl"
    )
    assert odd.types == {"at": "text", "tags": "other", "code": "text", "n": "text"}
    for content, said in (
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("[1, 2]\n", "holds no objects"),
        ("1\n", "no objects"),
    ):
        with pytest.raises(SourceError, match=said):
            loaded(folder, content, "other.jsonl")
    with pytest.raises(SourceError, match=r"Line 1 or 2 of broken\.jsonl is no whole JSON object"):
        loaded(folder, '{"id": 1\nnonsense\n', "broken.jsonl")


# -- answers -----------------------------------------------------------------------------------------------------------


def test_what_was_read_can_be_added_up_and_is_said(folder: Path) -> None:
    path = folder / "orders.csv"
    path.write_text('id,city,price,paid\n1,Rome,"$1,200.00",yes\n2,Rome,$800.00,no\n3,Oslo,n/a,yes\n')
    found = answer_with((("Rome", 2000.0), ("Oslo", None)), "total price by city", db=str(path))
    assert "price (in $) as numbers" in found.note
    doubtful = folder / "bills.csv"
    doubtful.write_text("id;city;price\n1;Rome;1.200\n2;Oslo;3.500\n")
    told = ask("total price by city", db=str(doubtful))
    assert told.status != "answered"
    assert "“1.200” may be thousands or have three decimals" in told.summary


def test_nothing_that_was_made_on_the_way_is_left(folder: Path) -> None:
    path = folder / "sales.csv"
    path.write_text("k,v\n1,$5.50\n")
    reader = open_reader(find(str(path)), folder)
    with reader.session() as session:
        assert session.fetch("SELECT table_name FROM duckdb_tables()").rows == [("sales",)]
        with pytest.raises(Exception, match=r".") as error:
            session.fetch("DELETE FROM sales; SET memory_limit = '9GB'")
        assert not isinstance(error.value, duckdb.Error)

"""Forms of other data as texts: there and back, in words, and run on DuckDB and SQLite; and what is no form."""

from dataclasses import replace
from typing import Any

import pytest

from mirror.query.other_data.build import build
from mirror.query.other_data.counted_once import is_counted_once
from mirror.query.other_data.form_sentence import sentence
from mirror.query.other_data.form_text import FormError, asked_of, text_of
from mirror.schema.database import Column, Database, ForeignKey, Relation
from tests.mirror.language.reading.library import DATABASE, rows

NAMES = {"of": "members", "show": ["members.name"]}
TITLES = {"of": "books", "show": ["books.title"]}
LOANS = {"measure": ["count(loans)"]}

# (form, its sentence, its rows in any order)
FORMS: list[tuple[dict[str, Any], str, list[tuple[Any, ...]]]] = [
    (
        {"measure": ["count(loans where loans.fee > 1)"], "by": ["members"]},
        "Show the number of loans where the loan fee is above 1 by member",
        [(1, "Ada Berg", 2), (3, "Cy Dahl", 1), (2, "Bo Carlsen", 0)],
    ),
    (
        {"measure": ["count(loans where loans.fee >= 1) / count(loans)"]},
        "Show the share of loans where the loan fee is at least 1",
        [(0.75,)],
    ),
    (
        {"measure": ["sum(loans.fee) / count(members)"]},
        "Show the total loan fee divided by the number of members",
        [(2.5,)],
    ),
    (
        {"measure": ["sum(loans.fee where loans.fee < 3) - max(loans.fee)"]},
        "Show the total loan fee where the loan fee is below 3 less the highest loan fee",
        [(4.0,)],
    ),
    (
        {"measure": ["avg(days from loans.lent to loans.returned)"]},
        "Show the average days from the loan lent to the loan returned",
        [(8.5,)],
    ),
    (
        {"measure": ["max(hours from loans.lent to loans.returned)"], "by": ["books.genre"]},
        "Show the highest hours from the loan lent to the loan returned by book genre",
        [("travel", 480.0), ("crime", 240.0), ("poetry", None)],
    ),
    (
        {**TITLES, "where": ["books.title contains 'WAR'"]},
        "Show books with title where the book title contains WAR",
        [("War of Salt",)],
    ),
    (
        {**LOANS, "where": ["weekday of loans.lent in (6, 7)"]},
        "Show the number of loans where the weekday of the loan lent is 6 or 7",
        [(7,)],
    ),
    (
        {**LOANS, "where": ["hour of loans.lent >= 18"]},
        "Show the number of loans where the hour of the day of the loan lent is at least 18",
        [(3,)],
    ),
    (
        {**NAMES, "has": ["loans of members >= 3"]},
        "Show members with name, only members that have at least 3 loans",
        [("Ada Berg",), ("Cy Dahl",)],
    ),
    (
        {**NAMES, "has": ["every loans of members where loans.returned is null"]},
        "Show members with name, only members that have loans, all of them where the loan returned is empty",
        [],
    ),
    (
        {**NAMES, "has": ["every loans of members where loans.fee >= 1", "loans of members"]},
        "Show members with name, only members that have loans, all of them where the loan fee is at least 1 and that "
        "have loans",
        [("Ada Berg",), ("Cy Dahl",)],
    ),
    (
        {**TITLES, "has": ["every loans of books where members.name contains 'a'", "loans of books"]},
        "Show books with title, only books that have loans, all of them where the member name contains a and that have "
        "loans",
        [("Red Sand",), ("Blue Rain",), ("War of Salt",), ("Quiet",)],
    ),
    (
        {**NAMES, "has": ["no loans of members where loans.lent >= '2025-01-01' and loans.lent < '2026-01-01'"]},
        "Show members with name, only members that have no loans where the loan lent is in 2025",
        [("Di Ek",)],
    ),
    (
        {**TITLES, "where": ["books.price > mean within books.genre"]},
        "Show books with title where the book price is above its average at the same book genre",
        [("Blue Rain",)],
    ),
    (
        {"of": "loans", "show": ["loans.id"], "where": ["loans.returned > loans.lent"]},
        "Show loans with id where the loan returned is after the loan lent",
        [(1,), (3,), (5,), (7,)],
    ),
    (
        {**LOANS, "by": ["members", "books.genre"], "order": "1 desc", "top": 1, "per": 1},
        "Show the number of loans by member and book genre, the one with the highest number of loans of each member",
        [(1, "Ada Berg", "crime", 2), (2, "Bo Carlsen", "crime", 2), (3, "Cy Dahl", "crime", 2)],
    ),
    (
        {**LOANS, "by": ["books.genre"], "share": True},
        "Show the share of each book genre in the number of loans",
        [("crime", 0.75), ("travel", 0.125), ("poetry", 0.125)],
    ),
    (
        {**LOANS, "by": ["members"], "outer": "avg"},
        "Show the average of the number of loans per member",
        [(2.6667,)],
    ),
    (
        {"of": "books", "show": ["books.title", "books.pages"], "order": "2 desc", "top": 1, "skip": 1},
        "Show books with title and pages, only the second highest book pages",
        [("Blue Rain", 400)],
    ),
    (
        {**LOANS, "by": ["books"], "order": "1 desc", "top": 1, "having": ["1 > mean"]},
        "Show the number of loans by book with a number of loans above the mean of all, the one with the highest "
        "number of loans",
        [(1, "Red Sand", 4)],
    ),
    (
        {**LOANS, "by": ["members"], "count": True, "having": ["1 >= mean"]},
        "Show how many members have a number of loans of at least the mean of all",
        [(2,)],
    ),
    (
        {**LOANS, "by": ["month_of_year of loans.lent"], "where": ["members.student = true"]},
        "Show the number of loans by month of the year of the loan lent where the member student is true",
        [(1, 2), (3, 1)],
    ),
    (
        {"by": ["members.city"], "where": ["members.city is not null"]},
        "Show the different member cities where the member city is filled",
        [("Bern",), ("Oslo",)],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("form", "words", "_rows"), FORMS)
def test_a_form_goes_to_texts_and_back_and_into_words(form: dict[str, Any], words: str, _rows: object) -> None:
    asked = asked_of(form, DATABASE)
    assert text_of(asked) == form
    assert asked_of(text_of(asked), DATABASE) == asked
    assert sentence(asked, DATABASE) == words


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@pytest.mark.parametrize(("form", "_words", "wanted"), FORMS)
def test_a_form_runs(form: dict[str, Any], _words: str, wanted: list[tuple[Any, ...]], dialect: str) -> None:
    database = replace(DATABASE, dialect=dialect)
    sql = build(asked_of(form, database), database).sql
    assert sorted(map(repr, rows(sql, dialect))) == sorted(map(repr, wanted))


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"what": 1}, "unknown keys what"),
        ({}, "one of `of`, `measure` and `by` must be there"),
        ({**LOANS, "outer": "most"}, "outer is 'most', and must be one of sum,"),
        ({**LOANS, "order": "first"}, "order is 'first', and must be such as `1 desc`"),
        ({**LOANS, "order": "0 desc"}, "must be such as `1 desc`"),
        ({"measure": "count(loans) ;"}, "is not read from “;” on"),
        ({"measure": "total(loans)"}, "is wanted in place of total"),
        ({"measure": "count(loans"}, "“)” is wanted in place of its end"),
        ({"measure": "count(loans) count"}, "the end is wanted in place of count"),
        ({"of": "rents"}, "there is no table rents; there are members, books, loans"),
        ({"of": "books", "show": "books.isbn"}, "books has no column isbn; it has id, title"),
        ({"of": "books", "show": "books"}, "“.” is wanted in place of its end"),
        ({"of": "books", "show": "books.title via loans.id"}, "no foreign key leads by loans.id to books"),
        ({**TITLES, "where": "books.price > "}, "a value is wanted in place of its end"),
        ({**TITLES, "where": "books.price > high"}, "('text', a number, true or false) is wanted in place of high"),
        ({**TITLES, "where": "books.price near 3"}, "is wanted in place of near"),
        ({**NAMES, "has": "loans via loaned of members"}, "no foreign key leads by loans.loaned to members"),
        ({**NAMES, "has": "loans of members > 1.5"}, "rows are counted in whole numbers"),
        ({**LOANS, "having": "2 > 3"}, "there is no measure 2; there are 1"),
        ({"measure": "count('loans')"}, "a table is wanted in place of 'loans'"),
    ],
)  # fmt: skip
def test_what_is_no_form_is_told_in_a_sentence(form: dict[str, Any], why: str) -> None:
    with pytest.raises(FormError) as raised:
        asked_of(form, DATABASE)
    assert why in str(raised.value)


def test_names_that_are_words_of_the_texts_or_no_plain_names_are_quoted() -> None:
    books = DATABASE.relation("books")
    columns = (*books.columns, replace(books.columns[1], name="Unit Price"), replace(books.columns[1], name="where"))
    odd = replace(DATABASE, relations=(replace(books, name="of", columns=columns),), foreign_keys=())
    form = {"of": "of", "show": ['"of"."Unit Price"', '"of"."where"'], "where": ["\"of\".title = 'it''s'"]}
    assert text_of(asked_of(form, odd)) == form


def test_one_table_in_two_parts_is_told_by_its_key() -> None:
    lent_by = ForeignKey("loans", ("book_id",), "members", ("id",), optional=False)
    two = replace(DATABASE, foreign_keys=(*DATABASE.foreign_keys, lent_by))
    form = {"measure": ["count(loans)"], "by": ["members.city via loans.book_id"]}
    assert text_of(asked_of(form, two)) == form


@pytest.mark.parametrize(
    ("form", "once"),
    [
        ({"measure": "sum(books.price)", "by": "books.genre"}, True),
        ({"measure": "sum(books.price)", "by": "members"}, False),
        ({"measure": "avg(books.price)", "by": "month of loans.lent"}, False),
        ({"measure": "max(books.price)", "by": "members.city"}, True),
        ({"measure": "count(books)", "by": "members"}, True),
        ({"measure": "sum(loans.fee)", "by": "books.genre"}, True),
        ({"measure": "sum(loans.fee * books.price)"}, True),
        ({"measure": "sum(books.price * loans.fee)"}, False),
        ({"measure": "count(books where loans.fee > 1)"}, False),
        ({"of": "books", "show": ["books.title", "loans.lent"]}, False),
        ({"of": "loans", "show": ["loans.lent", "books.title"]}, True),
        ({"measure": "sum(loans.fee) / sum(books.price)", "by": "members"}, False),
    ],
)
def test_whether_rows_are_counted_once(form: dict[str, Any], once: bool) -> None:
    assert is_counted_once(asked_of(form, DATABASE), DATABASE) is once


def test_conditions_on_rows_that_belong_by_one_of_two_keys_stay_on_those_rows() -> None:
    agents = Relation("agents", (Column("id", "integer", unique=True), Column("name", "text")), ("id",))
    calls = Relation("calls", tuple(Column(n, "integer") for n in ("id", "taken_by", "closed_by", "rated")), ("id",))
    keys = tuple(ForeignKey("calls", (name,), "agents", ("id",)) for name in ("taken_by", "closed_by"))
    database = Database("duckdb", "desk", (agents, calls), keys)
    form = {"of": "agents", "show": ["agents.name"], "has": ["no calls via closed_by of agents where calls.rated = 1"]}
    sql = " ".join(build(asked_of(form, database), database).sql.split())
    assert "FROM calls WHERE calls.closed_by = agents.id AND calls.rated = 1" in sql

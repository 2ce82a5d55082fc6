"""Questions about a small library, and the form that each is read as; what is never read; and bounds on any text."""

import sys
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from mirror.language.reading.covers import covers, linker_of, spans_of, tokens_of
from mirror.language.reading.held import is_contradiction
from mirror.language.reading.lexemes import cut
from mirror.language.reading.linking import Linker
from mirror.language.reading.reading import Reading, readings
from mirror.query.other_data.form_text import text_of
from mirror.schema.database import Column, Database, ForeignKey, Relation
from tests.mirror.language.reading.library import DATABASE

NOW = datetime(2025, 6, 15)
IN_2024 = "loans.lent >= '2024-01-01' and loans.lent < '2025-01-01'"
IN_2025 = "loans.lent >= '2025-01-01' and loans.lent < '2026-01-01'"
YEAR_2025 = IN_2025.split(" and ")
BOOKS = {"of": "books", "show": ["books.title"]}
PRICED = {"of": "books", "show": ["books.title", "books.price"]}
MEMBERS = {"of": "members", "show": ["members.name"]}
LENT_DAYS = "avg(days from loans.lent to loans.returned)"

# (question, its form as texts)
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    # numbers
    ("how many members", {"measure": ["count(members)"]}),
    ("how many different cities", {"measure": ["distinct(members.city)"]}),
    ("median pages", {"measure": ["median(books.pages)"]}),
    ("average price by genre", {"measure": ["avg(books.price)"], "by": ["books.genre"]}),
    ("fees per book", {"measure": ["sum(loans.fee)"], "by": ["books"]}),
    ("total fee by city and genre", {"measure": ["sum(loans.fee)"], "by": ["members.city", "books.genre"]}),
    ("total fees of Ada Berg", {"measure": ["sum(loans.fee)"], "where": ["members.name = 'Ada Berg'"]}),
    (
        "number of loans by month in 2025",
        {"measure": ["count(loans)"], "by": ["month of loans.lent"], "where": YEAR_2025},
    ),
    ("fee by weekday", {"measure": ["sum(loans.fee)"], "by": ["weekday of loans.lent"]}),
    (
        "average fee in march 2025",
        {"measure": ["avg(loans.fee)"], "where": ["loans.lent >= '2025-03-01'", "loans.lent < '2025-04-01'"]},
    ),
    # shares, quotients, differences, times between, means of numbers
    (
        "what share of members are students",
        {"measure": ["count(members where members.student = true) / count(members)"]},
    ),
    ("share of loans by genre", {"measure": ["count(loans)"], "by": ["books.genre"], "share": True}),
    (
        "ratio of loans in 2025 to loans in 2024",
        {"measure": [f"count(loans where {IN_2025}) / count(loans where {IN_2024})"]},
    ),
    (
        "how many more loans in 2025 than in 2024",
        {"measure": [f"count(loans where {IN_2025}) - count(loans where {IN_2024})"]},
    ),
    ("how long are books lent on average", {"measure": [LENT_DAYS]}),
    ("average number of loans per member", {"measure": ["count(loans)"], "by": ["members"], "outer": "avg"}),
    # first places
    (
        "which genre has the most books",
        {"measure": ["count(books)"], "by": ["books.genre"], "order": "1 desc", "ties": True},
    ),
    ("the 3 longest books", {"of": "books", "show": ["books.title", "books.pages"], "order": "2 desc", "top": 3}),
    ("cheapest book", {**PRICED, "order": "2 asc", "ties": True}),
    ("the second most expensive book", {**PRICED, "order": "2 desc", "top": 1, "skip": 1}),
    (
        "oldest member",
        {"of": "members", "show": ["members.name", "members.birth_date"], "order": "2 asc", "ties": True},
    ),
    # conditions
    ("members from Bern", {**MEMBERS, "where": ["members.city = 'Bern'"]}),
    ("members not from Bern", {**MEMBERS, "where": ["members.city <> 'Bern'"]}),
    ("crime or poetry books", {**BOOKS, "where": ["books.genre in ('crime', 'poetry')"]}),
    ("books with more than 100 pages", {**BOOKS, "where": ["books.pages > 100"]}),
    ("books between 100 and 300 pages", {**BOOKS, "where": ["books.pages >= 100", "books.pages <= 300"]}),
    ("members older than 30", {**MEMBERS, "where": ["members.birth_date < '1995-06-15'"]}),
    ("books that cost more than average", {**BOOKS, "where": ["books.price > mean"]}),
    ("books pricier than the average of their genre", {**BOOKS, "where": ["books.price > mean within books.genre"]}),
    ('books with title "War of Salt"', {**BOOKS, "where": ["books.title = 'War of Salt'"]}),
    # what belongs to rows, and conditions on numbers of groups
    ("books that were never lent", {**BOOKS, "has": ["no loans of books"]}),
    ("members without loans in 2025", {**MEMBERS, "has": [f"no loans of members where {IN_2025}"]}),
    ("members with more than 2 loans", {**MEMBERS, "has": ["loans of members > 2"]}),
    ("members with at least 2 loans in 2024", {**MEMBERS, "has": [f"loans of members >= 2 where {IN_2024}"]}),
    (
        "who borrowed both Red Sand and Quiet",
        {**MEMBERS, "has": [f"books of members where books.title = '{title}'" for title in ("Red Sand", "Quiet")]},
    ),
    ("genres with more than 1 book", {"measure": ["count(books)"], "by": ["books.genre"], "having": ["1 > 1"]}),
    (
        "genres with average price above 15",
        {"measure": ["avg(books.price)"], "by": ["books.genre"], "having": ["1 > 15"]},
    ),
    # lists
    ("list the names and cities of members", {"of": "members", "show": ["members.name", "members.city"]}),
]


def best(question: str, database: Database = DATABASE) -> Reading:
    return readings(question, database, NOW)[0]


@pytest.mark.parametrize(("question", "form"), QUESTIONS)
def test_a_question_is_read(question: str, form: dict[str, Any]) -> None:
    found = best(question)
    assert text_of(found.asked) == form
    assert found.unread == found.left == ()


def test_a_chart_is_asked_for_in_passing() -> None:
    assert best("fee as a bar chart by genre").asked.chart.type == "bar"


def test_the_cost_is_the_sum_of_its_terms() -> None:
    for reading in readings("which clients borrowed the most crime books in 2025", DATABASE, NOW, 5):
        assert sum(cost for _, cost in reading.terms) == pytest.approx(reading.cost)


@pytest.mark.parametrize(
    ("question", "unread"),
    [
        ("members who only borrowed crime", "only"),
        ("average humidity by genre", "humidity"),
        ("members of the purple club", "purple"),
        ('books called "Slow Fire"', "Slow Fire"),
        ("loans in 2024 or 2025", "2025"),
        ("number of loans in 2024 within 3 days", "3"),
    ],
)
def test_what_a_reading_leaves_out_is_named(question: str, unread: str) -> None:
    assert unread in best(question).unread


@pytest.mark.parametrize(
    ("question", "left"),
    [("how long do loans take on average by genre", "genre"), ("books sorted by price", "sorted by")],
)
def test_what_was_read_and_has_no_place_in_the_form_is_named(question: str, left: str) -> None:
    assert left in best(question).left


@pytest.mark.parametrize("question", ["loans in 2024 or 2025", "days between lent and lent"])
def test_no_reading_contradicts_itself(question: str) -> None:
    assert not any(is_contradiction(reading.asked) for reading in readings(question, DATABASE, NOW, 5))


@pytest.mark.parametrize("question", ["total price by member", "average pages by member city", "titles with lent"])
def test_no_reading_counts_a_row_several_times(question: str) -> None:
    found = readings(question, DATABASE, NOW, 5)
    assert found or "lent" in question
    for reading in found:
        asked = reading.asked
        assert asked.measures or asked.table == "loans" or "lent" not in str(asked.columns)
        if any(m.table == "books" and m.aggregate in ("sum", "avg") for m in asked.measures):
            assert {g.table for g in asked.groups} <= {"books"}


# -- words and links ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't stop", ["do", "not", "stop"]),
        ("they cannot", ["they", "can", "not"]),
        ("over $1,200.50", ["over", 1200.5]),
        ("2 million", [2_000_000]),
        ("3k and 1.5m", [3000, "and", 1_500_000]),
        ("twenty", [20]),
        ("a 'quoted text' and “another”", ["a", "quoted text", "and", "another"]),
        ("the 2nd", ["the", "2nd"]),
        ("ｆｕｌｌ　ｗｉｄｔｈ", ["full", "width"]),
        ("", []),
    ],
)
def test_a_text_is_cut(text: str, tokens: list[object]) -> None:
    assert [t.text if t.number is None else t.number for t in cut(text)] == tokens


@pytest.mark.parametrize(
    ("phrase", "kind", "place"),
    [
        ("members", "rel", "members"),
        ("clients", "rel", "members"),
        ("prices", "col", "books.price"),
        ("birth", "col", "members.birth_date"),
        ("oslo", "val", "members.city"),
        ("berg", "val", "members.name"),
        ("students", "flag", "members.student"),
    ],
)
def test_a_phrase_names_what_it_may(phrase: str, kind: str, place: str) -> None:
    linker = linker_of(DATABASE)
    found = linker.at(tuple(t.stem for t in cut(phrase)))
    shown = [(link.kind, link.table if link.column is None else f"{link.table}.{link.column}") for link in found]
    if phrase == "clients":  # no circle of synonyms has both
        assert shown == []
    else:
        assert (kind, place) in shown


def test_a_typo_is_mended_and_costs() -> None:
    linker = linker_of(DATABASE)
    (token,) = cut("membres")
    assert linker.at((token.stem,)) == ()
    assert [link.table for link in linker.corrected(token)][:1] == ["members"]
    assert all(link.cost >= 0.9 for link in linker.corrected(token))
    assert linker.corrected(cut("zzzzzz")[0]) == ()


# -- bad input ---------------------------------------------------------------------------------------------------------


def wide(columns: int, tables: int = 1) -> Database:
    relations = tuple(
        Relation(
            f"things_{t}",
            (
                Column("id", "integer", False, unique=True),
                *(Column(f"size of part {c}", "real") for c in range(columns)),
                Column("other_id", "integer"),
            ),
            ("id",),
        )
        for t in range(tables)
    )
    keys = tuple(ForeignKey(f"things_{t}", ("other_id",), f"things_{t - 1}", ("id",)) for t in range(1, tables))
    return Database("duckdb", "wide", relations, keys)


@pytest.mark.parametrize(
    ("question", "database"),
    [
        ("books and members with price over 3 " * 1_250, DATABASE),  # 10,000 words
        ("a" * 10_000, DATABASE),
        ("price " * 10_000, DATABASE),
        ("average size of part 17 by other", wide(500)),
        ("size of part 3 per thing 7 and things 8", wide(3, 200)),
        ("not " * 500, DATABASE),
    ],
    ids=["many words", "a long word", "one word often", "500 columns", "200 tables", "only not"],
)
@pytest.mark.timeout(60)
def test_any_text_takes_bounded_work(question: str, database: Database) -> None:
    calls = 0

    def count(*_: object) -> None:  # calls and returns: the same on a busy machine
        nonlocal calls
        calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        readings(question, database, NOW)
    finally:
        sys.setprofile(before)
    assert calls < 16_000_000


@pytest.mark.parametrize(
    "question",
    [
        "",
        "?!",
        "'",
        '"',
        "how many \u202e members",
        "how many memb\u0435rs",  # a Cyrillic letter
        "'; DROP TABLE members; --",
        "SELECT * FROM members",
        "members where 1=1 OR 'a'='a'",
        "books\x00",
        "\ud800",
    ],
)
def test_odd_texts_are_read_or_not_and_never_fail(question: str) -> None:
    for reading in readings(question, DATABASE, NOW):
        assert "DROP" not in reading.built.sql.upper()


def test_names_that_are_cues_keywords_or_one_another_are_read() -> None:
    odd = Database(
        "duckdb",
        "odd",
        (
            Relation(
                "order",
                (
                    Column("id", "integer", False, unique=True),
                    Column("total", "real"),
                    Column("count", "integer"),
                    Column("by", "text", values=("total", "select")),
                    Column("select", "text", values=("not", "max")),
                    Column("Unit Price", "real"),
                    Column("unit_price", "real"),
                ),
                ("id",),
            ),
            Relation("empty", (), ()),
        ),
    )
    for question in ("total total by by", "count by select", "order with by total", "unit price", "highest count"):
        for reading in readings(question, odd, NOW):
            assert reading.built.sql
    assert text_of(best("how many orders", odd).asked) == {"measure": ["count(order)"]}
    prices = {str(text_of(r.asked)) for r in readings("average unit price", odd, NOW)}
    assert len(prices) > 1  # two columns with the same words are two readings


def test_a_database_without_tables_or_rows_has_no_readings() -> None:
    assert readings("how many members", Database("duckdb", "nothing", ()), NOW) == []
    members = DATABASE.relation("members")
    columns = tuple(replace(c, values=(), index=(), low=None, high=None) for c in members.columns)
    nulls = replace(members, columns=columns, rows=0)
    assert best("how many members", Database("duckdb", "null", (nulls,))).built.sql


@pytest.mark.parametrize("table", [0, 77, 150, 199])
def test_a_column_that_two_hundred_tables_have_is_that_of_the_table_that_is_named(table: int) -> None:
    read = best(f"average size of part 1 of things {table}", wide(2, 200))
    assert text_of(read.asked) == {"measure": [f'avg(things_{table}."size of part 1")']}


def test_covers_are_as_many_as_asked_for_and_the_cheapest_first() -> None:
    linker = Linker(DATABASE)
    tokens, times = tokens_of("total fee of crime books by member", NOW)
    found = covers(spans_of(tokens, times, linker), 7)
    assert len(found) == 7
    assert [c.cost for c in found] == sorted(c.cost for c in found)
    for cover in found:
        assert [s.end for s in cover.spans[:-1]] == [s.start for s in cover.spans[1:]]


def test_an_age_is_counted_in_what_was_said_and_never_fails() -> None:
    assert text_of(best("members younger than 10 days").asked)["where"] == ["members.birth_date > '2025-06-05'"]
    for reading in readings("members older than 900000 days", DATABASE, NOW):  # before the calendar
        assert "older" in reading.unread or not text_of(reading.asked).get("where")

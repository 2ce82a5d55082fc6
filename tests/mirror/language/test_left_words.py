"""Words that change what is meant and that no reading holds: the question is asked back, and the words are named."""

import sqlite3
from datetime import datetime

import pytest

from mirror.answer.answering import ask
from mirror.data.process.sandbox import Sandbox
from mirror.language.ranking import cannot_be_asked

NOW = datetime(2026, 3, 15, 10)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("left") / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, signed_up DATE)")
        connection.execute(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, ordered_at DATE, "
            "total REAL)"
        )
        days = [f"{2024 + n // 24}-{n // 2 % 12 + 1:02d}-{5 + 10 * (n % 2):02d}" for n in range(52)]
        connection.executemany(
            "INSERT INTO customers VALUES (?, ?, ?)", [(n, f"customer {n}", day) for n, day in enumerate(days[:30])]
        )
        rows = [(n, n % 25, day, 400.0 + 37 * n) for n, day in enumerate(days)]  # five customers have none
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
    return str(path)


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("number of orders not in 2025", "not"),
        ("number of orders not in March 2025", "not"),
        ("number of orders on 30 February 2025", "30"),
        ("number of orders in March or April", "or”, “in march"),
    ],
)
def test_a_question_over_a_shop_is_asked_back(shop: str, question: str, word: str) -> None:
    answer = ask(question, db=shop, use_model=False, now=NOW, learnt=False)
    assert answer.status == "ambiguous", answer.read_as
    assert f"Left out: “{word}”." in answer.summary


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("number of orders in 2025", 24),
        ("how many customers signed up in March 2025", 2),
        ("number of orders from January to June", 12),
        ("number of orders from May to August", 8),
        ("number of orders up to March 2024", 6),
        ("how many customers have fewer than 3 orders", 28),
        ("how many customers have at most 2 orders", 28),
        ("how many customers have more than 2 orders", 2),
    ],
)
def test_what_is_said_plainly_is_answered(shop: str, question: str, number: int) -> None:
    answer = ask(question, db=shop, use_model=False, now=NOW, learnt=False)
    assert answer.status == "answered", answer.summary
    assert answer.table
    assert answer.table.rows == ((number,),), answer.read_as


@pytest.mark.parametrize("question", ["how many orders over 1000", "number of orders over 2000"])
def test_amounts_are_no_years_and_rows_are_not_counted_one_by_one(shop: str, question: str) -> None:
    answer = ask(question, db=shop, use_model=False, now=NOW, learnt=False)
    if answer.status == "answered":
        assert answer.table
        assert answer.table.rows == ((sum(400 + 37 * n > float(question.split()[-1]) for n in range(52)),),)
    assert not any("year" in text or "number of orders >" in text for text in answer.suggestions)


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("which methods never failed", "never"),
        ("which method has the second highest auc", "second"),
        ("how many trials per day", "day"),
    ],
)
def test_a_question_over_the_results_is_asked_back(box: Sandbox, question: str, word: str) -> None:
    answer = ask(question, box, use_model=False, learnt=False)
    assert answer.status == "ambiguous", answer.read_as
    assert f"Left out: “{word}”." in answer.summary


def test_why_something_is_not_faster_is_asked_of_what_is_slower(box: Sandbox) -> None:
    assert ask("why is hashed not faster than dense in lookup", box, use_model=False, learnt=False).status == "answered"


def test_a_question_of_which_not_all_is_read_is_refused(box: Sandbox) -> None:
    long = "AUC by method " + "and I would very much like to know it " * 8 + "only on frappe"
    answer = ask(long, box, use_model=False, learnt=False)
    assert answer.status == "refused"
    assert "64 are read" in answer.summary


@pytest.mark.parametrize("said", ["100k parameters", "100,000 params", "half a million weights", "2M parameters"])
def test_numbers_of_parameters_are_no_megabytes(box: Sandbox, said: str) -> None:
    answer = ask(f"which methods have fewer than {said}", box, use_model=False, learnt=False)
    assert answer.status == "refused"
    assert "ask in MB" in answer.summary


@pytest.mark.parametrize("said", ["10 % of the parameters", "a tenth of the parameters", "10x fewer parameters"])
def test_shares_of_parameters_are_still_asked(said: str) -> None:
    cannot_be_asked.check(f"AUC at {said}")

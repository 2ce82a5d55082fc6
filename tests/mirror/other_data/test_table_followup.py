"""Follow-ups and saved questions on other data: one path for them and for results."""

from datetime import datetime
from pathlib import Path
from typing import Any

import made_up
import pytest
from choosing import answer_with

from mirror import ask
from mirror.data.sources.location import find
from mirror.language.edit.edited import SeveralEdits, edited
from mirror.language.train.data.wordings import database_of
from mirror.query.errors import Refusal
from mirror.query.other_data.build import build
from mirror.query.other_data.form import Asked
from mirror.query.other_data.form_in_words import read_back
from mirror.query.other_data.form_text import asked_of
from mirror.query.saved import Saved, saved_path_of
from mirror.schema.database import Database

NOW = datetime(2026, 1, 15)
SHOP = "id,seed,payment,amount,day\n1,7,card,2.5,2025-01-03\n2,7,cash,4,2025-02-03\n3,8,card,10,2024-05-05\n"

# (question, follow-ups, how the last of them is read)
CHANGES = [
    ("total amount by country", ["only Germany"], "· where customers.country = Germany"),
    ("total amount by country", ["Germany only"], "· where customers.country = Germany"),
    ("total amount by country", ["what about Germany?"], "· where customers.country = Germany"),
    ("total amount by country", ["only Germany", "and for France"], "· where customers.country = France"),
    ("total amount by country", ["only Germany", "France too"], "· where customers.country in Germany, France"),
    ("total amount by country", ["only Germany", "also France", "without Germany"], "where customers.country = France"),
    ("total amount by country", ["without Germany"], "· where customers.country ≠ Germany"),
    ("total amount by country", ["except for Germany"], "· where customers.country ≠ Germany"),
    ("total amount by country", ["by status instead"], "total orders.amount · by orders.status"),
    ("total amount by country", ["by status"], "total orders.amount · by orders.status"),
    ("total amount by country", ["by status too"], "· by customers.country and orders.status"),
    ("total amount by country", ["over time"], "· by month of orders.order_date"),
    ("total amount by country", ["per quarter"], "· by quarter of orders.order_date"),
    ("total amount by country", ["top 3"], "highest total orders.amount first · the first 3"),
    ("total amount by country", ["top 3", "bottom 2"], "lowest total orders.amount first · the first 2"),
    ("total amount by country", ["in 2025"], "where orders.order_date ≥ 2025-01-01 and orders.order_date < 2026-01-01"),
    ("total amount by country", ["in 2025", "in 2024"], "orders.order_date ≥ 2024-01-01 and orders.order_date < 2025"),
    ("total amount by country", ["only paid", "in 2025"], "orders.status = paid and orders.order_date ≥ 2025-01-01"),
    ("total amount by country", ["and for last month"], "orders.order_date ≥ 2025-12-01"),
    ("total amount by country", ["amount over 100"], "· where orders.amount > 100"),
    ("orders over 100", ["only paid"], "where orders.amount > 100 and orders.status = paid"),
    ("total amount by country", ["only paid", "how many customers"], "number of customers"),
]
REFUSED = [
    ("total amount by country", ["only purple"], "say nothing about “purple”"),
    ("total amount by country", ["only"], "changes nothing"),
    ("total amount by country", ["in 2025", "2024 too"], "side by side are not read"),
    ("total amount by country", ["in 2025", "also 2024"], "side by side are not read"),
    ("total amount by country", ["by country"], "changes nothing"),
    ("total amount by country", ["and the average amount"], "says more than what to change"),
    ("total amount by country", ["only Germany", "without Germany"], "Nothing would be left"),
    ("total amount by country", ["by product instead"], "counted once for each"),
    ("orders over 100", ["by status"], "has no groups"),
    ("total amount", ["top 3"], "There is one row alone"),
]


# The form before, of two other databases, and what becomes of it.
RENTED = {"measure": ["sum(rentals.totalCharge)"], "by": ["rentals.bookedVia"]}
PER_MONTH = {"measure": ["count(rentals)"], "by": ["month of rentals.pickedUpAt"]}
CARS = {"of": "cars", "show": ["cars.plate", "cars.dailyRate"], "order": "2 desc", "top": 5}
CROSSED = {"measure": ["count(CROSSINGS)"], "by": ["VESSELS.FUEL"]}
ELSEWHERE = [
    ("carhire", RENTED, ["only the app"], "· where rentals.bookedVia = app"),
    ("carhire", RENTED, ["only SUVs"], "· where cars.carClass = SUV"),
    ("carhire", RENTED, ["by make too"], "· by rentals.bookedVia and cars.make"),
    ("carhire", RENTED, ["by return branch"], "· by return branch"),
    ("carhire", RENTED, ["by return branch", "only Porto"], "by return branch · where return branch city = Porto"),
    ("carhire", RENTED, ["only with full cover"], "· where rentals.fullCover = true"),
    ("carhire", RENTED, ["not full cover"], "· where rentals.fullCover = false"),
    ("carhire", RENTED, ["only rentals over 500"], "· where rentals.totalCharge > 500"),
    ("carhire", RENTED, ["only gold customers"], "· where customers.loyaltyTier = gold"),
    ("carhire", RENTED, ["only customers who signed up in 2024"], "where customers.signedUp ≥ 2024-01-01"),
    ("carhire", RENTED, ["without damages"], "· rentals without damages"),
    ("carhire", RENTED, ["only cars without services"], "· cars without services"),
    ("carhire", RENTED, ["same for hybrid", "petrol too"], "· where cars.fuel in hybrid, petrol"),
    ("carhire", RENTED, ["second highest"], "· from place 2 on"),
    ("carhire", PER_MONTH, ["in 2025"], "where rentals.pickedUpAt ≥ 2025-01-01 and rentals.pickedUpAt < 2026-01-01"),
    ("carhire", PER_MONTH, ["per quarter"], "· by quarter of rentals.pickedUpAt"),
    ("carhire", CARS, ["built after 2020"], "· where cars.builtYear > 2020"),
    ("carhire", CARS, ["the cheapest 3"], "lowest cars.dailyRate first · the first 3"),
    ("carhire", CARS, ["without rentals"], "· cars without rentals"),
    ("ferry", CROSSED, ["only cancelled ones"], "· where CROSSINGS.CANCELLED = true"),
    ("ferry", CROSSED, ["by master instead"], "· by CROSSINGS.MASTER"),
    ("ferry", CROSSED, ["only when the wave height was over 3"], "· where CROSSINGS.WAVE_HEIGHT > 3"),
    ("ferry", CROSSED, ["without C. Rendall and H. Leask"], "CROSSINGS.MASTER not in C. Rendall, H. Leask"),
    ("ferry", CROSSED, ["and only vessels built before 2000"], "· where VESSELS.BUILT < 2000"),
]
ASKED_BACK = [
    ("carhire", RENTED, "only Porto", ("pickup branch city is Porto", "return branch city is Porto")),
    ("carhire", RENTED, "in 2025", ("picked up at is in 2025", "due back is in 2025", "returned at is in 2025")),
    ("ferry", CROSSED, "by port", ("by from port", "by to port")),
]
OWN_QUESTIONS = [
    ("carhire", RENTED, "which car was rented the most?"),
    ("carhire", RENTED, "customers in Germany"),
    ("carhire", RENTED, "How many rentals ended late? Show the branch too."),
    ("ferry", CROSSED, "how many crossings were cancelled"),
]


def changed(first: str, *more: str) -> Asked:
    return after(made_up.read(first, made_up.shop(), NOW), made_up.shop(), *more)


def after(form: Asked, database: Database, *more: str) -> Asked:
    for question in more:
        form = edited(question, form, database, NOW) or made_up.read(question, database, NOW)
    return form


@pytest.mark.parametrize(("name", "before", "more", "read"), ELSEWHERE)
def test_a_follow_up_is_read_over_any_database(name: str, before: dict[str, Any], more: list[str], read: str) -> None:
    database = database_of(name)
    form = after(asked_of(before, database), database, *more)
    assert read in read_back(form, build(form, database), database)


@pytest.mark.parametrize(("name", "before", "question", "said"), ASKED_BACK)
def test_changes_that_are_equally_likely_are_asked_back(
    name: str, before: dict[str, Any], question: str, said: tuple[str, ...]
) -> None:
    database = database_of(name)
    with pytest.raises(SeveralEdits) as asked:
        edited(question, asked_of(before, database), database, NOW)
    assert len(asked.value.choices) == len(asked.value.forms) == len(said)
    assert all(part in choice for part, choice in zip(said, asked.value.choices, strict=True))


@pytest.mark.parametrize(("name", "before", "question"), OWN_QUESTIONS)
def test_a_question_of_its_own_is_no_follow_up(name: str, before: dict[str, Any], question: str) -> None:
    database = database_of(name)
    assert edited(question, asked_of(before, database), database, NOW) is None


def test_a_value_that_is_not_there_is_never_taken_for_a_near_one() -> None:
    with pytest.raises(Refusal, match=r"nothing about “portgual”\. Did you mean Portugal"):
        after(asked_of(RENTED, database_of("carhire")), database_of("carhire"), "only Portgual")


@pytest.mark.parametrize(("first", "more", "read"), CHANGES)
def test_a_follow_up_changes_the_question_before(first: str, more: list[str], read: str) -> None:
    form, database = changed(first, *more), made_up.shop()
    assert read in read_back(form, build(form, database), database)


@pytest.mark.parametrize(("first", "more", "said"), REFUSED)
def test_what_is_no_change_is_refused_with_a_sentence(first: str, more: list[str], said: str) -> None:
    with pytest.raises(Refusal, match=said):
        changed(first, *more)


def test_a_chart_is_a_change() -> None:
    assert changed("total amount by country", "as bars").chart.type == "bar"


def test_a_question_before_about_other_tables_is_none() -> None:
    other = made_up.shop()
    before = changed("total amount by country")
    alone = type(other)(other.dialect, "x", other.relations[1:2])
    assert edited("only Germany", before, alone, NOW) is None


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path / "kept" / "mine.jsonl"))
    path = tmp_path / "shop.csv"
    path.write_text(SHOP)
    return str(path)


def test_follow_ups_go_the_way_of_every_question(shop: str) -> None:
    first = answer_with((("card", 12.5), ("cash", 4.0)), "total amount by payment", db=shop)
    only = ask("only card", db=shop, after=first)
    assert only.table is not None, only.summary
    assert only.table.rows == (("card", 12.5),)
    later = ask("in 2025", db=shop, after=only)
    assert later.table is not None, later.summary
    assert later.table.rows == (("card", 2.5),)
    lost = ask("only purple", db=shop, after=later)
    assert lost.status == "refused"
    assert lost.suggestions
    answer_with(((8, 10.0), (7, 6.5)), "total amount by seed", db=shop)


def test_questions_are_saved_for_one_source(shop: str, tmp_path: Path) -> None:
    store = Saved(saved_path_of(find(shop).where))
    store.add("cards", "SELECT count(*) AS n FROM shop WHERE payment = 'card'", "both shops")
    found = ask("Cards?", db=shop)
    assert (found.engine, found.table and found.table.rows) == ("saved", ((2,),))
    assert found.read_as.endswith("both shops")
    other = tmp_path / "other.csv"
    other.write_text(SHOP)
    assert ask("cards", db=str(other)).engine != "saved"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept", "other.csv", "shop.csv"]


def test_who_connects_is_no_part_of_what_is_saved_for_a_server() -> None:
    paths = {saved_path_of(find(f"postgresql://{who}h/shop").where) for who in ("", "a@", "b:secret-7@")}
    assert len(paths) == 1
    assert saved_path_of(find("postgresql://h/other").where) not in paths
    assert saved_path_of(find("mysql://h/shop").where) not in paths


def test_a_presence_takes_the_place_of_its_opposite() -> None:
    database = database_of("carhire")
    before = asked_of({**CARS, "has": ["rentals of cars"]}, database)
    (only,) = after(before, database, "without rentals").presences
    assert only.absent


def test_a_change_of_the_chart_leaves_the_rest_of_it() -> None:
    for more in (("as bars", "on a log scale"), ("on a log scale", "as bars")):
        chart = changed("total amount by country", *more).chart
        assert (chart.type, chart.log_y) == ("bar", True)

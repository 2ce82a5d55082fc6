"""Data that change between a question and its rows, its follow-up or the click of a choice: no wrong rows."""

import os
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mirror.answer.answer import Answer
from mirror.answer.answering import ask
from mirror.answer.other_data import OtherData
from mirror.answer.proposal import Proposal
from mirror.data.process.other_data_process import shared
from mirror.data.sources.kind import find_other_data
from mirror.language.edit.still_there import missing
from mirror.query.other_data.form import Asked, ColumnRef
from mirror.query.other_data.form_text import asked_of

SALES = ("CREATE TABLE sales (id INTEGER PRIMARY KEY, kind VARCHAR, amount DOUBLE)", (1, "a", 2.5), (2, "b", 4.0))
CHANGES: dict[str, tuple[Any, ...]] = {
    "no column": ("CREATE TABLE sales (id INTEGER PRIMARY KEY, kind VARCHAR)", (1, "a"), (2, "b")),
    "another name": ("CREATE TABLE sales (id INTEGER PRIMARY KEY, kind VARCHAR, price DOUBLE)", (1, "a", 2.5)),
    "texts": (
        "CREATE TABLE sales (id INTEGER PRIMARY KEY, kind VARCHAR, amount VARCHAR)",
        (1, "a", "x"),
        (2, "b", "y"),
    ),
    "no table": ("CREATE TABLE other (id INTEGER PRIMARY KEY, name VARCHAR)", (1, "a")),
}
QUESTION = "average amount of sales by kind"
CHOICE = "Show the average sale amount by sale kind"


def write(path: Path, create: str, *rows: tuple[object, ...]) -> None:
    path.unlink(missing_ok=True)
    connection: Any = duckdb.connect(str(path)) if path.suffix == ".duckdb" else sqlite3.connect(path)
    connection.execute(create)
    table = create.split()[2]
    for row in rows:
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    connection.commit()
    connection.close()


@pytest.fixture(params=["duckdb", "sqlite"])
def path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path / "kept" / "mine.jsonl"))
    made = tmp_path / f"shop.{request.param}"
    write(made, *SALES)
    location = find_other_data(str(made))
    assert location
    yield made
    shared(location).close()


def offered(path: Path) -> Answer:
    """A question back that offers the average amount by kind."""
    location = find_other_data(str(path))
    assert location
    form = asked_of({"measure": ["avg(sales.amount)"], "by": ["sales.kind"]}, shared(location).schema())
    return Answer("ambiguous", QUESTION, suggestions=(CHOICE,), proposals=(Proposal(CHOICE, form),))


def changing(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """The data change once a question is about to be read: what can be asked about is known by then."""
    real = OtherData.in_words

    def changed(self: OtherData, *given: Any) -> Answer:
        change()
        return real(self, *given)

    monkeypatch.setattr(OtherData, "in_words", changed)


@pytest.mark.parametrize("change", CHANGES)
def test_tables_that_change_before_the_rows_are_read(
    change: str, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ask("how many sales", db=str(path))
    changing(monkeypatch, lambda: write(path, *CHANGES[change]))
    answer = ask(QUESTION, db=str(path))
    assert answer.status == "error"
    assert answer.summary == f"The tables of {path.name} changed while this was answered: ask it again."
    assert not caplog.records


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path: path.write_bytes(os.urandom(5_000)), "shop."),
        (lambda path: path.write_bytes(b""), "shop."),
        (lambda path: path.unlink(), "The file shop."),
    ],
    ids=["garbage", "nothing", "gone"],
)
def test_a_file_that_is_lost_before_the_rows_are_read(
    change: Callable[[Path], object],
    said: str,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ask("how many sales", db=str(path))
    changing(monkeypatch, lambda: change(path))
    answer = ask(QUESTION, db=str(path))
    assert answer.status == "error"
    assert answer.summary.startswith(said)
    assert not caplog.records


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ("no column", "sales.amount"),
        ("another name", "sales.amount"),
        ("texts", "sales.amount"),
        ("no table", "sales"),
    ],
)
def test_a_choice_whose_column_is_gone(change: str, gone: str, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    back = offered(path)
    write(path, *CHANGES[change])
    taken = ask(CHOICE, db=str(path), after=back)
    assert taken.status == "refused"
    assert taken.summary == f"The data have changed since, and no longer hold {gone} as it was: ask anew."
    assert not caplog.records


@pytest.mark.parametrize("change", CHANGES)
def test_a_follow_up_on_what_is_gone_is_no_answer(change: str, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = ask(CHOICE, db=str(path), after=offered(path))
    only = ask("only b", db=str(path), after=first)
    assert only.table is not None
    assert only.table.rows == (("b", 4.0),)
    write(path, *CHANGES[change])
    assert ask("only b", db=str(path), after=first).status in ("refused", "ambiguous")
    assert not caplog.records


def test_a_file_that_was_other_data_is_never_taken_for_results_once_it_is_gone(path: Path) -> None:
    first = ask("how many sales", db=str(path))
    path.unlink()
    later = ask("how many trials", db=str(path), after=first)
    assert (later.status, later.table) == ("error", None)
    assert not path.exists()


def test_a_key_of_any_type_is_still_there(tmp_path: Path) -> None:
    made = tmp_path / "visits.duckdb"
    write(
        made, "CREATE TABLE visits (id UUID PRIMARY KEY, amount DOUBLE)", ("5b3a1c9e-0000-4000-8000-000000000001", 2.0)
    )
    location = find_other_data(str(made))
    assert location
    source = shared(location)
    try:
        database = source.schema()
        asked = Asked("visits", columns=(ColumnRef("visits", "id"),))
        assert missing(asked, database) == ()
        assert missing(replace(asked, columns=(ColumnRef("visits", "gone"),)), database) == ("visits.gone",)
    finally:
        source.close()


@pytest.mark.parametrize("change", ["no table", "texts"])
def test_a_choice_that_is_gone_where_a_model_is_set_up(
    change: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back = offered(path)
    monkeypatch.setenv("MIRROR_LLM_MODEL", "m")
    monkeypatch.setenv("MIRROR_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    write(path, *CHANGES[change])
    taken = ask(CHOICE, db=str(path), after=back)
    assert taken.status == "refused"
    assert "no longer hold" in taken.summary

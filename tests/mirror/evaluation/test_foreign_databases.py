"""Other people's databases: what they hold, that every gold can be met, and that nothing of a sealed one is told.

Of sealed ones only names, ids and numbers may stand in an assertion: a failure prints what it compares.
"""

import argparse
import io
import json
import logging
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from chat_stub import running, says

from mirror.answer.answer import Answer
from mirror.evaluation import questions as question_sets
from mirror.evaluation import runner
from mirror.evaluation.eval_command import add_parser, evaluate
from mirror.evaluation.fixtures import NOW
from mirror.evaluation.foreign_databases import (
    ForeignDatabase,
    ForeignError,
    ForeignGolds,
    Form,
    databases,
    opened,
    seal,
)
from mirror.evaluation.golds import plain_cell
from mirror.evaluation.questions import QuestionError, foreign_questions, load
from mirror.evaluation.runner import HeldOutError, Scored, run
from tests.shows.check_foreign import problems

ALL = databases()
by_name = pytest.mark.parametrize("database", ALL, ids=lambda d: d.name)

SCRIPT = """
CREATE TABLE "ticket type" ("type no" INTEGER PRIMARY KEY, label VARCHAR, online BOOLEAN);
INSERT INTO "ticket type" VALUES (1, 'day', true), (2, 'season, "gold"', false);
CREATE TABLE tickets (id BIGINT, "type no" INTEGER REFERENCES "ticket type"("type no"), sold DATE, price DECIMAL(8, 2));
INSERT INTO tickets VALUES (1, 1, '2026-01-02', 12.5), (2, 2, '2026-03-04', 99), (3, 1, NULL, NULL);
CREATE TABLE animals (name VARCHAR, fed BOOLEAN);
INSERT INTO animals VALUES ('aardvark', true), ('bear', false), ('crane', NULL);
"""
QUESTIONS = (
    {"id": "zoo-01", "category": "simple", "ask": "how many tickets are there?", "golds": ["SELECT 3"]},
    {"id": "zoo-02", "category": "simple", "ask": "SELECT name, fed FROM animals", "golds": ["FROM animals"]},
    {"id": "zoo-03", "category": "unanswerable", "ask": "xylophones of the aardvarks", "expect": "refused"},
)  # fmt: skip
ZOO = ForeignDatabase("zoo", "A zoo", "duckdb", SCRIPT, QUESTIONS)
SEALED = replace(ZOO, sealed=True)


# -- the set -----------------------------------------------------------------------------------------------------------


def test_ten_databases_are_sealed_and_more_are_open() -> None:
    sealed = Counter(d.sealed for d in ALL)
    assert sealed[True] >= 10
    assert sealed[False] >= 20
    assert {(d.form, d.sealed) for d in ALL} == {(f, s) for f in ("duckdb", "sqlite", "csv") for s in (True, False)}
    assert all(d.about for d in ALL)


def test_enough_questions_of_each_kind() -> None:
    asked = load("foreign")
    of = Counter(q.category for q in asked)
    assert {category for category, n in of.items() if n >= 60} >= {"join", "rank", "date", "nested", "ratio"}
    assert of["unanswerable"] >= 150
    assert len(asked) - of["unanswerable"] >= 600
    assert {q.category for q in asked if q.expect == "refused"} == {"unanswerable"}
    assert {q.fixtures for q in asked} == {(d.name,) for d in ALL}


@by_name
def test_every_gold_runs_has_rows_and_meets_itself(database: ForeignDatabase) -> None:
    found, of = problems(database)
    assert found == []
    assert sum(of.values()) == len(database.questions) >= 38
    assert of["unanswerable"] == 8


@by_name
def test_those_of_sealed_databases_are_held_out(database: ForeignDatabase) -> None:
    assert {q.held_out for q in foreign_questions(database)} == {database.sealed}


# -- as files ----------------------------------------------------------------------------------------------------------


@by_name
def test_sqlite_holds_the_rows_of_the_script(database: ForeignDatabase, tmp_path: Path) -> None:
    path, tables = _written(database, "sqlite", tmp_path)
    connection = sqlite3.connect(path)
    for table, (_, rows) in tables.items():
        stored = Counter(connection.execute(f'SELECT * FROM "{table}"').fetchall())
        same = stored == Counter(tuple(map(plain_cell, row)) for row in rows)
        assert same, database.name
    assert len(connection.execute("PRAGMA foreign_key_check").fetchall()) == 0
    connection.close()


@by_name
def test_csv_holds_the_rows_of_the_script(database: ForeignDatabase, tmp_path: Path) -> None:
    path, tables = _written(database, "csv", tmp_path)
    assert path.is_dir() == (len(tables) > 1)
    for table, (types, rows) in tables.items():
        file = path / f"{table}.csv" if path.is_dir() else path
        read = duckdb.read_csv(str(file), header=True, dtype=types, allow_quoted_nulls=False)
        same = Counter(read.fetchall()) == Counter(rows)
        assert same, database.name


def _written(
    database: ForeignDatabase, form: Form, folder: Path
) -> tuple[Path, dict[str, tuple[dict[str, str], list[tuple[object, ...]]]]]:
    """The file of a database, and what its script makes: table -> types of its columns, rows."""
    with ForeignGolds(replace(database, form=form)) as golds:
        path = golds.write(folder)
    made = {}
    with duckdb.connect() as connection:
        connection.execute(database.script)
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            rows = connection.sql(f'SELECT * FROM "{table}"')
            made[table] = (dict(zip(rows.columns, map(str, rows.types), strict=True)), rows.fetchall())
    return path, made


def test_keys_of_tables_with_spaces_are_kept_in_sqlite(tmp_path: Path) -> None:
    path, _ = _written(ZOO, "sqlite", tmp_path)
    connection = sqlite3.connect(path)
    (key,) = connection.execute("PRAGMA foreign_key_list(tickets)").fetchall()
    assert key[2:5] == ("ticket type", "type no", "type no")
    declared = {row[1]: (row[2], row[5]) for row in connection.execute('PRAGMA table_info("ticket type")')}
    assert declared == {"type no": ("INTEGER", 1), "label": ("TEXT", 0), "online": ("BOOLEAN", 0)}
    assert connection.execute("SELECT price, typeof(price) FROM tickets WHERE id = 1").fetchall() == [(12.5, "real")]
    connection.close()


def test_columns_of_one_name_are_told_apart() -> None:
    with ForeignGolds(ZOO) as golds:
        table = golds.table("SELECT 1 AS n, 2 AS n, 3 AS n")
    assert (table.names, table.rows) == (("n", "n 2", "n 3"), ((1, 2, 3),))


# -- what cannot be used -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"zoo.yaml": "about: x\nquestions: []"}, "zoo.yaml has no zoo.sql beside it, which makes its tables: add it."),
        ({"zoo.sql": "", "zoo.yaml": "about: x"}, "zoo.yaml needs `about`, `as` and `questions` (KeyError)."),
        ({"zoo.sql": "", "zoo.yaml": "- x"}, "zoo.yaml needs `about`, `as` and `questions` (TypeError)."),
        ({"zoo.sql": "", "zoo.yaml": "a: b: c"}, "zoo.yaml needs `about`, `as` and `questions` (ScannerError)."),
        (
            {"zoo.sql": "", "zoo.yaml": "about: x\nas: excel\nquestions: []"},
            "zoo.yaml: `as` is 'excel': name one of duckdb, sqlite, csv.",
        ),
    ],
)
def test_files_that_cannot_be_used(files: dict[str, str], why: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ForeignError) as told:
        opened(tmp_path)
    assert str(told.value) == why


def test_a_broken_script_and_a_broken_gold_are_a_sentence() -> None:
    with pytest.raises(ForeignError, match=r"^zoo: its script does not run: .*CREAT[^\n]*\.$"):
        ForeignGolds(replace(ZOO, script="CREAT TABLE x"))
    with ForeignGolds(ZOO) as golds, pytest.raises(ForeignError, match=r"^zoo: a gold does not run: .*giraffes[^\n]*$"):
        golds.table("SELECT giraffes FROM tickets")


def test_nothing_of_a_sealed_one_is_told(tmp_path: Path) -> None:
    with pytest.raises(ForeignError) as told:
        ForeignGolds(replace(SEALED, script="CREATE giraffes"))
    assert str(told.value) == "zoo: its script does not run (it is sealed, so no more is told)."
    with ForeignGolds(SEALED) as golds:
        with pytest.raises(ForeignError) as told:
            golds.table("SELECT giraffes FROM tickets")
        assert str(told.value) == "zoo: a gold does not run (it is sealed, so no more is told)."
        (tmp_path / "zoo.duckdb").write_text("giraffes")
        with pytest.raises(ForeignError) as told:
            golds.write(tmp_path)
    assert str(told.value) == "zoo: it cannot be written as duckdb (it is sealed, so no more is told)."
    with pytest.raises(QuestionError) as wrong:
        foreign_questions(replace(SEALED, questions=({**QUESTIONS[0], "expect": "giraffes"},)))
    assert str(wrong.value) == "a question of zoo cannot be used (it is sealed, so no more is told)."
    with pytest.raises(QuestionError, match="giraffes"):
        foreign_questions(replace(ZOO, questions=({**QUESTIONS[0], "expect": "giraffes"},)))


def test_sealing_and_opening(tmp_path: Path) -> None:
    plain, sealed = tmp_path / "plain", tmp_path / "sealed"
    plain.mkdir()
    sealed.mkdir()
    (plain / "zoo.sql").write_text(SCRIPT)
    (plain / "zoo.yaml").write_text("about: A zoo\nas: csv\nquestions: []")
    assert seal(plain, sealed) == ["zoo"]
    first = (sealed / "zoo.zip").read_bytes()
    assert seal(plain, sealed) == ["zoo"]
    assert (sealed / "zoo.zip").read_bytes() == first
    assert databases(tmp_path) == (ForeignDatabase("zoo", "A zoo", "csv", SCRIPT, (), sealed=True),)
    for broken in (b"no zip", _zip_of("other.txt")):
        (sealed / "zoo.zip").write_bytes(broken)
        databases.cache_clear()
        with pytest.raises(ForeignError, match=r"^zoo.zip lacks zoo.sql or zoo.yaml: seal it anew.$"):
            databases(tmp_path)
    databases.cache_clear()


def _zip_of(name: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as packed:
        packed.writestr(name, "x")
    return held.getvalue()


# -- asked -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["duckdb", "sqlite", "csv"])
def test_the_product_is_asked_of_the_file(form: Form) -> None:
    """With truth values as each kind of file holds them."""
    zoo = replace(ZOO, form=form)
    found = run(foreign_questions(zoo), "grammar", (zoo,))
    assert [(s.question.id, s.verdict, s.at_once) for s in found] == [
        ("zoo-01", "right", True),
        ("zoo-02", "right", True),
        ("zoo-03", "right", False),
    ]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Answer], ForeignDatabase], list[Scored]]:
    """What comes of the questions of a database where this function answers them."""

    def of(ask: Callable[..., Answer], database: ForeignDatabase) -> list[Scored]:
        monkeypatch.setattr(runner, "ask", ask)
        return run(foreign_questions(database), "grammar", (database,))

    return of


def test_it_is_asked_by_its_file_at_the_present_of_the_evaluation(asked: Callable[..., list[Scored]]) -> None:
    heard: list[dict[str, object]] = []

    def ask(words: str, **given: object) -> Answer:
        heard.append(given)
        return Answer("refused", words)

    assert [s.verdict for s in asked(ask, ZOO)] == ["refused", "refused", "right"]
    assert {Path(str(given["db"])).name for given in heard} == {"zoo.duckdb"}
    assert all(given["now"] == NOW and given["use_model"] is False for given in heard)


def test_what_fails_over_a_held_out_question_tells_nothing(
    asked: Callable[..., list[Scored]], caplog: pytest.LogCaptureFixture
) -> None:
    def ask(words: str, **given: object) -> Answer:
        logging.getLogger("mirror").warning("giraffes")
        raise ValueError("giraffes")

    with pytest.raises(ValueError, match="giraffes"):
        asked(ask, ZOO)
    assert "giraffes" in caplog.text
    caplog.clear()
    with pytest.raises(HeldOutError) as told:
        asked(ask, SEALED)
    assert str(told.value) == "Question zoo-01, which is held out, failed with ValueError."
    assert told.value.__suppress_context__
    assert caplog.text == ""
    assert logging.root.manager.disable == logging.NOTSET


# -- the command -------------------------------------------------------------------------------------------------------


def command(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    return parser.parse_args(["eval", "--set", "foreign", *words])


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    sealed = replace(ZOO, name="ark", sealed=True, questions=tuple({**q, "id": f"ark{q['id']}"} for q in QUESTIONS))
    for module in ("mirror.evaluation.foreign_databases", question_sets.__name__):
        monkeypatch.setattr(f"{module}.databases", lambda *_: (ZOO, sealed))
    monkeypatch.setattr(runner, "ask", lambda words, **_: Answer("refused", words, summary="No."))

    assert evaluate(command("--failures")) == 0
    text = capsys.readouterr().out
    assert [line.split()[0] for line in text.splitlines()[1:4]] == ["simple", "unanswerable", "all"]
    assert "Of 1 open questions without an answer were answered 0 0.0% [0%, 79%]" in text
    assert "zoo-01  how many tickets are there?" in text
    assert "arkzoo" not in text

    assert evaluate(command("--category", "simple", "--questions", "held_out", "--json")) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [(t["half"], t["n"], t["refused"]) for t in printed["tallies"][:3]] == [
        ("all", 2, 2), ("open", 0, 0), ("held out", 2, 2)
    ]  # fmt: skip
    assert printed["failures"] == []


def test_a_wrong_choice_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate(command("--category", "giraffes")) == 1
    assert "There is no category 'giraffes': name one of " in capsys.readouterr().err
    assert evaluate(command("--persona", "newcomer")) == 1
    assert "Only the paraphrases have personas" in capsys.readouterr().err


def test_a_language_model_reads_the_questions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MIRROR_SAVED", str(tmp_path / "x.saved.jsonl"))
    answer = {"notes": [], "sql": "SELECT count(*) AS n FROM tickets", "choices": [], "cannot_answer": None}
    asked = [q for q in foreign_questions(ZOO) if q.id != "zoo-02"]
    with running(monkeypatch) as server:
        server.replies = [says(json.dumps(answer))]
        right, wrong = run(asked, "llm", (ZOO,))
        assert len(server.requests) == 3  # one to warm up
        server.replies = [says("no")]
        (alone, refused) = run(asked, "llm", (ZOO,))
    assert (right.verdict, right.fallbacks) == ("right", 0)
    assert (wrong.verdict, wrong.fallbacks) == ("wrong", 0)
    assert (alone.verdict, alone.fallbacks) == ("right", 1)
    assert refused.fallbacks == 1


def test_the_command_without_a_model(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("MIRROR_LLM_MODEL", "MIRROR_LLM_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    assert evaluate(parser.parse_args(["eval", "--set", "foreign", "--engine", "llm"])) == 2
    assert "set MIRROR_LLM_MODEL" in capsys.readouterr().err

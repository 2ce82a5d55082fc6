"""Forms become actions and the same forms again; the built-in reader never leads into a dead end."""

import random

import pytest

from mirror.language.neural.form_actions import MOST_ACTIONS, Inexpressible, Reader, State, Writer, allowed, step
from mirror.language.neural.items import MOST_COLUMNS, MOST_TOKENS, items_of
from mirror.language.train.data.example import NOW
from mirror.language.train.data.wordings import database_of, wordings
from mirror.schema.database import Column, Database, Relation


@pytest.mark.parametrize("name", ["bakery", "squash", "house_sensors"])
def test_what_people_asked_survives_the_way_there_and_back(name: str) -> None:
    database, said, same = database_of(name), 0, 0
    for wording in wordings(name):
        items = items_of(wording.text, database, NOW)
        try:
            line = Writer(wording.asked, items, database).line()
        except Inexpressible:
            continue
        said += 1
        again = Writer(Reader(line, items, database).asked(), items, database).line()
        same += again == line
    assert said >= 60
    assert same >= 0.97 * said


def test_every_way_through_the_built_in_reader_ends() -> None:
    rng = random.Random(0)
    for _ in range(500):
        state, length = State(), 0
        while state.at != "end":
            choices = allowed(state)
            assert choices, state
            ways = [w for w in choices if w == "end"] if length > MOST_ACTIONS else []
            state = step(state, rng.choice(ways or choices))
            length += 1
            assert length < 20 * MOST_ACTIONS


def test_what_is_seen_is_bounded() -> None:
    tables = tuple(Relation(f"t{i}", tuple(Column(f"c{j}", "integer") for j in range(50))) for i in range(40))
    items = items_of("how many t3 with c7 over 5 " * 500, Database("duckdb", "wide", tables), NOW)
    assert len(items.tokens) == MOST_TOKENS
    assert len(items.columns) <= MOST_COLUMNS
    assert "t3" in items.tables


def test_a_question_of_no_words_has_no_items_of_its_own() -> None:
    assert not items_of(" ?! ", database_of("bakery"), NOW).tokens

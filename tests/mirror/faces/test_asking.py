"""Answers that are made in a thread, and stopped."""

import threading
from pathlib import Path

import pytest

from mirror.answer.answer import Answer
from mirror.answer.answering import run_sql
from mirror.data.process.sandbox import Sandbox
from mirror.faces.pages.trails.asking import Asking
from mirror.faces.pages.trails.trail import CANCELLED

SLOW = "SELECT count(*) AS n FROM range(1000000) a, range(1000000) b WHERE hash(a.range + b.range) % 7 = 1"
GIVEN_UP = Answer("error", "q", summary=CANCELLED)
LONG_S = 60


def test_an_answer_that_is_there_is_handed_out(box: Sandbox) -> None:
    asking = Asking(lambda: run_sql("SELECT 1 AS one", box), box, GIVEN_UP)
    assert asking.done(LONG_S)
    table = asking.answer().table
    assert table is not None
    assert table.rows == ((1,),)


def test_a_slow_query_is_stopped_and_the_next_one_answers(results_file: Path) -> None:
    with Sandbox(str(results_file)) as box:
        asking = Asking(lambda: run_sql(SLOW, box), box, GIVEN_UP)
        assert not asking.done(0.3)
        asking.cancel()
        assert asking.done(LONG_S)
        assert asking.answer().summary == CANCELLED
        assert asking.answer().sql == SLOW
        assert box.run("SELECT 2").rows == ((2,),)


def test_cancelling_stops_the_query_of_nobody_else(results_file: Path) -> None:
    with Sandbox(str(results_file)) as box:
        first = Asking(lambda: run_sql(SLOW, box), box, GIVEN_UP)
        assert not first.done(0.3)
        second = Asking(lambda: run_sql("SELECT 1", box), box, GIVEN_UP)
        second.cancel()  # while it waits for its turn
        assert second.answer().summary == CANCELLED
        assert not first.done()
        first.cancel()


def test_what_cannot_be_stopped_is_given_up(box: Sandbox) -> None:
    free = threading.Event()

    def stuck() -> Answer:
        free.wait(LONG_S)
        return Answer("answered", "late")

    asking = Asking(stuck, box, GIVEN_UP)
    asking.cancel()
    assert asking.answer() is GIVEN_UP
    free.set()
    assert asking.done(LONG_S)


def test_an_answer_that_was_quicker_than_cancel_counts(box: Sandbox) -> None:
    asking = Asking(lambda: Answer("answered", "quick"), box, GIVEN_UP)
    assert asking.done(LONG_S)
    asking.cancel()
    assert asking.answer().question == "quick"


def test_a_fault_comes_out_where_the_answer_is_wanted(box: Sandbox) -> None:
    def broken() -> Answer:
        raise ZeroDivisionError

    asking = Asking(broken, box, GIVEN_UP)
    assert asking.done(LONG_S)
    with pytest.raises(ZeroDivisionError):
        asking.answer()

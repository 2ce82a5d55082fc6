"""People take turns at one process: who has many queries waiting holds up nobody else beyond the one that runs."""

import contextlib
import threading
import time
from pathlib import Path

import pytest

from mirror.data.data_source import QueryCancelled
from mirror.data.process import sandbox
from mirror.data.process.sandbox import Sandbox
from mirror.data.process.sql_process import ProcessSource, SqlProcess
from mirror.data.process.turns import RoundRobin, Turn, asked_by

SLOW = "SELECT count(*) AS n FROM range(1000000) a, range(1000000) b WHERE hash(a.range + b.range) % 7 = 1"
LONG_S = 60


class Held(ProcessSource[SqlProcess]):
    """A source whose queries end when they are told to."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[str] = []

    def ask(self, whose: str, name: str, end: threading.Event) -> threading.Thread:
        """Ask in a thread, which waits for its turn by the time this returns."""

        def run() -> None:
            with asked_by(whose), self._turn(threading.get_ident()):
                with self._changed:
                    self.begun.append(name)
                    self._changed.notify_all()
                assert end.wait(LONG_S)

        with self._changed:
            before = len(self._order.turns)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._order.turns) > before or name in self.begun, LONG_S)
        return thread

    def has_begun(self, name: str) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: name in self.begun, LONG_S)


def test_many_waiting_queries_of_one_person_do_not_hold_up_another() -> None:
    source = Held()
    ends = [threading.Event() for _ in range(5)]
    anna = [source.ask("anna", f"anna {i}", end) for i, end in enumerate(ends)]
    assert source.has_begun("anna 0")
    quick = threading.Event()
    quick.set()
    ben = source.ask("ben", "ben", quick)
    ends[0].set()
    assert source.has_begun("ben")
    ben.join(LONG_S)
    assert not ben.is_alive()  # while four queries of the other wait, or run
    assert source.begun[:2] == ["anna 0", "ben"]
    for end in ends:
        end.set()
    for thread in anna:
        thread.join(LONG_S)
    assert source.begun == ["anna 0", "ben", *(f"anna {i}" for i in range(1, 5))]
    assert source._order.turns == []


def test_three_people_are_served_one_after_the_other_and_each_in_order() -> None:
    order = RoundRobin()
    order.turns = [Turn(None, whose=whose) for whose in ("a", "a", "a", "b", "c", "b")]
    names = {id(turn): f"{turn.whose}{i}" for i, turn in enumerate(order.turns)}
    served = []
    while order.turns:
        turn = next(t for t in order.turns if order.is_next(t))
        order.begin(turn)
        assert not any(order.is_next(t) for t in order.turns)  # one at a time
        served.append(names[id(turn)])
        order.end(turn)
    assert served == ["a0", "b3", "c4", "a1", "b5", "a2"]


def test_who_asks_again_and_again_waits_for_who_was_served_before() -> None:
    order = RoundRobin()
    first, waiting = Turn(None, whose="eager"), Turn(None, whose="patient")
    order.turns = [first, waiting]
    order.begin(first)
    order.end(first)
    again = Turn(None, whose="eager")
    order.turns.append(again)
    assert order.is_next(waiting)
    assert not order.is_next(again)


def test_who_gives_up_waiting_is_passed_over() -> None:
    source = Held()
    end = threading.Event()
    running = source.ask("anna", "anna", end)
    assert source.has_begun("anna")
    gone: list[Exception] = []

    def gives_up() -> None:
        try:
            with asked_by("ben"), source._turn(threading.get_ident()):
                pytest.fail("it was cancelled")
        except QueryCancelled as error:
            gone.append(error)

    thread = threading.Thread(target=gives_up)
    thread.start()
    with source._changed:
        assert source._changed.wait_for(lambda: len(source._order.turns) == 2, LONG_S)
    source.cancel(thread.ident)
    thread.join(LONG_S)
    assert len(gone) == 1
    assert running.is_alive()
    end.set()
    running.join(LONG_S)


def test_a_sandbox_lets_another_person_in_between_slow_queries(results_file: Path) -> None:
    with Sandbox(str(results_file)) as box:
        box.run("SELECT 0")
        over: list[str] = []

        def ask(whose: str, sql: str) -> None:
            with asked_by(whose):
                with contextlib.suppress(QueryCancelled):
                    box.run(sql, time_limit_s=LONG_S)
                over.append(whose)

        slow = [threading.Thread(target=ask, args=("anna", SLOW)) for _ in range(4)]
        for thread in slow:
            thread.start()
        with box._changed:
            assert box._changed.wait_for(lambda: len(box._order.turns) == 4, LONG_S)
            first = next(t for t in slow if box._order.running and t.ident == box._order.running.thread)
        quick = threading.Thread(target=ask, args=("ben", "SELECT 1"))
        quick.start()
        with box._changed:
            assert box._changed.wait_for(lambda: len(box._order.turns) == 5, LONG_S)
        box.cancel(first.ident)
        quick.join(LONG_S)
        assert over.count("ben") == 1
        assert over.count("anna") <= 1  # the one that was stopped
        for thread in slow:
            box.cancel(thread.ident)
        for thread in slow:
            thread.join(LONG_S)


def test_who_waits_behind_a_long_query_of_another_is_answered_by_a_second_process(
    results_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "RELIEF_S", 0.2)
    with Sandbox(str(results_file), relieved=True) as box:
        box.run("SELECT 0")
        stopped: list[str] = []

        def ask_long() -> None:
            with asked_by("anna"):
                try:
                    box.run(SLOW, time_limit_s=LONG_S)
                except QueryCancelled:
                    stopped.append("anna")

        long = threading.Thread(target=ask_long)
        long.start()
        with box._changed:
            assert box._changed.wait_for(lambda: box._order.running is not None, LONG_S)
        with asked_by("ben"):
            assert box.run("SELECT 1 AS one").rows == ((1,),)
            assert box.schema().rows("results") > 0
        assert long.is_alive()
        relief = box._relief
        assert relief is not None
        box.cancel(long.ident)
        long.join(LONG_S)
        assert stopped == ["anna"]
        for _ in range(1000):  # the second one is given up when nobody has needed it for a while
            if box._relief is None and relief._child is None:
                break
            time.sleep(0.02)
        assert box._relief is None
        assert relief._child is None
        with asked_by("ben"):
            assert box.run("SELECT 2 AS two").rows == ((2,),)


def test_ones_own_long_query_is_waited_for_and_both_can_be_cancelled(results_file: Path) -> None:
    with Sandbox(str(results_file), relieved=True) as box:
        box.run("SELECT 0")
        over: list[str] = []

        def ask(whose: str, name: str) -> None:
            with asked_by(whose), contextlib.suppress(QueryCancelled):
                box.run(SLOW, time_limit_s=LONG_S)
                over.append(name)

        first = threading.Thread(target=ask, args=("anna", "first"))
        first.start()
        with box._changed:
            assert box._changed.wait_for(lambda: box._order.running is not None, LONG_S)
        second = threading.Thread(target=ask, args=("anna", "second"))
        other = threading.Thread(target=ask, args=("ben", "other"))
        second.start()
        other.start()
        for _ in range(1000):
            if (relief := box._relief) and relief._order.running and len(box._order.turns) == 2:
                break
            time.sleep(0.02)
        assert box._relief
        assert box._relief._order.running
        assert [turn.whose for turn in box._order.turns] == ["anna", "anna"]
        for thread in (first, second, other):
            box.cancel(thread.ident)
        for thread in (first, second, other):
            thread.join(LONG_S)
            assert not thread.is_alive()
        assert over == []

"""Progress: one line on a terminal, a line per trial in a log, and the time left."""

import io
import random

import pytest

from bench_engine.progress import Progress, TimeLeft, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (-3, "0 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_log_gets_a_line_per_trial() -> None:
    stream = io.StringIO()
    progress = Progress(2, stream)
    progress.running(0, "a", 10)
    progress.ended(1, "a", "ok", None, 5)
    progress.ended(2, "b", "failed", "It broke.", 0)
    progress.close()
    assert stream.getvalue() == "[1/2] a ok (5 s left)\n[2/2] b failed: It broke. (0 s left)\n"


def test_a_terminal_keeps_only_what_went_wrong() -> None:
    stream = Terminal()
    progress = Progress(2, stream)
    progress.running(1, "a" * 500, 65)
    progress.ended(1, "a", "ok", None, 5)
    progress.ended(2, "b", "failed", "It broke.", 0)
    progress.close()
    assert "1/2, 1 min 5 s left: aaa" in stream.getvalue()
    assert stream.getvalue().count("\n") == 1
    assert "failed b: It broke.\n" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_time_left_learns_per_benchmark() -> None:
    left = TimeLeft([("quick", 1.0), ("quick", 1.0), ("slow", 10.0), ("slow", 10.0)])
    assert left.seconds() == 22.0
    left.ended("slow", 10.0, 30.0)
    assert left.seconds() == 2.0 + 30.0
    left.ended("slow", 10.0, 30.0)
    left.ended("quick", 1.0, 1.0)
    left.ended("quick", 1.0, 1.0)
    assert left.seconds() == 0.0


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_time_left_moves_while_a_group_runs() -> None:
    clock = Clock()
    left = TimeLeft([("lookup", 10.0)] * 4, clock)
    left.began("lookup", 20.0)
    clock.now = 5.0
    assert left.seconds() == 35.0
    clock.now = 40.0  # twice of what was thought: so will the others
    assert left.seconds() == pytest.approx(20.0 * 2 + 20.0 * 2 * 0.05)
    for _ in range(2):
        left.ended("lookup", 10.0, 20.0)
    assert left.seconds() == 40.0


@pytest.mark.parametrize("seed", range(20))
def test_time_left_is_right_within_a_quarter_after_a_fifth_of_a_sweep(seed: int) -> None:
    """Groups of two to six trials whose times are nothing like the first guess, and scatter by a fifth."""
    clock, chance = Clock(), random.Random(seed)
    groups = [chance.randint(2, 6) for _ in range(30)]
    times = [size * 17.0 * chance.lognormvariate(0, 0.2) for size in groups]
    left = TimeLeft([("lookup", 5.0)] * sum(groups), clock)
    for number, (size, taken) in enumerate(zip(groups, times, strict=True)):
        left.began("lookup", 5.0 * size)
        for share in (0.1, 0.5, 0.9):
            clock.now = sum(times[:number]) + share * taken
            truth = sum(times) - clock.now
            if number >= len(groups) / 5 and truth > 0.2 * sum(times):
                assert left.seconds() == pytest.approx(truth, rel=0.25)
        clock.now = sum(times[: number + 1])
        for _ in range(size):
            left.ended("lookup", 5.0, taken / size)
    assert left.seconds() == pytest.approx(0, abs=1e-6)


def test_a_terminal_that_is_gone_stops_nothing() -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    progress = Progress(2, Gone())
    progress.running(0, "a", 10)
    progress.ended(1, "a", "failed", "It broke.", 5)
    progress.say("b")
    progress.close()

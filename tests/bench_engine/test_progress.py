"""Progress: one line on a terminal, a line per trial in a log, and the time left."""

import io

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

"""Progress on standard error: one line that is rewritten on a terminal, a line per trial elsewhere."""

import contextlib
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TextIO

_LEAST_LEFT = 0.05  # of what a group was thought to take: one that takes longer is about to end


def duration(seconds: float) -> str:
    """`12 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class TimeLeft:
    """How long the rest takes: the estimates, scaled by how the trials of each benchmark have kept to theirs so far.

    While a group runs, the time since it began is taken off what it was thought to take; one that takes longer than
    that says so of the rest of its benchmark too.
    """

    def __init__(self, estimates: Iterable[tuple[str, float]], clock: Callable[[], float] = time.monotonic) -> None:
        """Takes (benchmark, estimate in seconds) of each trial that is to run; `clock` gives seconds."""
        self._clock = clock
        self._left: dict[str, float] = defaultdict(float)
        self._guessed: dict[str, float] = defaultdict(float)
        self._taken: dict[str, float] = defaultdict(float)
        self._running: tuple[str, float, float] | None = None  # benchmark, estimate, when it began
        for benchmark, seconds in estimates:
            self._left[benchmark] += seconds

    def began(self, benchmark: str, estimate: float) -> None:
        """A group begins, whose trials of that benchmark were thought to take so many seconds together."""
        self._running = benchmark, estimate, self._clock()

    def ended(self, benchmark: str, estimate: float, taken: float) -> None:
        """Take a trial off what is left; estimate and time taken are seconds."""
        self._running = None
        self._left[benchmark] -= estimate
        self._guessed[benchmark] += estimate
        self._taken[benchmark] += taken

    def seconds(self) -> float:
        """Of the rest, from now on."""
        own, estimate, since = self._running or ("", 0.0, 0.0)
        elapsed = self._clock() - since if self._running else 0.0
        total = 0.0
        for benchmark, seconds in self._left.items():
            pace = self._pace(benchmark)
            if benchmark != own:
                total += seconds * pace
                continue
            if elapsed > estimate * pace:
                pace = (self._taken[benchmark] + elapsed) / (self._guessed[benchmark] + estimate) if estimate else pace
            total += max(0.0, seconds - estimate) * pace
            total += max(estimate * pace - elapsed, estimate * pace * _LEAST_LEFT)
        return max(0.0, total)

    def _pace(self, benchmark: str) -> float:
        """Seconds that a second of the estimates has taken."""
        guessed = self._guessed[benchmark]
        return self._taken[benchmark] / guessed if guessed else 1.0


class Progress:
    """Says how far a run is."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total = total
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()

    def running(self, done: int, label: str, seconds_left: float) -> None:
        """A trial starts, or goes on. Only a terminal shows it: in a log it would be a line that says nothing new."""
        if self.terminal:
            self._rewrite(f"{self._bar(done)} {done}/{self.total}, {duration(seconds_left)} left: {label}")

    def ended(self, done: int, label: str, status: str, error: str | None, seconds_left: float) -> None:
        """A trial ended. On a terminal only what went wrong stays on the screen."""
        trouble = f": {error}" if error else ""
        if not self.terminal:
            line = f"[{done}/{self.total}] {label} {status}{trouble} ({duration(seconds_left)} left)"
            self._print(line)
        elif status != "ok":
            self._rewrite("")
            self._print(f"{status} {label}{trouble}")

    def say(self, line: str) -> None:
        """A line that stays, beside the one that is rewritten."""
        self.close()
        self._print(line)

    def close(self) -> None:
        """Clear the line, so that what follows starts on an empty one."""
        if self.terminal:
            self._rewrite("")

    def _bar(self, done: int, width: int = 20) -> str:
        full = width * done // max(1, self.total)
        return "[" + "#" * full + "." * (width - full) + "]"

    def _rewrite(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        self._print("\r\x1b[K" + text[:width], end="")

    def _print(self, text: str, end: str = "\n") -> None:
        with contextlib.suppress(OSError):  # the terminal is gone; the run goes on, and its state says the rest
            print(text, end=end, file=self.stream, flush=True)

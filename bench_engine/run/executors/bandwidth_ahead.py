"""Has what the memory of this machine gives measured ahead of trials that are told beside it, once."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable

from bench_engine.machine import bandwidth, machine
from bench_engine.machine.bandwidth import Bandwidth
from bench_engine.run.executors import environment
from bench_engine.run.executors.pinning import pin, quietest_cores

_LIMIT_S, _LOOK_S = 120.0, 0.5


class BandwidthAhead:
    """Measures in a process of its own, as trials do, and tries once for each number of threads."""

    def __init__(self) -> None:
        self._tried: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    def known(self, threads: int, meanwhile: Callable[[], object] = bool) -> Bandwidth | None:
        """What was kept, or is measured now; None where that failed, for which no trial waits again.

        What was found on a machine that was busy is measured again when it is not. `meanwhile` is called now and then.
        """
        found = bandwidth.kept(threads)
        wanted = not found or (found.disturbed and not bandwidth.busy(machine.load_now()))
        if wanted and threads not in self._tried and not self._killed:
            self._tried.add(threads)
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                self._measure(threads, meanwhile)
            found = bandwidth.kept(threads)
        return found

    def kill(self) -> None:
        """End what is being measured."""
        self._killed = True
        if self._process:
            self._process.kill()

    def _measure(self, threads: int, meanwhile: Callable[[], object]) -> None:
        command = [sys.executable, "-P", "-m", "bench_engine.measure.streams", str(threads)]
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment.of_threads(threads),
            start_new_session=True,
        ) as self._process:
            try:
                if cores := quietest_cores(threads):
                    pin([self._process.pid], cores)
                if self._killed:  # the signal came while it was being started
                    self._process.kill()
                until = time.monotonic() + _LIMIT_S
                while self._process.poll() is None and time.monotonic() < until:
                    meanwhile()
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self._process.wait(min(_LOOK_S, _LIMIT_S))
            finally:
                self._process.kill()
                self._process.wait()
                self._process = None

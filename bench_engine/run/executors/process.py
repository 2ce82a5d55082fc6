"""A worker's process as the runner sees it: started, spoken to over a socket, watched over, and ended."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, get_args

from bench_engine import plugin
from bench_engine.machine import memory
from bench_engine.registry import method
from bench_engine.run.executors.environment import interpreter, worker_environment
from bench_engine.trial import State, Trial, TrialResult

_RESULT_BYTES = 64 * 2**20
_STDERR_BYTES = 4000
_LOOK_S = 0.1  # a dead worker's socket may be held open by a child of its own: its death is looked for so often

_END_S = 10.0
_LAST_WORDS_S = 2.0  # a worker that has closed its socket may still be writing its traceback


class WorkerProcess:
    """One live worker.

    Attributes:
        state: what it said last of its turns.
        result: what it yielded, or what is to be said of its end; None while it lives.
        seconds: how long it has worked, its start included; the turns of others are not in it.
        pid: of the process that works.
    """

    def __init__(self, trial: Trial, memory_bytes: int, several_starts: bool = False) -> None:
        """Starts the process and tells it its trial; with several starts it is ready to begin `again` when it has its
        result. Raises OSError where the system gives no file or process."""
        self.trial = trial
        self.state: State = "more"
        self.result: TrialResult | None = None
        self.seconds = 0.0
        self._gone = False
        self._several_starts = several_starts
        self._received = bytearray()
        self._ooms_before = _oom_kills()
        self._asked_at = time.monotonic()
        with contextlib.ExitStack() as stack:
            # A pipe would block when it is full.
            self._printed: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
            self._channel, theirs = socket.socketpair()
            stack.enter_context(self._channel)
            stack.enter_context(theirs)
            command = [*interpreter(trial), "-m", "bench_engine.run.worker", str(theirs.fileno()), str(os.getpid())]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=self._printed,
                env=worker_environment(trial),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            theirs.close()
            self._resources = stack.pop_all()
        self.pid = self._process.pid
        kernel = method(trial.method, trial.benchmark).kernel()
        order = {"trial": trial.to_json(), "memory_bytes": memory_bytes, "kernel": kernel}
        order["parts"] = plugin.parts_of(trial)
        self.tell(json.dumps({**order, "several_starts": True} if several_starts else order))

    def again(self) -> None:
        """Let it set up anew, in a process that has done nothing yet."""
        self.result = None
        self.state = "more"
        self.tell("again")

    def fileno(self) -> int:
        """Of the channel to the worker, for select."""
        return self._channel.fileno()

    def tell(self, line: str) -> None:
        """Send a line; what a dead worker does not take is found out by `wait_for`."""
        self._asked_at = time.monotonic()
        with contextlib.suppress(OSError):
            self._channel.sendall(line.encode() + b"\n")

    @property
    def deadline(self) -> float:
        """When what it was told must be done (monotonic clock)."""
        return self._asked_at + self.trial.time_limit_s - self.seconds

    def receive(self, can_read: bool) -> bool:
        """Take what it has said. Returns whether it has answered or ended."""
        ended = self._process.poll() is not None
        if can_read or ended:
            ended |= self._read()
        line, found, rest = self._received.partition(b"\n")
        if found:
            self._received = rest
            self._take(line)
        elif ended:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LAST_WORDS_S)
            self.close()
            self.end_with(
                _no_result(self._process.returncode or 0, self._last_words(), _oom_kills() > self._ooms_before)
            )
        elif len(self._received) > _RESULT_BYTES:
            self.end_with(TrialResult("failed", error=f"The worker said more than {_RESULT_BYTES >> 20} MiB at once."))
        elif time.monotonic() > self.deadline:
            sentence = f"It took longer than its limit of {self.trial.time_limit_s:g} s and was ended."
            self.end_with(TrialResult("timeout", error=sentence, environment=_as_stderr(self._last_words())))
        else:
            return False
        self.seconds += time.monotonic() - self._asked_at
        return True

    def end_with(self, result: TrialResult) -> None:
        """End it; this is what came out."""
        self.close()
        self.result = result
        self.state = "ended"

    def outcome(self) -> TrialResult:
        """Its result, with the time that it took."""
        result = self.result or TrialResult("failed", error="The worker was left without a result.")
        return replace(result, seconds=self.seconds)

    def kill(self) -> None:
        """End the process and all that it started; safe in a signal handler."""
        if not self._gone:  # else its number may be another's by now
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process, and wait until it is gone."""
        self.kill()
        self._gone = True
        with contextlib.suppress(subprocess.TimeoutExpired):  # it hangs in the system, where no signal reaches it
            self._process.wait(_END_S)

    def free(self) -> None:
        """End it, and give back its files and its socket."""
        self.close()
        self._resources.close()

    def _read(self) -> bool:
        """Take what is there to be read. Returns whether the other end is closed."""
        while True:
            try:
                data = self._channel.recv(2**20, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except OSError:
                return True
            if not data:
                return True
            self._received += data
            if len(self._received) > _RESULT_BYTES:
                return False

    def _take(self, line: bytes | bytearray) -> None:
        try:
            said = json.loads(line)
            if "result" not in said:
                if said["state"] not in get_args(State):
                    raise ValueError
                self.state = said["state"]
                self.pid = int(said.get("pid", self.pid))
                return
            result = TrialResult.from_json(json.dumps(said["result"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            self.end_with(TrialResult("failed", error="The worker's answer cannot be read."))
            return
        if result.status != "ok":
            result = TrialResult(
                result.status, error=result.error, environment={**result.environment, **_as_stderr(self._last_words())}
            )
        if self._several_starts and result.status == "ok":
            self.result, self.state = result, "ended"
        else:
            self.end_with(result)

    def _last_words(self) -> str:
        end = self._printed.seek(0, os.SEEK_END)
        self._printed.seek(max(0, end - _STDERR_BYTES))
        return self._printed.read().decode(errors="replace")


def wait_for(workers: Sequence[WorkerProcess], meanwhile: Callable[[], object] = bool) -> None:
    """Wait until each of these has answered what it was told, or has ended; `meanwhile` is called now and then."""
    open_ones = list(workers)
    while open_ones:
        meanwhile()
        pause = min(_LOOK_S, *(max(0.0, w.deadline - time.monotonic()) for w in open_ones))
        readable, _, _ = select.select(open_ones, [], [], pause)
        open_ones = [w for w in open_ones if not w.receive(w in readable)]


def _no_result(code: int, stderr: str, oom_kill: bool) -> TrialResult:
    """What to say of a worker that ended without a word."""
    if code == -signal.SIGKILL and oom_kill:
        sentence = "The system ended the worker because memory ran out."
        return TrialResult("oom", error=sentence, environment=_as_stderr(stderr))
    if memory.ran_out(stderr):
        return TrialResult("oom", error=f"It ran out of memory: {_last(stderr)}", environment=_as_stderr(stderr))
    if code < 0:
        try:
            how = f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            how = f"was ended by signal {-code}"
    else:
        how = f"ended with exit status {code} and without a result"
    last = f": {_last(stderr)}" if stderr.strip() else " and said nothing."
    return TrialResult("failed", error=f"The worker {how}{last}", environment=_as_stderr(stderr))


def _last(stderr: str) -> str:
    return stderr.strip().splitlines()[-1].strip()[:300]


def _as_stderr(stderr: str) -> dict[str, str]:
    return {"stderr": stderr} if stderr else {}


def _oom_kills() -> int:
    """How often this system has ended a process for memory; 0 where that cannot be read."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)

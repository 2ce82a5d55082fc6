"""Trials on this machine, one at a time, each in a process of its own."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from bench_engine.trial import Trial, TrialResult
from db.settings import ROOT

_RESULT_BYTES = 64 * 2**20  # of a worker's output only so much of the end is looked through for the result
_STDERR_BYTES = 4000


class LocalExecutor:
    """Starts a worker per trial and watches over its time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    def execute(self, trial: Trial) -> TrialResult:
        try:
            return self._run(trial)
        except OSError as error:  # no space for temporary files, no process or memory left
            sentence = (
                f"The worker could not be run: {error.strerror}. Mend that (space for temporary files, number of "
                "processes, memory) and start again with --retry-failed."
            )
            return TrialResult("failed", error=sentence)

    def _run(self, trial: Trial) -> TrialResult:
        """Raises OSError where the system gives no file or process."""
        mark = f"result-{secrets.token_hex(8)}:"
        command = [sys.executable, "-P", "-m", "bench_engine.worker", mark, str(os.getpid())]
        ooms_before = _oom_kills()
        # Files and not pipes: a pipe that a child of the worker holds open would keep the runner waiting for ever.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
            given.write(trial.to_json().encode())
            given.seek(0)
            process = subprocess.Popen(
                command, stdin=given, stdout=out, stderr=err, env=worker_environment(trial), start_new_session=True
            )
            self._process = process
            if self._killed:  # the signal came while the worker was being started
                self.kill()
            timed_out = False
            try:
                process.wait(timeout=trial.time_limit_s)
            except subprocess.TimeoutExpired:
                timed_out = True
            finally:
                self._process = None
                _kill_group(process)  # what the worker started must not run beside the next trial
                process.wait()
            stderr = _tail(err, _STDERR_BYTES)
            if timed_out:
                sentence = f"It took longer than its limit of {trial.time_limit_s:g} s and was ended."
                return TrialResult("timeout", error=sentence, environment=_said(stderr))
            if (result := _result(_tail(out, _RESULT_BYTES), mark)) is None:
                return _no_result(process.returncode, stderr, _oom_kills() > ooms_before)
            if result.status == "ok":
                return result
            return TrialResult(result.status, error=result.error, environment={**result.environment, **_said(stderr)})

    def kill(self) -> None:
        self._killed = True
        if (process := self._process) is not None:
            _kill_group(process)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def worker_environment(trial: Trial) -> dict[str, str]:
    """Environment of a worker: threads pinned before any library reads them."""
    threads = str(trial.config.get("threads", 1))
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    return {
        **os.environ,
        "PYTHONPATH": path,
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        # Spinning threads on a busy machine slow one another down by orders of magnitude.
        "OMP_WAIT_POLICY": "PASSIVE",
    }


def _result(output: str, mark: str) -> TrialResult | None:
    _, found, rest = output.rpartition(mark)
    if not found:
        return None
    try:
        return TrialResult.from_json(rest.partition("\n")[0])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _no_result(code: int, stderr: str, oom_kill: bool) -> TrialResult:
    """What to say of a worker that ended without a word."""
    if code == -signal.SIGKILL and oom_kill:
        sentence = "The system ended the worker because memory ran out."
        return TrialResult("oom", error=sentence, environment=_said(stderr))
    if code < 0:
        try:
            how = f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            how = f"was ended by signal {-code}"
    else:
        how = f"ended with exit status {code} and without a result"
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = f": {lines[-1][:300]}" if lines else " and said nothing."
    return TrialResult("failed", error=f"The worker {how}{last}", environment=_said(stderr))


def _said(stderr: str) -> dict[str, str]:
    return {"stderr": stderr} if stderr else {}


def _tail(file: IO[bytes], size: int) -> str:
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - size))
    return file.read().decode(errors="replace")


def _oom_kills() -> int:
    """How often this system has ended a process for memory; 0 where that cannot be read."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)

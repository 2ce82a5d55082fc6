"""The worker: it works when it is told to, answers on its socket alone, and ends with its runner."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest
from alone import alone

from bench_engine.kernels.native import extension
from bench_engine.registry import method
from bench_engine.run import worker
from bench_engine.sweep.sweep import expand, load
from bench_engine.trial import Trial, TrialResult


class Conversation:
    """A worker as its runner sees it, line by line."""

    def __init__(self, trial: Trial, runner_pid: int) -> None:
        self.socket, theirs = socket.socketpair()
        command = [sys.executable, "-m", "bench_engine.run.worker", str(theirs.fileno()), str(runner_pid)]
        self.process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        theirs.close()
        self.lines = self.socket.makefile("rw")
        with contextlib.suppress(BrokenPipeError):  # one that does not start reads nothing
            self.tell(json.dumps({"trial": trial.to_json(), "memory_bytes": None}))

    def tell(self, line: str) -> None:
        self.lines.write(line + "\n")
        self.lines.flush()

    def hear(self) -> dict:
        try:
            return json.loads(self.lines.readline() or "{}")
        except ConnectionResetError:
            return {}

    def end(self) -> tuple[str, str]:
        self.lines.close()
        self.socket.close()
        return self.process.communicate(timeout=60)


@pytest.fixture
def converse(engine):
    begun = []

    def begin(deed: str, runner_pid: int = os.getpid()) -> Conversation:
        (trial,) = expand(engine.sweep(deed))
        begun.append(Conversation(trial, runner_pid))
        return begun[-1]

    yield begin
    for conversation in begun:
        conversation.process.kill()


def test_a_worker_works_when_it_is_told_to(converse) -> None:
    worker = converse("ok")
    assert worker.hear() == {"state": "more"}
    worker.tell("turn")
    assert worker.hear() == {"state": "ended"}
    worker.tell("finish")
    result = TrialResult.from_json(json.dumps(worker.hear()["result"]))
    assert (result.status, result.samples_us, result.turn_sizes) == ("ok", (1.0, 2.0, 3.0), (3,))
    worker.end()
    assert worker.process.returncode == 0


def test_what_is_printed_is_no_answer(converse) -> None:
    worker = converse("rubbish")
    worker.hear()
    worker.tell("turn")
    assert worker.hear() == {"state": "ended"}
    assert json.loads(worker.end()[0].splitlines()[0]) == {"status": "ok"}


def test_a_failure_is_a_result_and_leaves_its_traceback_on_stderr(converse) -> None:
    worker = converse("raise")
    worker.hear()
    worker.tell("turn")
    assert worker.hear()["result"]["status"] == "failed"
    assert "Traceback" in worker.end()[1]
    assert worker.process.returncode == 0


def test_a_worker_whose_runner_has_gone_does_not_start(converse) -> None:
    worker = converse("ok", runner_pid=1 if os.getpid() != 1 else 2)
    assert worker.hear() == {}
    worker.end()
    assert worker.process.returncode == 1


def test_a_worker_whose_runner_hangs_up_ends(converse) -> None:
    worker = converse("ok")
    worker.hear()
    worker.end()
    assert worker.process.returncode == 0


def test_a_worker_dies_with_its_runner(engine) -> None:
    (trial,) = expand(engine.sweep("sleep"))
    code = (
        "import sys, time\n"
        "from bench_engine.run.executors.process import WorkerProcess\n"
        "from bench_engine.trial import Trial\n"
        "worker = WorkerProcess(Trial.from_json(sys.argv[1]), 10**12)\n"
        "print(worker._process.pid, flush=True); time.sleep(60)\n"
    )
    runner = subprocess.Popen([sys.executable, "-c", code, trial.to_json()], stdout=subprocess.PIPE, text=True)
    assert runner.stdout
    process = psutil.Process(int(runner.stdout.readline()))
    time.sleep(0.5)
    assert process.is_running()
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait()
    _, alive = psutil.wait_procs([process], timeout=10)
    assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]
    runner.stdout.close()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("too small a table"), "too small a table"),
        (KeyError("x"), "KeyError: 'x'"),
        (RuntimeError("one\ntwo"), "RuntimeError: one"),
        (MemoryError(), "MemoryError: no message"),
        (ValueError("7"), "ValueError: 7"),
    ],
)
def test_sentence_of_an_exception(error: Exception, text: str) -> None:
    assert worker.sentence(error) == text


ENFORCE = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 32000000000000 bytes. Error code 12"


@pytest.mark.parametrize(
    ("error", "limit", "text"),
    [
        (MemoryError(), None, "It ran out of memory."),
        (MemoryError(), 500_000_000, "It ran out of memory above its limit of 0.5 GB."),
        (RuntimeError(f"[enforce fail] {ENFORCE}"), None, "It ran out of memory: it asked for 32 TB at once."),
        (
            MemoryError("Unable to allocate 7.28 TiB for an array"), 10**9,
            "It ran out of memory above its limit of 1 GB: it asked for 8 TB at once.",
        ),
        (
            RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0"), None,
            "It ran out of memory: it asked for 21.5 GB at once.",
        ),
        (RuntimeError("std::bad_alloc"), None, "It ran out of memory: RuntimeError: std::bad_alloc"),
    ],
)  # fmt: skip
def test_memory_that_was_not_to_be_had_is_said_in_one_sentence(error: Exception, limit: int | None, text: str) -> None:
    result = worker._failure(error, limit)
    assert (result.status, result.error) == ("oom", text)


def test_code_that_was_changed_after_the_run_began_is_not_filed_under_the_old_one() -> None:
    trial = expand(load("tiny"), ["methods=dense"])[0]
    result = alone(worker.run(trial, kernel="0123456789abcdef"))
    assert (result.status, result.samples_us) == ("failed", ())
    assert result.error == "The code of dense was changed after the run began: start the run again."
    assert alone(worker.run(trial, kernel=method("dense").kernel())).status == "ok"


def test_torch_threads_come_from_the_trial(engine) -> None:
    """The real benchmark, in its own process: 3 threads asked for, 3 threads set."""
    from bench_engine.run.executors.local import LocalExecutor

    trial = expand(load("tiny"), ["threads=3", "methods=dense"])[0]
    (result,) = LocalExecutor().execute([trial])
    assert result.status == "ok", result.error
    assert result.environment["torch_threads"] == 3


def test_the_environment_names_the_build_that_was_loaded(monkeypatch) -> None:
    monkeypatch.setattr(extension, "provenance", lambda: {"kernels_build": "k", "compiler": "g++: 12"})
    found = worker.environment(None)
    assert (found["kernels_build"], found["compiler"]) == ("k", "g++: 12")

"""The worker: one trial in, one marked line out, and an end with its runner."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from bench_engine import worker
from bench_engine.kernels import extension
from bench_engine.sweep import expand
from bench_engine.trial import TrialResult


def run_worker(engine, deed: str, pid: int | None = None) -> subprocess.CompletedProcess[str]:
    (trial,) = expand(engine.sweep(deed))
    command = [sys.executable, "-m", "bench_engine.worker", "MARK:", str(os.getpid() if pid is None else pid)]
    return subprocess.run(command, input=trial.to_json(), capture_output=True, text=True, timeout=60, check=False)


def test_the_result_is_a_line_of_its_own_behind_the_mark(engine) -> None:
    lines = run_worker(engine, "rubbish").stdout.splitlines()
    (marked,) = [line for line in lines if line.startswith("MARK:")]
    result = TrialResult.from_json(marked.removeprefix("MARK:"))
    assert result.status == "ok"
    assert json.loads(lines[0]) == {"status": "ok"}


def test_a_failure_is_a_result_and_leaves_its_traceback_on_stderr(engine) -> None:
    done = run_worker(engine, "raise")
    assert '"failed"' in done.stdout
    assert "Traceback" in done.stderr
    assert done.returncode == 0


def test_a_worker_whose_runner_has_gone_does_not_start(engine) -> None:
    done = run_worker(engine, "ok", pid=1 if os.getpid() != 1 else 2)
    assert done.returncode == 1
    assert "MARK:" not in done.stdout


def test_a_worker_dies_with_its_runner(engine) -> None:
    (trial,) = expand(engine.sweep("sleep"))
    code = (
        "import os, subprocess, sys, time\n"
        "command = [sys.executable, '-m', 'bench_engine.worker', 'M', str(os.getpid())]\n"
        "p = subprocess.Popen(command, stdin=subprocess.PIPE)\n"
        "p.stdin.write(sys.argv[1].encode()); p.stdin.close()\n"
        "print(p.pid, flush=True); time.sleep(60)\n"
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


def test_torch_threads_come_from_the_trial(engine) -> None:
    """The real benchmark, in its own process: 3 threads asked for, 3 threads set."""
    from bench_engine.executors.local import LocalExecutor
    from bench_engine.sweep import load

    trial = expand(load("tiny"), ["threads=3", "methods=dense"])[0]
    result = LocalExecutor().execute(trial)
    assert result.status == "ok", result.error
    assert result.environment["torch_threads"] == 3


def test_the_environment_names_the_build_that_was_loaded(monkeypatch) -> None:
    monkeypatch.setattr(extension, "provenance", lambda: {"kernels_build": "k", "compiler": "g++: 12"})
    found = worker.environment(None)
    assert (found["kernels_build"], found["compiler"]) == ("k", "g++: 12")

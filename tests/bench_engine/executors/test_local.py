"""The local executor: whatever becomes of a worker is a result."""

import dataclasses
import errno
import os
import threading
import time
from collections.abc import Iterator

import psutil
import pytest

from bench_engine.executors import local
from bench_engine.executors.local import LocalExecutor, worker_environment
from bench_engine.sweep import expand
from bench_engine.trial import Trial


def trial(engine, deed: str, limit_s: float = 30.0) -> Trial:
    return dataclasses.replace(expand(engine.sweep(deed))[0], time_limit_s=limit_s)


@pytest.mark.parametrize(
    ("deed", "status", "words"),
    [
        ("ok", "ok", None),
        ("rubbish", "ok", None),
        ("raise", "failed", "the table is too small: give more rows."),
        ("memory", "oom", "It ran out of memory"),
        ("allocator", "oom", "can't allocate memory"),
        ("killed", "failed", "was ended by SIGKILL: last words"),
        ("exit", "failed", "ended with exit status 3 and without a result and said nothing."),
        ("nan", "failed", "a value that cannot be stored: latency_us"),
        ("skip", "skipped", "This size cannot be reached."),
    ],
)
def test_results(engine, deed: str, status: str, words: str | None) -> None:
    result = LocalExecutor().execute(trial(engine, deed))
    assert result.status == status
    assert result.error is None if words is None else words in (result.error or "")
    assert "\n" not in (result.error or "")


def test_an_ok_result_is_complete(engine) -> None:
    result = LocalExecutor().execute(trial(engine, "ok"))
    assert result.samples_us == (1.0, 2.0, 3.0)
    assert result.metrics["latency_us"] == 2.0
    assert 5 < result.metrics["peak_rss_mb"] < 5000
    assert result.environment["OMP_WAIT_POLICY"] == "PASSIVE"


def test_a_failed_result_keeps_the_tail_of_stderr(engine) -> None:
    assert "Traceback" in LocalExecutor().execute(trial(engine, "raise")).environment["stderr"]


def test_sigkill_with_the_system_short_of_memory_is_oom(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    kills: Iterator[int] = iter((7, 8))
    monkeypatch.setattr(local, "_oom_kills", lambda: next(kills))
    assert LocalExecutor().execute(trial(engine, "killed")).status == "oom"


@pytest.mark.parametrize(
    ("part", "code"), [("tempfile.TemporaryFile", errno.ENOSPC), ("subprocess.Popen", errno.EAGAIN)]
)
def test_a_system_that_gives_no_file_or_process_is_a_result(
    engine, monkeypatch: pytest.MonkeyPatch, part: str, code: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    one = trial(engine, "ok")
    with monkeypatch.context() as patched:
        patched.setattr(f"bench_engine.executors.local.{part}", refuse)
        result = LocalExecutor().execute(one)
    assert result.status == "failed"
    assert result.error
    assert result.error.startswith(f"The worker could not be run: {os.strerror(code)}. Mend that")
    assert LocalExecutor().execute(one).status == "ok"


def test_time_limit_ends_the_worker(engine) -> None:
    result = LocalExecutor().execute(trial(engine, "sleep", limit_s=0.5))
    assert result.status == "timeout"
    assert result.error == "It took longer than its limit of 0.5 s and was ended."
    assert not workers()


def test_what_a_worker_started_ends_with_it(engine) -> None:
    before = set(psutil.Process().children(recursive=True))
    started = time.monotonic()
    assert LocalExecutor().execute(trial(engine, "child")).status == "ok"
    assert time.monotonic() - started < 30
    orphans = [
        p for p in psutil.process_iter(["cmdline"]) if "import time; time.sleep(60)" in (p.info["cmdline"] or [])
    ]
    psutil.wait_procs(orphans, timeout=5)
    assert not [p for p in orphans if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    assert set(psutil.Process().children(recursive=True)) <= before


def test_kill_ends_the_trial_that_runs_and_those_that_come(engine) -> None:
    executor = LocalExecutor()
    timer = threading.Timer(0.5, executor.kill)
    timer.start()
    assert executor.execute(trial(engine, "sleep")).status == "failed"
    timer.join()
    assert executor.execute(trial(engine, "sleep")).status == "failed"
    assert not workers()


def test_threads_are_pinned_before_the_worker_starts(engine) -> None:
    (one,) = expand(engine.sweep("ok"), ["threads=3"])
    environment = worker_environment(one)
    assert (environment["OMP_NUM_THREADS"], environment["MKL_NUM_THREADS"]) == ("3", "3")


def workers() -> list[psutil.Process]:
    """Workers of this process that are still alive."""
    return [
        p
        for p in psutil.Process(os.getpid()).children()
        if p.status() != psutil.STATUS_ZOMBIE and "bench_engine.worker" in p.cmdline()
    ]

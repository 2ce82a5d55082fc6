"""A benchmark without torch that does what its axis `pooling_mode` says: a worker of it takes a tenth of a second."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time

from bench_engine.registry import Axis, Benchmark, Method
from bench_engine.trial import Run, Trial, TrialResult

DEEDS = (
    "ok", "raise", "memory", "allocator", "sleep", "killed", "exit", "nan", "negative", "negative_sample",
    "unknown_metric", "wrong_type", "rubbish", "skip", "child", "surrogate", "list",
    "wrong_state", "endless", "log", "slow", "hog", "kill_runner", "exit_zero", "leave", "segfault", "fork",
)  # fmt: skip
METHODS = tuple(
    Method(name, "a fake", "none:none", compressible=name != "fake_dense") for name in ("fake", "fake_dense")
)
BENCHMARK = Benchmark(
    name="fake",
    op="nothing",
    text="does what its axis says",
    module="fake_benchmark",
    methods=("fake", "fake_dense"),
    axes=(
        Axis("pooling_mode", str, "ok", "what to do", choices=DEEDS),
        Axis("compression", float, 1.0, "fraction kept", low=1e-6, high=1.0),
        Axis("batch_size", int, 1, "any number", low=1, high=10_000_000),
        Axis("bag_size", int, 1, "any number", low=1, high=100_000),
        Axis("threads", int, 1, "threads", low=1, high=64),
        Axis("seed", int, 0, "seed", low=0, high=2**31 - 1),
    ),
    measurement=1,
    seconds=0.2,
)
METRICS = {"latency_us": 2.0, "memory_mb": 1.0, "sample_count": 3, "noise": 0.1}


def run(trial: Trial) -> Run:  # noqa: C901
    yield "more"  # it has set up; the deed is done in its first turn
    samples = (1.0, 2.0, 3.0)
    metrics: dict[str, object] = dict(METRICS)
    deed = trial.config["pooling_mode"]
    if deed == "raise":
        raise ValueError("the table is too small: give more rows.\nSecond line")
    if deed == "memory":
        raise MemoryError
    if deed == "allocator":
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes")
    if deed == "hog":
        bytearray(10**9)
    if deed == "log":  # turns that say when they were
        with open(os.environ.get("FAKE_TURNS_LOG", os.devnull), "a") as log:
            for left in range(4, -1, -1):
                begin = time.monotonic()
                time.sleep(0.01)
                turn = {"pid": os.getpid(), "begin": begin, "end": time.monotonic()}
                log.write(json.dumps(turn) + "\n")
                log.flush()
                if left:
                    yield "more"
    if deed == "slow":
        for _ in range(5):
            time.sleep(0.5)
            yield "more"
    if deed == "kill_runner":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    if deed == "sleep":
        time.sleep(60)
    if deed == "killed":
        sys.stderr.write("last words\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    if deed == "exit":
        os._exit(3)
    if deed == "exit_zero":
        os._exit(0)
    if deed == "leave":
        sys.exit(0)
    if deed == "segfault":
        ctypes.string_at(0)
    if deed == "fork" and os.fork() == 0:
        samples = (2.0, 2.0, 2.0)  # and on as if it were the worker
    if deed == "rubbish":
        sys.stdout.write('{"status": "ok"}\nresult-0000: half a line')
    if deed == "skip":
        return TrialResult("skipped", error="This size cannot be reached.")
    if deed == "child":  # keeps standard output open and outlives the worker
        subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
    if deed == "surrogate":
        raise ValueError("no file \udcff here")
    metrics |= {
        "nan": {"latency_us": float("nan")},
        "negative": {"latency_us": -1.0},
        "unknown_metric": {"happiness": 1.0},
        "wrong_type": {"sample_count": 2.5},
    }.get(str(deed), {})
    if deed == "negative_sample":
        samples = (1.0, -2.0)
    if deed == "list":
        return TrialResult("ok", metrics, samples, environment=[1, 2])  # type: ignore[arg-type]
    yield "wrong" if deed == "wrong_state" else "ended"  # type: ignore[misc]
    if deed == "endless":
        yield "more"
    return TrialResult("ok", metrics, samples, (("loss", 1, 0.5),), "fixed_count", turn_sizes=(len(samples),))

"""One trial in one process: reads the trial from standard input, runs it, and prints its result as one line of JSON.

The runner calls `python -m bench_engine.worker MARK PID`. The result's line starts with MARK, so nothing else that is
printed can be taken for it; PID is the runner, with which the worker ends.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
import traceback
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from bench_engine import machine
from bench_engine.kernels import extension
from bench_engine.registry import benchmark
from bench_engine.trial import Trial, TrialResult

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "bad_alloc")


def main(mark: str, runner_pid: int) -> None:
    """Run the trial on standard input and print its result."""
    _die_with(runner_pid)
    result = run(Trial.from_json(sys.stdin.read()))
    sys.stdout.write(f"\n{mark}{_line(result)}\n")
    sys.stdout.flush()


def run(trial: Trial) -> TrialResult:
    """The trial's result, with peak memory and environment; whatever goes wrong is a result too."""
    load_before = machine.load_now()
    try:
        module = benchmark(trial.benchmark).load()
        if torch := sys.modules.get("torch"):  # a benchmark without torch is not made to wait for it
            torch.set_num_threads(int(trial.config.get("threads", 1)))
        result: TrialResult = module.run(trial)
    except Exception as error:
        traceback.print_exc()
        result = _failure(error)
    metrics = dict(result.metrics)
    if result.status == "ok":
        metrics["peak_rss_mb"] = peak_rss_mb()
    return replace(result, metrics=metrics, environment={**environment(load_before), **result.environment})


def peak_rss_mb() -> float:
    """Peak resident memory of this process / 1e6 bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def environment(load_before: float | None) -> dict[str, Any]:
    """Versions, settings and state of the machine at the time of the trial, and the build of kernels that it used."""
    found = machine.state()
    found["load_after"] = found.pop("load", None)
    found["load_before"] = load_before
    for package in ("torch", "numpy"):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY"):
        found[name] = os.environ.get(name, "")
    if torch := sys.modules.get("torch"):
        found["torch_threads"] = torch.get_num_threads()
        found["instruction_set"] = torch.backends.cpu.get_cpu_capability()
    found.update(extension.provenance())
    return found


def _failure(error: Exception) -> TrialResult:
    text = sentence(error)
    if isinstance(error, MemoryError) or any(words in text.lower() for words in _OUT_OF_MEMORY):
        return TrialResult("oom", error=f"It ran out of memory: {text}")
    return TrialResult("failed", error=text)


def sentence(error: Exception) -> str:
    """One line for an exception: its first line, with its type where that says more."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0][:500] if lines else "no message"
    return text if isinstance(error, ValueError) and " " in text else f"{type(error).__name__}: {text}"


def _line(result: TrialResult) -> str:
    try:
        return result.to_json()
    except (ValueError, TypeError) as error:
        bad = [k for k, v in result.metrics.items() if isinstance(v, float) and v - v != 0]
        what = ", ".join(bad) if bad else str(error)
        return TrialResult("failed", error=f"The benchmark reported a value that cannot be stored: {what}.").to_json()


def _die_with(runner_pid: int) -> None:
    """Ask the system to kill this process when the runner ends, also when it is killed itself (Linux only)."""
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != runner_pid:  # it ended before the call above
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

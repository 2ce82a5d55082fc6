"""One trial in one process, which works when it is told to.

The runner calls `python -m bench_engine.run.worker FD PID`. FD is a socket: what is printed elsewhere can never be
taken for an answer. PID is the runner, with which the worker ends. Both sides write lines:

    runner: {"trial": ..., "kernel": ...}    worker: {"state": "more" | "enough" | "ended"} when it has set up
    runner: turn                             worker: {"state": ...} after some samples
    runner: finish                           worker: {"result": ...}

The result comes in place of a state as soon as the trial fails or is skipped. With "several_starts" in the first line
the process imports what the trial needs and forks one that does all of this, whose number stands in its states as
"pid"; "again" after its result forks the next. So a start costs no import, and has memory of its own all the same.
"""

import contextlib
import ctypes
import json
import os
import re
import signal
import socket
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TextIO

from bench_engine import plugin
from bench_engine.kernels.native import extension
from bench_engine.machine import machine, memory
from bench_engine.registry import benchmark, method
from bench_engine.trial import Run, Trial, TrialResult

# Variables that change how libraries use memory and threads.
_TELLING = ("OMP_", "GOMP_", "KMP_", "MKL_", "ATEN_", "MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD")
# How torch, CUDA, numpy and JAX say what there was no room for: bytes, or MiB, GiB and so on.
_ASKED = re.compile(r"allocat(?:e|ing) (\d+(?:\.\d+)?) ?([kKMGTPE]i?B|bytes)")
_UNITS = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes"))
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_HAS_SAID = 87  # exit status of a start that has given its result: a method may end its process with 0


def main(descriptor: int, runner_pid: int) -> None:
    """Run the trial that the runner names on the socket."""
    _die_with(runner_pid)
    _die_first()
    extension.compiles_on_use = False  # the runner has it done ahead of all trials
    with socket.socket(fileno=descriptor) as channel, channel.makefile("rw", encoding="utf-8") as lines:
        order = json.loads(lines.readline())
        if order.get("several_starts"):
            _starts(order, lines)
        else:
            _converse(order, lines, {})


def _starts(order: Mapping[str, Any], lines: TextIO) -> None:
    """Fork a process for each start; end as one ends that has given no result."""
    trial, own = Trial.from_json(order["trial"]), os.getpid()
    with contextlib.suppress(Exception):  # a start meets it again, and says so
        benchmark(trial.benchmark).load()
        method(trial.method, trial.benchmark).kernel()
    while True:
        if not (child := os.fork()):
            code = 1
            try:
                _die_with(own)
                _converse(order, lines, {"pid": os.getpid()})
                code = _HAS_SAID
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
            except BaseException:
                traceback.print_exc()
            finally:
                with contextlib.suppress(OSError, ValueError):
                    sys.stdout.flush()
                    sys.stderr.flush()
                os._exit(code)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            with contextlib.suppress(OSError):  # SIGKILL has no handler
                signal.signal(number, signal.SIG_DFL)
            os.kill(own, number)
        if (code := os.WEXITSTATUS(status)) != _HAS_SAID:
            os._exit(code)
        if lines.readline() != "again\n":
            return


def _converse(order: Mapping[str, Any], lines: TextIO, told: Mapping[str, Any]) -> None:
    """Do what the runner says until there is a result; `told` goes with each state."""
    steps = run(Trial.from_json(order["trial"]), order["memory_bytes"], order.get("kernel", ""), order.get("parts"))
    own = os.getpid()
    try:
        state = next(steps)
        while True:
            _end_a_copy(own)
            lines.write(json.dumps({"state": state, **told}) + "\n")
            lines.flush()
            word = lines.readline()
            if not word:  # the runner is gone
                return
            state = steps.send(word == "turn\n")
    except StopIteration as ended:
        _end_a_copy(own)
        lines.write(f'{{"result": {_text(ended.value)}}}\n')
        lines.flush()


def run(trial: Trial, memory_bytes: int | None = None, kernel: str = "", parts: Mapping[str, str] | None = None) -> Run:
    """The benchmark's own run with the result completed by peak memory and environment; whatever goes wrong is a
    result too.

    Args:
        memory_bytes: how much memory it may take.
        kernel: which kernel the result will be filed under.
        parts: which code of plug-ins besides (bench_engine.plugin.parts_of).
    """
    load_before = machine.load_now()
    peak_mb: float | None = None
    try:
        module = benchmark(trial.benchmark).load()
        if kernel and method(trial.method, trial.benchmark).kernel() != kernel:
            raise ValueError(f"The code of {trial.method} was changed after the run began: start the run again.")
        _check_parts(trial, parts or {})
        if torch := sys.modules.get("torch"):  # a benchmark without torch is not made to wait for it
            torch.set_num_threads(int(trial.config.get("threads", 1)))
        if memory_bytes:  # now, and not before: libraries reserve more than they use when they are loaded
            memory.limit(memory_bytes)
        steps: Run = module.run(trial)
        try:
            state = next(steps)
            memory.give_back()
            memory.reset_peak()  # what the correctness check took is not the method's
            while True:
                go_on = yield state
                if not go_on:
                    peak_mb = memory.peak_rss_mb()
                state = steps.send(go_on)
        except StopIteration as ended:
            result: TrialResult = ended.value
    except Exception as error:
        traceback.print_exc()
        result = _failure(error, memory_bytes if trial.memory_limit_gb else None)
    if result.status == "ok":
        result = _with_own_metrics(trial, result)
        result = replace(result, metrics={**result.metrics, "peak_rss_mb": peak_mb})
    found = environment(load_before, method(trial.method, trial.benchmark).packages)
    return replace(result, environment={**found, **result.environment})


def _check_parts(trial: Trial, parts: Mapping[str, str]) -> None:
    """Raises ValueError where what plug-ins bring to a trial is no longer what the runner knows."""
    now = plugin.parts_of(trial) if parts else {}
    for what, known in parts.items():
        if now.get(what) != known:
            raise ValueError(f"The code of the {what} was changed after the run began: start the run again.")


def _with_own_metrics(trial: Trial, result: TrialResult) -> TrialResult:
    """The result with the metrics of plug-ins where results have place for them: among its curves, at step 0."""
    own = {entry.name for entry in plugin.own_metrics()}
    if not own:
        return result
    points, complaints = plugin.stored(trial, result)
    metrics = {name: value for name, value in result.metrics.items() if name not in own}  # those not asked for too
    told = {"missing_metrics": complaints} if complaints else {}
    environment = {**result.environment, **told}
    return replace(result, metrics=metrics, curves=(*result.curves, *points), environment=environment)


def environment(load_before: float | None, packages: Sequence[str] = ()) -> dict[str, Any]:
    """Versions, settings and state of the machine at the time of the trial, and the build of kernels that it used.

    `packages` are the pins of what a rival needs.
    """
    found = machine.state()
    found["load_after"] = found.pop("load", None)
    found["load_before"] = load_before
    for package in ("torch", "numpy", *(pin.partition("==")[0] for pin in packages)):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    found["variables"] = {name: value for name, value in sorted(os.environ.items()) if name.startswith(_TELLING)}
    if torch := sys.modules.get("torch"):
        found["torch_threads"] = torch.get_num_threads()
        found["instruction_set"] = torch.backends.cpu.get_cpu_capability()
    found.update(extension.provenance())
    return found


def _failure(error: Exception, limit: int | None) -> TrialResult:
    text = sentence(error)
    if not isinstance(error, MemoryError) and not memory.ran_out(text):
        return TrialResult("failed", error=text)
    what = f"It ran out of memory above its limit of {limit / 1e9:g} GB" if limit else "It ran out of memory"
    if asked := _ASKED.search(str(error)):
        size = float(asked[1]) * 1024 ** "BKMGTPE".index(asked[2][0].upper())
        what += f": it asked for {_size(size)} at once."
    else:
        what += f": {text}" if str(error).strip() else "."
    return TrialResult("oom", error=what)


def _size(size: float) -> str:
    unit, name = next((u for u in _UNITS if size >= u[0]), _UNITS[-1])
    return f"{size / unit:.3g} {name}"


def sentence(error: Exception) -> str:
    """One line for an exception: its first line, with its type where that says more."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0][:500] if lines else "no message"
    return text if isinstance(error, ValueError) and " " in text else f"{type(error).__name__}: {text}"


def _text(result: TrialResult) -> str:
    try:
        return result.to_json()
    except (ValueError, TypeError) as error:
        bad = [k for k, v in result.metrics.items() if isinstance(v, float) and v - v != 0]
        what = ", ".join(bad) if bad else str(error)
        return TrialResult("failed", error=f"The benchmark reported a value that cannot be stored: {what}.").to_json()


def _end_a_copy(own: int) -> None:
    """A process that a method has forked, and that came back from the method too, must not speak for the worker."""
    if os.getpid() != own:
        os._exit(1)


def _die_with(runner_pid: int) -> None:
    """Ask the system to kill this process when the runner ends, also when it is killed itself (Linux only)."""
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != runner_pid:  # it ended before the call above
        sys.exit(1)


def _die_first() -> None:
    """Where memory runs out, let the system end this process and not the runner (Linux only)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

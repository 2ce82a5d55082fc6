"""Runs a function in several processes of one process group, and tells how each of them ended."""

import io
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

# Processes are forked from one that has loaded torch, and what torch loads later, which takes longer than most tests.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    ["pytest", "numpy", "torch._dynamo", "torch.nn.parallel", "bench_engine.kernels.fiited"]
)


@dataclass(frozen=True)
class Ended:
    """How a process ended: with a value or an exception, or without a word."""

    value: Any = None
    error: str = ""  # name of the exception's class
    message: str = ""
    seconds: float = 0.0  # from the beginning of the function


def run(size: int, work: Callable[..., Any], *arguments: Any, timeout: float = 30) -> list[Ended]:
    """Calls work(*arguments) in `size` processes; `timeout` is that of the process group, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        pipes, processes = [], []
        for rank in range(size):
            here, there = _context.Pipe(duplex=False)
            processes.append(
                _context.Process(target=_process, args=(rank, size, folder, timeout, work, arguments, there))
            )
            processes[-1].start()
            there.close()
            pipes.append(here)
        ended = [_hear(pipe) for pipe in pipes]
        for process in processes:
            process.join()
    return ended


def values(size: int, work: Callable[..., Any], *arguments: Any, **more: Any) -> list[Any]:
    """What work(*arguments) returns in each process, none of which may fail."""
    ended = run(size, work, *arguments, **more)
    for rank, end in enumerate(ended):
        assert not end.error, f"rank {rank}: {end.error}: {end.message}"
    return [end.value for end in ended]


def _hear(pipe: Any) -> Ended:
    try:
        return torch.load(io.BytesIO(pipe.recv_bytes()), weights_only=False)
    except EOFError:
        return Ended(error="killed")


def _process(rank: int, size: int, folder: str, timeout: float, work: Any, arguments: Any, pipe: Any) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", f"file://{folder}/group", rank=rank, world_size=size, timeout=timedelta(seconds=timeout)
    )
    start = time.monotonic()
    try:
        ended = Ended(work(*arguments))
    except Exception as error:
        ended = Ended(None, type(error).__name__, str(error), time.monotonic() - start)
    answer = io.BytesIO()
    torch.save(ended, answer)
    pipe.send_bytes(answer.getvalue())
    dist.destroy_process_group()

"""Empties the processor's caches, for cold timings."""

from collections.abc import Callable

import torch

from bench_engine.machine import hardware, machine

LEAST_BYTES = 64 * 2**20
CACHES = 2  # so many times the last level; once alone would leave what its replacement policy likes to keep


def flusher() -> Callable[[], object]:
    """A function that writes a buffer larger than all last-level caches, with all threads of the trial.

    Where the cores have several such caches, each thread writes a share of the buffer into its own.
    """
    this = machine.machine()
    last_level = 1000 * max(this["l3_kb"] or 0, this["l2_kb"] or 0)
    size = CACHES * last_level * hardware.caches_in_use(3)
    buffer = torch.zeros(max(LEAST_BYTES, size) // 8, dtype=torch.int64)
    return lambda: buffer.add_(1)

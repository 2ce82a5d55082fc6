"""Measures what the memory of this machine gives (see bench_engine.machine.bandwidth). Called as a command it measures
with so many threads, keeps what it found, and prints it.

Bytes beyond the caches: a table of twice the last-level cache, LEAST_BYTES at least and MOST_BYTES at most, and no more
than a quarter of the free memory. Rows are named at random, and as many of them as the table has, before an id of the
first ones could come again.
"""

import sys
from collections.abc import Callable
from datetime import UTC, datetime

import torch
import torch.nn.functional as F

from bench_engine.machine import bandwidth, hardware, machine, memory
from bench_engine.machine.bandwidth import Bandwidth
from bench_engine.measure.measure import Sampler, summarize
from bench_engine.trial import Stop

LEAST_BYTES, MOST_BYTES = 64 * 2**20, 2**30
CALL_BYTES = 2**24  # of rows that a call gathers
BAG = 16  # rows that embedding_bag sums
SIDE = 512  # of the matrices
_STOP = Stop(min_samples=10, max_seconds=0.5, noise_target=0.02)


def copier(moved: int) -> Callable[[int], object]:
    """A call that copies so many bytes, half of them read."""
    source = torch.ones(max(1, moved // 8))
    target = torch.zeros_like(source)
    return lambda index: target.copy_(source)


def measure(threads: int, size: int | None = None) -> Bandwidth:
    """Some seconds; `size` is that of the table in bytes."""
    torch.set_num_threads(threads)
    load = machine.load_now() or 0.0
    size = size or table_bytes()
    copy_gb_s = size / _ns(copier(size))
    a, b, product = (torch.rand(SIDE, SIDE) for _ in range(3))
    peak_gflops = 2 * SIDE**3 / _ns(lambda _index: torch.mm(a, b, out=product))
    table = torch.ones(size // 4)
    gathered = [_gathered_gb_s(table.view(-1, row // 4)) for row in (64, 128)]
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    copying, of_64, of_128, peak = (round(value, 3) for value in (copy_gb_s, *gathered, peak_gflops))
    return Bandwidth(threads, copying, of_64, of_128, peak, table.nbytes / 1e6, now, load)


def table_bytes() -> int:
    """Of the table, a multiple of 128."""
    facts = machine.machine()
    wanted = 2 * 1000 * max(facts["l3_kb"] or 0, facts["l2_kb"] or 0) * hardware.caches_in_use(3)
    most = min(MOST_BYTES, memory.available_bytes() // 4)
    return max(LEAST_BYTES, min(wanted, most)) // 128 * 128


def _gathered_gb_s(rows: torch.Tensor) -> float:
    """Of torch's two ways to gather rows (E, D) the faster one."""
    row = rows[0].nbytes
    count = max(BAG, min(len(rows), CALL_BYTES // row) // BAG * BAG)
    ids = torch.randint(len(rows), (max(1, len(rows) // count), count))
    bags = ids.view(len(ids), -1, BAG)
    out = torch.empty(count, rows.size(1))
    ways = (
        (lambda index: torch.index_select(rows, 0, ids[index % len(ids)], out=out), row),
        (lambda index: F.embedding_bag(bags[index % len(ids)], rows, mode="sum"), row / BAG),
    )
    return max(count * (row + 8 + written) / _ns(call) for call, written in ways)


def _ns(call: Callable[[int], object]) -> float:
    """Time of a call that nothing disturbed, the 10th percentile: it is a roof that is looked for."""
    sampler = Sampler(call, _STOP)
    while sampler.state == "more":
        sampler.turn()
    return 1e3 * float(summarize(sampler.timing.samples_us)["latency_p10_us"])


if __name__ == "__main__":
    found = measure(int(sys.argv[1]))
    bandwidth.keep(found)
    print(found.text())

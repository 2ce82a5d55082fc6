"""Shows that a FIITED table takes the memory of what lives: 50 million rows x 64 at the pruning ratios 0.9 and 0.99.

    python -m tests.shows.fiited_memory                      # a quarter of an hour, up to 5 GB
    python -m tests.shows.fiited_memory --rows 1000000       # some seconds

Each table has a process of its own. It is trained by row-wise Adagrad on ids of a Zipf law over all rows (s = 1.05):
2,176 steps of 65,536 look-ups, 143 million, with a prune event every 256 steps, so that the pool is full of rows that
were looked up, and it stops midway between two events, when rows that wait for the next one are there too. (Of fewer
rows than 50 million the steps look up fewer ids, in proportion.) Then stand, in MB:

    rss        resident memory of the process above what it was before the table was made, without what the C library
               keeps of memory that was freed; kept: with that, which is working memory of steps of this batch size
    counted    what the table says of itself: weights, index, utilities, owners, slots of the optimizer, other
    live       the weights of the live chunks alone, and known: rows that the table knows
    bound      1.5 x live + 16 bytes for each row that is known

and the peaks of resident memory while the table was made, when its first weights are there twice, and while it was
trained. The exit status is 0 when rss and counted of each compact table are within the bound. The flat layout, whose 8
bytes and more for every chunk there could be do not fall with the ratio, stands beside it.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from db.installation import ROOT

ROWS, DIM, CHUNKS = 50_000_000, 64, 4
RATIOS, LAYOUTS = (0.9, 0.99), ("compact", "flat")
BATCH, LEAST_BATCH = 65_536, 1024
INTERVAL, STEPS = 256, 2176
ZIPF_S = 1.05
LIVE_FACTOR, ROW_BYTES = 1.5, 16
_COUNTED_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Measured:
    """One table; bytes.

    Attributes:
        rss: resident bytes of the process above what it was before the table was made, both without what the C library
            keeps of freed memory.
        rss_kept: the same with that.
        peak_making, peak_training: the same at its peak.
        kinds: counted, by kind.
        live_chunks, capacity: chunks that live, and that may.
        known_rows: with a live chunk or a utility.
        lookups: that it was trained on.
    """

    layout: str
    ratio: float
    rss: int
    rss_kept: int
    peak_making: int
    peak_training: int
    kinds: dict[str, int] = field(default_factory=dict)
    live_chunks: int = 0
    capacity: int = 0
    known_rows: int = 0
    lookups: int = 0
    chunk_bytes: int = DIM // CHUNKS * 4

    @property
    def counted(self) -> int:
        return sum(self.kinds.values())

    @property
    def live(self) -> int:
        return self.live_chunks * self.chunk_bytes

    @property
    def bound(self) -> float:
        return LIVE_FACTOR * self.live + ROW_BYTES * self.known_rows

    def within(self) -> bool:
        """Whether both figures are within the bound."""
        return max(self.rss, self.counted) <= self.bound


# -- in the process of one table ---------------------------------------------------------------------------------------


def measure(layout: str, ratio: float, rows: int) -> Measured:
    """Make and train one table in this process, which should have made none before."""
    import numpy as np
    import torch

    from bench_engine.data.requests import zipf_ranks
    from bench_engine.kernels.fiited import FIITEDEmbeddingBag, FIITEDOptimizer
    from bench_engine.machine import memory

    batch = max(LEAST_BATCH, min(BATCH, BATCH * rows // ROWS))
    draws = np.random.default_rng(0)
    gradient = torch.randn(batch, DIM, generator=torch.Generator().manual_seed(0)) / batch

    def train(table: Any, steps: int) -> None:
        optimizer = FIITEDOptimizer(table, "rowwise_adagrad", initial_accumulator_value=0.1)
        for _ in range(steps):
            # Popular ids lie scattered over the table: the multiplier is prime, so no two become one.
            ids = zipf_ranks(rows, ZIPF_S, batch, draws) * 1_000_000_007 % rows % table.num_embeddings
            table(torch.from_numpy(ids).view(-1, 1)).backward(gradient)
            optimizer.step()
            optimizer.zero_grad()

    # What is there once, whatever the table: code of libraries and their threads.
    train(FIITEDEmbeddingBag(batch, DIM, CHUNKS, 0.5, interval=1, layout=layout), 5)
    memory.give_back()
    memory.reset_peak()
    before = _resident()
    table = FIITEDEmbeddingBag(rows, DIM, CHUNKS, ratio, interval=INTERVAL, layout=layout)
    making = int(memory.peak_rss_mb() * 1e6) - before
    memory.reset_peak()
    train(table, STEPS)
    kept, training = _resident() - before, int(memory.peak_rss_mb() * 1e6) - before
    memory.give_back()
    rss = _resident() - before
    known = 0
    for start in range(0, rows, _COUNTED_AT_ONCE):
        part = torch.arange(start, min(start + _COUNTED_AT_ONCE, rows))
        known += int((table.live_mask(part).any(1) | (table.utilities(part) > 0).any(1)).sum())
    live = int(table.statistics()["live_chunks"])
    kinds = table.bytes_by_kind()
    return Measured(layout, ratio, rss, kept, making, training, kinds, live, table.capacity, known, batch * STEPS)


def _resident() -> int:
    """VmRSS of this process in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# -- in the process that shows it --------------------------------------------------------------------------------------


def measured_apart(layout: str, ratio: float, rows: int) -> Measured:
    """`measure` in a process of its own. Raises CalledProcessError."""
    command = [sys.executable, "-m", "tests.shows.fiited_memory", "--rows", str(rows), "--one", layout, str(ratio)]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return Measured(**json.loads(ended.stdout.splitlines()[-1]))


def table(found: Sequence[Measured]) -> str:
    """All figures, one table in a column."""
    kinds = list(dict.fromkeys(kind for m in found for kind in m.kinds))
    lines: list[tuple[str, list[str]]] = [
        ("layout", [m.layout for m in found]),
        ("pruning ratio", [f"{m.ratio:g}" for m in found]),
        ("rss", [_mb(m.rss) for m in found]),
        ("  kept", [_mb(m.rss_kept) for m in found]),
        ("counted", [_mb(m.counted) for m in found]),
        *((f"  {kind}", [_mb(m.kinds.get(kind, 0)) for m in found]) for kind in kinds),
        ("live", [_mb(m.live) for m in found]),
        ("  live chunks", [f"{m.live_chunks:,}" for m in found]),
        ("  of", [f"{m.capacity:,}" for m in found]),
        ("known rows", [f"{m.known_rows:,}" for m in found]),
        ("bound", [_mb(m.bound) for m in found]),
        ("rss / live", [f"{m.rss / m.live:.2f}" for m in found]),
        ("within the bound", ["yes" if m.within() else "no" for m in found]),
        ("peak when made", [_mb(m.peak_making) for m in found]),
        ("peak in training", [_mb(m.peak_training) for m in found]),
    ]
    return "\n".join(f"{name:<18}" + "".join(f"{value:>14}" for value in values) for name, values in lines)


def _mb(size: float) -> str:
    return f"{size / 1e6:,.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows of each table (default: {ROWS:,})")
    parser.add_argument("--one", nargs=2, metavar=("LAYOUT", "RATIO"), help=argparse.SUPPRESS)  # this process's table
    options = parser.parse_args()
    if options.one:
        layout, ratio = options.one
        print(json.dumps(asdict(measure(layout, float(ratio), options.rows))))
        return 0
    found = []
    for layout in LAYOUTS:
        for ratio in RATIOS:
            found.append(measured_apart(layout, ratio, options.rows))
            print(f"{layout}, {ratio:g}: trained on {found[-1].lookups:,} look-ups", flush=True)
    dense = options.rows * DIM * 4
    print(f"\n{options.rows:,} rows x {DIM} dimensions, {CHUNKS} chunks; MB. A dense table: {_mb(dense)} of weights\n")
    print(table(found))
    compact = [m for m in found if m.layout == "compact"]
    within = all(m.within() for m in compact)
    full = all(m.live_chunks == m.capacity for m in found)
    print("\nEvery compact table is within the bound." if within else "\nA compact table is beyond the bound.")
    if not full:
        print("A pool is not full, so the figures are those of less than the budget.")
    return 0 if within and full else 1


if __name__ == "__main__":
    sys.exit(main())

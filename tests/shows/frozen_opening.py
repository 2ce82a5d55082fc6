"""Shows how long a file of frozen tables takes to be opened: python -m tests.shows.frozen_opening [--rows 4000000]

Writes one table of int8 rows of 64 dimensions to a temporary folder, and prints milliseconds in a process that has all
modules loaded: the median of 21 openings, of one lookup of 512 bags of 10 ids behind the last, and of one opening that
verifies the hash of all data. The file was just written, so the system has it in memory.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from bench_engine.kernels.budget import open_frozen, save_frozen
from bench_engine.kernels.quantized import QuantizedEmbeddingBag

DIM, OPENINGS = 64, 21


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    rows = parser.parse_args().rows
    torch.set_num_threads(1)
    ids = torch.randint(rows, (512, 10))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tables"
        save_frozen(path, {"table": QuantizedEmbeddingBag(rows, DIM)})
        opened = statistics.median(milliseconds(lambda: open_frozen(path)) for _ in range(OPENINGS))
        table = open_frozen(path)["table"]
        print(f"{path.stat().st_size / 1e6:.0f} MB: opened in {opened:.2f} ms", end=", ")
        print(f"first lookup {milliseconds(lambda: table(ids)):.2f} ms", end=", ")
        print(f"opened and verified in {milliseconds(lambda: open_frozen(path, verify=True)):.0f} ms")


def milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":
    main()

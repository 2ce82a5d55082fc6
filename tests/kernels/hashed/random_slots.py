"""Slots of a million random elements as the kernels of this process find them: `python random_slots.py FILE`.

A process of its own, since which instruction set's kernels run is chosen once, by MIRROR_SIMD.
"""

import random
import sys

import torch
from hashed_calls import compiled_codes

from bench_engine.kernels.hashed import hashed_ops as _hashed_ops
from bench_engine.kernels.hashed.hashing import HashedLayout


def last_row_without_wrap(blocks: int) -> int:
    """The last row whose 64-bit sum of the reference hash does not wrap."""
    return (2**64 - 1 - 104729 - (blocks - 1) * 57857966300227) // 9824516537


def cases() -> list[tuple[HashedLayout, torch.Tensor]]:
    """Layouts with rows (N,), a million elements in all; the same in every process."""
    draw = random.Random(20)
    found = []
    elements = 0
    while elements < 1_000_000 or len(found) < 120:
        mixing = draw.random() < 0.5
        dim = draw.choice([1, 2, 5, 7, 8, 15, 16, 33, 64, 100, 128, 200])
        layout = HashedLayout(
            "mix64" if mixing else "reference",
            draw.getrandbits(64) - 2**63 if mixing else 0,
            mixing and draw.random() < 0.5,
            draw.choice([1, 1, 1, 2, 3, 8, 16, 24, 64, 1000]),
            dim,
            draw.choice([1, 2, 3, 7, 8, 64, 1000, 4801, 65_536, 99_991, draw.randrange(1, 200_000)]),
        )
        edge = last_row_without_wrap(-(-dim // layout.block))
        top = draw.choice([1000, 10**6, edge, 2 * edge, 2**63 - 2])
        rows = [draw.randrange(top) for _ in range(10_000 // dim + 5)]
        rows += [0, 1, 11922, 11923, edge - 1, edge, edge + 1, edge + 2, 2**31, 2**32, 2**40, 2**62, 2**63 - 2]
        if draw.random() < 0.5:
            rows = [row for row in rows if row <= edge]  # the fast form alone: one row beyond takes a group off it
        found.append((layout, torch.tensor(rows)))
        elements += len(rows) * dim
    return found


if __name__ == "__main__":
    _hashed_ops.load()
    codes = [compiled_codes(rows, layout) for layout, rows in cases()]
    torch.save((torch.ops.mirror.hashed_instruction_set(), codes), sys.argv[1])

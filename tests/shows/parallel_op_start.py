"""Shows what the first calls of an untouched script cost: python -m tests.shows.parallel_op_start [ROUNDS]

Fresh interpreters take turns, with and without MIRROR_PARALLEL_OP=1: processor time of 100 calls in 5 batch sizes (8
and 26 tables), and of 200 calls in 40 batch sizes (26 tables). The first process finds no choices kept, the second
those of the first. Wanted: at most 1.5 times what torch's own calls take, plus 0.3 s for the first 100, and plus 0.05 s
in a second process.
"""

import os
import subprocess
import sys
import tempfile
from statistics import median

# Tables, batch sizes, calls, seconds that may be added in a first and in a second process.
SCRIPTS = (((8, 5, 100), (0.3, 0.05)), ((26, 5, 100), (0.3, 0.05)), ((26, 40, 200), (0.0, 0.0)))
FACTOR = 1.5
_SCRIPT = """
import sys, time, torch
from torch import nn
tables, sizes, calls = map(int, sys.argv[1:])
torch.set_num_threads(1)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(10_000, 16, mode="sum") for _ in range(tables))
    def forward(self, ids):
        return torch.cat([bag(one) for bag, one in zip(self.bags, ids)], 1)
model = Model()
requests = [[torch.randint(0, 10_000, (1 + 7 * k, 1)) for _ in range(tables)] for k in range(sizes)]
model.forward(requests[0])
start = time.process_time()
with torch.no_grad():
    for call in range(calls):
        model(requests[call % sizes])
print(time.process_time() - start)
"""


def seconds(calls: tuple[int, int, int], variable: str, kept: str) -> float:
    """Processor time of the calls in a fresh interpreter, choices in this folder; nothing may be said on stderr."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MIRROR_PARALLEL_OP")}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *map(str, calls)],
        env=environment | {"MIRROR_PARALLEL_OP": variable, "MIRROR_PARALLEL_OP_CACHE": kept},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr, done.stderr
    return float(done.stdout)


def once(calls: tuple[int, int, int]) -> tuple[float, float, float]:
    """Torch's own seconds, and Parallel OP's in a first and in a second process."""
    with tempfile.TemporaryDirectory() as kept:
        return seconds(calls, "0", kept), seconds(calls, "1", kept), seconds(calls, "1", kept)


def main(rounds: int) -> None:
    """Prints a table; exits with 1 where starting costs more than is wanted."""
    late = False
    print("| tables | batch sizes | calls | torch's own, s | first process, s | at most | second, s | at most |")
    print("|---|---|---|---|---|---|---|---|")
    for calls, added in SCRIPTS:
        before, *after = (median(times) for times in zip(*(once(calls) for _ in range(rounds)), strict=True))
        most = [FACTOR * before + extra for extra in added]
        late |= any(took > limit for took, limit in zip(after, most, strict=True))
        cells = [f"{took:.3f} | {limit:.3f}" for took, limit in zip(after, most, strict=True)]
        print("|", " | ".join(map(str, calls)), f"| {before:.3f} |", " | ".join(cells), "|")
    sys.exit(int(late))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)

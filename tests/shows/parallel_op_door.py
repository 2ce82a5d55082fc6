"""Shows what lies between the op and an untouched script, by layers: python -m tests.shows.parallel_op_door [ROUNDS]

26 tables of 100,000 rows, dim 16, one id in a bag, forward, one thread. The layers take turns of a few calls in one
process: torch's own loop, the op called with lists that are ready, what is served without choosing a way, a model as a
script calls it that is served, and one that is compiled. A time is the lower decile over the rounds, since neighbours
only ever make calls longer; what is above the op is the median over rounds, with a 95 % interval of it by resampling
rounds.
"""

import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bench_engine.kernels.parallel_op import GroupedEmbeddingBag, enable
from bench_engine.kernels.parallel_op.entry import dynamo_call, eager
from bench_engine.kernels.parallel_op.settings import Settings

TABLES, ROWS, DIM, BATCHES = 26, 100_000, 16, (1, 64, 1024)
REQUESTS, CALLS, WARM_UP = 8, 5, 400
TARGETS_US = {"script": 15.0, "entry": 5.0}  # above the op, batch 1


class Bags(nn.Module):
    """The tables, one after another."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, DIM, mode="sum") for _ in range(TABLES))

    def forward(self, ids: list[Tensor]) -> list[Tensor]:
        return [table(bags) for table, bags in zip(self.tables, ids, strict=True)]


def layers() -> dict[str, Callable[[list[Tensor]], Any]]:
    """The same lookups, by each layer; the last are models as scripts call them."""
    model = Bags()
    weights = [table.weight for table in model.tables]
    untouched = Bags()
    for table, weight in zip(untouched.tables, weights, strict=True):
        table.weight = weight
    op = GroupedEmbeddingBag(weights, "sum", output="separate")
    enable(Settings(cache_dir=None))
    served, compiled = Bags(), Bags()
    for model in (served, compiled):
        for table, weight in zip(model.tables, weights, strict=True):
            table.weight = weight
        model([torch.zeros(1, 1, dtype=torch.int64)] * TABLES)
    serving = served._compiled_call_impl._serving
    compiled._compiled_call_impl.take_off()
    compiled._compiled_call_impl = dynamo_call.turns_of(compiled, Settings(cache_dir=None))
    return {
        "eager": untouched.forward,
        "op": op,
        "served": lambda ids: serving(served, ids),
        "script": served,
        "entry": compiled,
    }


def measured(ways: dict[str, Callable[[list[Tensor]], Any]], batch: int, rounds: int) -> dict[str, np.ndarray]:
    """Way -> µs of a call, the median of each round."""
    requests = [[torch.randint(0, ROWS, (batch, 1)) for _ in range(TABLES)] for _ in range(REQUESTS)]
    for request in requests:
        expected = ways["eager"](request)
        assert all(all(map(torch.equal, way(request), expected)) for way in ways.values())
    for call in ways.values():
        for number in range(WARM_UP):
            call(requests[number % REQUESTS])
    taken: dict[str, list[float]] = {name: [] for name in ways}
    names, random = list(ways), np.random.default_rng(batch)
    for number in range(rounds):
        for name in random.permutation(names):  # what ran before leaves its rows in the caches
            call, times = ways[name], []
            for turn in range(CALLS):
                request = requests[(number + turn) % REQUESTS]
                start = perf_counter_ns()
                call(request)
                times.append((perf_counter_ns() - start) / 1e3)
            taken[name].append(float(np.median(times)))
    return {name: np.array(found) for name, found in taken.items()}


def main(rounds: int) -> None:
    """Prints a table; exits with 1 where the script is further above the op than it should be."""
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    ways = layers()
    print("| batch | layer | µs | above the op | 95 % interval |\n|---|---|---|---|---|")
    above = {}
    with torch.no_grad():
        for batch in BATCHES:
            found = measured(ways, batch, rounds)
            for name, times in found.items():
                more = times - found["op"]
                drawn = np.median(random.choice(more, (1000, len(more))), axis=1)
                low, high = np.quantile(drawn, (0.025, 0.975))
                above[batch, name] = float(np.median(more))
                row = f"{np.quantile(times, 0.1):.1f} | {above[batch, name]:.1f} | {low:.1f} to {high:.1f}"
                print(f"| {batch} | {name} | {row} |")
    for choice in eager.choices():
        print(choice.text())
    for name, most in TARGETS_US.items():
        print(f"{name} above op, batch 1: {above[1, name]:.1f} µs, at most {most:.0f} wanted")
    sys.exit(int(any(above[1, name] > most for name, most in TARGETS_US.items())))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)

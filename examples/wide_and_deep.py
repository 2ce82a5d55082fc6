"""A wide & deep model, timed. Run `wide_and_deep.py outputs.pt` twice, the second time with MIRROR_PARALLEL_OP=1."""

import pathlib
import statistics
import sys
import time

import torch
from torch import Tensor, nn

TABLES, ROWS, DIM, IDS_PER_BAG, CALLS = 26, 10_000, 16, 3, 300


class Embeddings(nn.Module):
    """Single ids looked up, several ids pooled, a table for each."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.ModuleList(nn.Embedding(ROWS, DIM) for _ in range(TABLES // 2))
        self.bags = nn.ModuleList(nn.EmbeddingBag(ROWS, DIM, mode="sum") for _ in range(TABLES // 2))

    def forward(self, single: Tensor, several: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors of all tables, side by side."""
        rows = [table(single[:, t]) for t, table in enumerate(self.rows)]
        bags = [table(ids) for table, ids in zip(self.bags, several.split(IDS_PER_BAG, 1), strict=True)]
        return torch.cat(rows, 1), torch.cat(bags, 1)


class WideAndDeep(nn.Module):
    """A linear model beside a perceptron over the vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Linear(13, 1)
        self.embeddings = Embeddings()
        self.deep = nn.Sequential(nn.Linear(13 + TABLES * DIM, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, dense: Tensor, single: Tensor, several: Tensor) -> Tensor:
        """Logits (B, 1)."""
        return self.wide(dense) + self.deep(torch.cat([dense, *self.embeddings(single, several)], 1))


def microseconds(module: nn.Module, *inputs: Tensor) -> float:
    """Median time of a call; the first calls warm up."""
    times = []
    for _ in range(2 * CALLS):
        start = time.perf_counter()
        module(*inputs)
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times[CALLS:])  # the first calls warm up


torch.manual_seed(0)
embeddings, model, found = Embeddings(), WideAndDeep(), {}
with torch.no_grad():
    for batch in (1, 64, 1024):
        ids = torch.randint(0, ROWS, (batch, TABLES // 2 * (1 + IDS_PER_BAG)))
        inputs = (torch.randn(batch, 13), ids[:, : TABLES // 2], ids[:, TABLES // 2 :])
        for threads in sorted({1, torch.get_num_threads()}):
            torch.set_num_threads(threads)
            op, whole = microseconds(embeddings, *inputs[1:]), microseconds(model, *inputs)
            print(f"batch {batch}, {threads} threads: embeddings {op:.0f} µs, whole model {whole:.0f} µs")
        found[batch] = (*embeddings(*inputs[1:]), model(*inputs))
path = pathlib.Path(sys.argv[1])
expected = torch.load(path) if path.exists() else torch.save(found, path)
for batch, outputs in (expected or {}).items():
    errors = [float((a - b).abs().max()) for a, b in zip(outputs, found[batch], strict=True)]
    print(f"batch {batch}, largest difference: rows {errors[0]:g}, sums {errors[1]:g}, model {errors[2]:g}")

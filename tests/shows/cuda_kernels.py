"""The kernels of csrc/*/cuda on a GPU, beside torch's own, in turns in one run.

    python -m tests.shows.cuda_kernels [--seconds 0.3] [--out FOLDER]

Lookups by the hashed embedding bag beside torch.nn.EmbeddingBag and the same hash in plain PyTorch, the parallel op
beside a call for each table, forward and with gradients, and lookups by FIITED's flat layout. `gpu`
times are of calls recorded in a CUDA graph, `call` times of calls from Python, the host included; both are medians of
rounds in which all take turns. Ratios are rival / ours, with an interval for the median that holds in 19 of 20 cases.
What ours computes is compared with what its first rival does before it is timed, where both compute the same.
FOLDER/cuda_kernels.json has everything.
"""

import argparse
import json
import os
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bench_engine.kernels import HashedEmbeddingBag
from bench_engine.kernels.fiited import FIITEDEmbeddingBag
from bench_engine.kernels.hashed.hashed_reference import HashedEmbeddingBagReference
from bench_engine.kernels.parallel_op import GroupedEmbeddingBag
from tests.shows.on_gpu import graph_of, summary, turns

IN_A_GRAPH = 5  # calls
OURS = "ours"


@dataclass(frozen=True)
class Case:
    """One lookup by several modules.

    Attributes:
        name: what is printed.
        modules: what is called, ours by that name.
        inputs: what each is called with.
        same_as: the rival that computes the same numbers, or none.
        graphs: whether calls can be recorded in a CUDA graph.
        trains: whether gradients are timed; FIITED's go to its own optimizer.
    """

    name: str
    modules: dict[str, Callable[[Any], Any]]
    inputs: Any
    same_as: str | None
    graphs: bool = True
    trains: bool = True


def cases() -> Iterator[Case]:
    """A table of a million rows, which no cache holds, and 26 tables of a click model."""
    torch.manual_seed(0)
    for dim, batch, bag in ((64, 2048, 10), (16, 2048, 10), (128, 16384, 1)):
        rows = 1_000_000
        ids = torch.randint(0, rows, (batch, bag), device="cuda")
        name = f"D={dim}, {batch} x {bag}"
        dense = nn.EmbeddingBag(rows, dim, mode="sum", device="cuda")
        hashed = HashedEmbeddingBag(rows, dim, 0.1, "sum", device="cuda")
        plain = HashedEmbeddingBagReference(rows, dim, 0.1, "sum", device="cuda")
        plain.load_state_dict(hashed.state_dict())
        yield Case(f"hashed {name}", {OURS: hashed, "plain": plain, "dense": dense}, ids, "plain", graphs=False)
        blocks = HashedEmbeddingBag(rows, dim, 0.1, "sum", device="cuda", hash="mix64", block_size=16)
        yield Case(f"hashed_block {name}", {OURS: blocks, "dense": dense}, ids, None)
        fiited = FIITEDEmbeddingBag(rows, dim, mode="sum", layout="flat", device="cuda", pruning_ratio=0.5)
        yield Case(f"fiited flat {name}", {OURS: fiited, "dense": dense}, ids, None, graphs=False, trains=False)
    for batch, bag in ((64, 1), (1024, 1), (2048, 10)):
        tables = [nn.EmbeddingBag(100_000, 16, mode="sum", device="cuda") for _ in range(26)]
        inputs = [torch.randint(0, 100_000, (batch, bag), device="cuda") for _ in tables]
        grouped = GroupedEmbeddingBag([table.weight for table in tables])

        def one_by_one(ids: list[Tensor], tables: list[nn.EmbeddingBag] = tables) -> Tensor:
            return torch.cat([table(own) for table, own in zip(tables, ids, strict=True)], 1)

        yield Case(f"26 tables, D=16, {batch} x {bag}", {OURS: grouped, "eager": one_by_one}, inputs, "eager")


def measured(case: Case, seconds: float) -> dict[str, Any]:
    """Forward, and forward with gradients, of one case."""
    said: dict[str, Any] = {"case": case.name}
    if case.same_as:
        own, theirs = (case.modules[name](case.inputs) for name in (OURS, case.same_as))
        said["largest difference"] = float((own - theirs).detach().abs().max())
    for direction in ("forward", "forward_backward") if case.trains else ("forward",):
        calls = {name: called(module, case.inputs, direction) for name, module in case.modules.items()}
        said[f"{direction}, call"] = summary(turns(calls, "cuda", 1, seconds), OURS)
        if case.graphs and direction == "forward":
            graphs = {name: graph_of(call, IN_A_GRAPH) for name, call in calls.items()}
            said[f"{direction}, gpu"] = summary(turns(graphs, "cuda", IN_A_GRAPH, seconds), OURS)
    return said


def called(module: Callable[[Any], Any], inputs: Any, direction: str) -> Callable[[], Any]:
    """One call without arguments."""

    def forward() -> Any:
        with torch.no_grad():
            return module(inputs)

    def both() -> None:
        output = module(inputs)
        output.backward(torch.ones_like(output))

    return forward if direction == "forward" else both


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.3, help="of each turn's rounds")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT") or tempfile.mkdtemp()))
    asked = parser.parse_args()
    about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}
    print(about, flush=True)
    found = []
    for case in cases():
        try:
            found.append(measured(case, asked.seconds))
        except Exception:
            found.append({"case": case.name, "error": traceback.format_exc()[-1500:]})
        print(json.dumps(found[-1]), flush=True)
        asked.out.mkdir(parents=True, exist_ok=True)
        (asked.out / "cuda_kernels.json").write_text(json.dumps({"about": about, "found": found}, indent=1))


if __name__ == "__main__":
    main()

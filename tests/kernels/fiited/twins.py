"""A module and the oracle, trained on the same random batches."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench_engine.kernels.fiited import FIITEDEmbeddingBag, FIITEDOptimizer
from tests.kernels.fiited.oracle import Optimizer, Oracle

METHODS = ("sgd", "adagrad", "rowwise_adagrad", "adam")
LAYOUTS = ("flat", "compact")
OPTIMIZERS = {
    "sgd": Optimizer("sgd", 0.1),
    "adagrad": Optimizer("adagrad", 0.1, eps=1e-8, initial_accumulator_value=0.1),
    "rowwise_adagrad": Optimizer("rowwise_adagrad", 0.1, eps=1e-8),
    "adam": Optimizer("adam", 0.01, eps=1e-8, betas=(0.9, 0.999)),
}


@dataclass(frozen=True)
class Case:
    """What both are made of; `options` go to both by name."""

    tables: tuple[int, ...]
    dim: int
    num_chunks: int
    pruning_ratio: float
    optimizer: Optimizer
    options: dict[str, Any] = field(default_factory=dict)
    init: str = "uniform"
    seed: int = 0

    def oracle(self) -> Oracle:
        oracle = Oracle(self.tables, self.dim, self.num_chunks, self.pruning_ratio, self.optimizer, **self.options)
        torch.manual_seed(self.seed)
        weights = torch.empty(len(oracle.first_rows()), self.dim)
        bound = (1 / oracle.rows) ** 0.5
        if self.init == "normal":
            torch.nn.init.normal_(weights)
        else:
            torch.nn.init.uniform_(weights, -bound, bound)
        oracle.start(weights.numpy())
        return oracle

    def module(self, **more: Any) -> tuple[FIITEDEmbeddingBag, FIITEDOptimizer]:
        torch.manual_seed(self.seed)
        tables = list(self.tables) if len(self.tables) > 1 else self.tables[0]
        module = FIITEDEmbeddingBag(
            tables, self.dim, self.num_chunks, self.pruning_ratio, init=self.init, **self.options, **more
        )
        return module, optimizer_of(module, self.optimizer)


def optimizer_of(module: FIITEDEmbeddingBag, optimizer: Optimizer) -> FIITEDOptimizer:
    return FIITEDOptimizer(module, **asdict(optimizer))


@dataclass(frozen=True)
class Call:
    """One forward and backward call: the bags of each table and the gradient of each output."""

    bags: list[list[list[int]]]
    gradients: list[np.ndarray]
    index: torch.dtype = torch.int64

    def inputs(self) -> tuple[Any, ...]:
        """What forward takes: (B, L) ids where all bags are of one length, else ids with offsets."""
        if all(bags and len({len(bag) for bag in bags}) == 1 for bags in self.bags):
            squares = [torch.tensor(bags, dtype=self.index).reshape(len(bags), -1) for bags in self.bags]
            return (squares[0] if len(squares) == 1 else squares,)
        ids = [torch.tensor([i for bag in bags for i in bag], dtype=self.index) for bags in self.bags]
        sizes = [torch.tensor([0, *map(len, bags)], dtype=self.index) for bags in self.bags]
        offsets = [size.cumsum(0, dtype=self.index)[: len(bags)] for size, bags in zip(sizes, self.bags, strict=True)]
        return (ids[0], offsets[0]) if len(ids) == 1 else (ids, offsets)


def draw_call(random: np.random.Generator, case: Case, batch: int = 5, longest: int = 4) -> Call:
    """Bags of skewed ids with repetitions and, half of the time, of different lengths, none included."""
    index = torch.int32 if random.random() < 0.5 else torch.int64
    ragged = random.random() < 0.5
    bags, gradients = [], []
    for rows in case.tables:
        size = int(random.integers(0, batch + 1)) if ragged else int(random.integers(1, batch + 1))
        length = int(random.integers(1, longest + 1))
        lengths = [int(random.integers(0, longest + 1)) if ragged else length for _ in range(size)]
        bags.append([(rows * random.random(n) ** 2).astype(int).tolist() for n in lengths])
        scale = 10.0 ** random.integers(-3, 3, (size, 1))
        gradients.append((random.standard_normal((size, case.dim)) * scale).astype(np.float32))
    return Call(bags, gradients, index)


def outputs_of(module: FIITEDEmbeddingBag, call: Call) -> list[Tensor]:
    outputs = module(*call.inputs())
    return [outputs] if isinstance(outputs, Tensor) else list(outputs)


def record(module: FIITEDEmbeddingBag, call: Call) -> list[Tensor]:
    """Forward and backward; the outputs."""
    outputs = outputs_of(module, call)
    torch.autograd.backward(outputs, [torch.from_numpy(g) for g in call.gradients])
    return [output.detach() for output in outputs]


def train(module: FIITEDEmbeddingBag, optimizer: FIITEDOptimizer, calls: list[Call]) -> None:
    """One step for each call."""
    for call in calls:
        optimizer.zero_grad()
        record(module, call)
        optimizer.step()


def frozen(state: Any) -> Any:
    """A state dict as bytes, which compare and which later steps cannot change."""
    if isinstance(state, Tensor):
        return (str(state.dtype), tuple(state.shape), state.detach().flatten().view(torch.uint8).numpy().tobytes())
    if isinstance(state, np.ndarray):
        return (str(state.dtype), state.shape, state.tobytes())
    if isinstance(state, dict):
        return {key: frozen(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return [frozen(value) for value in state]
    return state


def reading(module: FIITEDEmbeddingBag) -> dict[str, Any]:
    """What can be read from a module, whatever its layout, as bytes."""
    return frozen(
        {
            "step": module.step_count,
            "live": module.live_mask(),
            "utilities": module.utilities(),
            "weights": module.materialize(),
        }
    )


def compare(module: FIITEDEmbeddingBag, oracle: Oracle) -> None:
    """Equal to the last bit, and the parts of the module fit together."""
    module.verify()
    assert module.step_count == oracle.step_count
    np.testing.assert_array_equal(module.live_mask().numpy(), oracle.live_mask())
    np.testing.assert_array_equal(module.utilities().numpy(), oracle.utilities())
    np.testing.assert_array_equal(module.materialize().numpy(), oracle.materialize())

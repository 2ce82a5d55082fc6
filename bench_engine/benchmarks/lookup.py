"""One embedding-bag call: correct before, while and after it is timed; latency, bandwidth and memory.

BATCHES distinct request batches are timed in rotation, with the output freshly allocated in every call. Direction
`forward_backward` times the forward call, the backward call from a fixed gradient of the output to the gradients of
the parameters, and dropping these: they are made anew in every call, as in a training step that sets them to None.

Warm caches are as the rotation leaves them: the rows that all batches together read stay in a cache that holds them, as
for small batches; a model that does other work between two lookups finds a colder cache. Cold caches are flushed before
every call. A fresh output is allocated by every call as torch does it, and memory that the C library maps anew for it
costs page faults; for preallocated ones the executor tells the C library to keep what it has mapped, for every method
alike (see executors.environment).

With a padding_idx the bags are of all lengths and filled up to bag_size with this id, which methods leave out.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from bench_engine.benchmarks import caches, memory_traffic
from bench_engine.benchmarks.modules import DEVICE, DTYPE, NO_PADDING, OutOfReachError, build, megabytes
from bench_engine.benchmarks.watch import Subject, Watch
from bench_engine.benchmarks.watch import WrongResultError as WrongResultError
from bench_engine.data.requests import BATCHES, padded, request_batches
from bench_engine.kernels.bags import EmbeddingBagMethod
from bench_engine.measure.measure import Sampler, summarize
from bench_engine.trial import Run, Scalar, Trial, TrialResult

# Share of the reference's largest absolute value that float32 may be off, for sums of up to LONG_SUM terms. It grows
# with the root of their number: torch's own dense kernel comes to 4e-4 for sums of 100,000 terms.
TOLERANCE, LONG_SUM = 1e-4, 1000


def run(trial: Trial) -> Run:
    """Measure one trial; `failed` when the method computes something else than the float64 reference, at any time."""
    config = trial.config
    num_rows, seed = int(config["num_rows"]), int(config["seed"])
    batch_size, bag_size = int(config["batch_size"]), int(config["bag_size"])
    padding = int(config.get("padding_idx", NO_PADDING))  # a method without the axis has none
    dim, mode, backward = int(config["embedding_dim"]), str(config["pooling_mode"]), config["direction"] != "forward"

    torch.manual_seed(seed)
    try:
        module = build(trial, num_rows, mode)
    except OutOfReachError as error:
        return TrialResult("skipped", error=str(error))
    if backward and not any(p.requires_grad for p in module.parameters()):
        return TrialResult("skipped", error=f"{trial.method} has no parameters to train: take direction forward.")
    requests = request_batches(num_rows, batch_size, bag_size, float(config["zipf_s"]), seed, BATCHES)
    if padding != NO_PADDING:
        requests = padded(requests, padding, seed)
    batches = [torch.from_numpy(batch) for batch in requests]
    gradient = torch.randn(batch_size, dim)
    cold = config["cache"] == "cold"
    flush = caches.flusher() if cold else None

    def forward(index: int) -> object:
        return module(ready[index % BATCHES])

    def forward_backward(index: int) -> None:
        module(ready[index % BATCHES]).backward(gradient)
        module.zero_grad(set_to_none=True)

    try:
        errors = [output_error(module, batch, mode, padding) for batch in batches]
        if backward:
            errors.append(gradient_error(module, batches[0], gradient, mode, padding))
        ready = [module.prepare(batch) for batch in batches]
        subject = _Bag(module, config, gradient if backward else None)
        watch = Watch(subject, [(batch,) for batch in batches], ready, padding=padding, flush=flush)
        with torch.set_grad_enabled(backward):
            watch.before()
            call = forward_backward if backward else forward
            timing = yield from Sampler(call, trial.stop, flush, period=BATCHES, probe=watch.probe).turns()
            errors += watch.after()
    except WrongResultError as error:
        return TrialResult("failed", error=f"{trial.method} {error}")
    statistics = summarize(timing.samples_us, timing.turn_sizes, seed)
    seconds = statistics["latency_us"] / 1e6
    left_out = sum(int((batch == padding).sum()) for batch in batches) / BATCHES  # ids of a call that have no vector
    moved = bytes_moved(batch_size, bag_size, dim, left_out)
    bandwidth, facts = {"bandwidth_gb_s": None}, {}
    if not backward:
        bandwidth = memory_traffic.metrics(moved, statistics["latency_us"], config)
        facts = memory_traffic.facts(trial, [(batch_size, bag_size)], dim, left_out=left_out)
    return timing.result(
        {
            **statistics,
            "device": DEVICE,
            "dtype": DTYPE,
            "num_tables": 1,
            "memory_mb": megabytes(module),
            "max_abs_error": max(errors),
            "samples_per_s": batch_size / seconds,
            **bandwidth,
        },
        {"request_batches": BATCHES, **watch.told(), **facts},
    )


class _Bag(Subject):
    """An embedding bag and its requests, for a Watch."""

    compare = staticmethod(lambda *arguments: difference(*arguments))

    def __init__(self, module: EmbeddingBagMethod, config: Mapping[str, Scalar], gradient: Tensor | None) -> None:
        self._module, self._config, self._gradient = module, config, gradient
        self._mode, self.terms = str(config["pooling_mode"]), int(config["bag_size"])
        self._padding = int(config.get("padding_idx", NO_PADDING))

    def prepare(self, request: Sequence[Tensor]) -> Any:
        return self._module.prepare(request[0])

    def call(self, prepared: Any) -> Any:
        return self._module(prepared)

    def tensors(self, output: Any) -> list[Tensor]:
        return [output if (convert := getattr(self._module, "as_tensor", None)) is None else convert(output)]

    def expected(self, request: Sequence[Tensor]) -> Tensor:
        return expected_output(self._module, request[0], self._mode, self._padding)

    def unseen(self, seed: int) -> tuple[Tensor, ...]:
        rows, batch, bag = (int(self._config[axis]) for axis in ("num_rows", "batch_size", "bag_size"))
        drawn = request_batches(rows, batch, bag, float(self._config["zipf_s"]), seed, 1)
        return (torch.from_numpy(drawn[0] if self._padding == NO_PADDING else padded(drawn, self._padding, seed)[0]),)

    def weights(self) -> Sequence[Tensor]:
        return list(self._module.parameters())

    def backward(self, output: Any) -> None:
        output.backward(self._gradient)

    def gradients(self) -> list[tuple[str, Tensor]]:
        return [(name, p.grad) for name, p in self._module.named_parameters() if p.grad is not None]

    def forget_gradients(self) -> None:
        self._module.zero_grad(set_to_none=True)

    def gradient_error(self, request: Sequence[Tensor], what: str) -> float:
        assert self._gradient is not None
        return gradient_error(self._module, request[0], self._gradient, self._mode, self._padding, what)


def bytes_moved(batch_size: int, bag_size: int, dim: int, left_out: float = 0.0) -> int:
    """Bytes of the uncompressed lookup: int64 ids, one float32 vector per id that is not left out, and the output.

    One definition for all methods, so that their bandwidths compare as their latencies do.
    """
    return round(batch_size * bag_size * (8 + 4 * dim) - left_out * 4 * dim) + batch_size * dim * 4


def output_error(module: EmbeddingBagMethod, batch: Tensor, mode: str, padding_idx: int = NO_PADDING) -> float:
    """Largest absolute difference between the output and a float64 embedding bag over the method's dense rows.

    Raises WrongResultError when it is above the tolerance.
    """
    with torch.no_grad():
        expected = expected_output(module, batch, mode, padding_idx)
        return difference("output", module(batch), expected, terms=batch.size(1))


def expected_output(module: EmbeddingBagMethod, batch: Tensor, mode: str, padding_idx: int = NO_PADDING) -> Tensor:
    """A float64 embedding bag (B, D) over the method's dense rows."""
    rows, position = batch.unique(return_inverse=True)
    table = module.materialize(rows).double()
    return F.embedding_bag(position, table, mode=mode, padding_idx=_place(rows == padding_idx))


def gradient_error(
    module: EmbeddingBagMethod,
    batch: Tensor,
    gradient: Tensor,
    mode: str,
    padding_idx: int = NO_PADDING,
    when: str = "",
) -> float:
    """Largest absolute difference between the parameters' gradients and those through a float64 embedding bag.

    The reference goes through the `vectors` of the method, which are plain differentiable torch, so that the kernel's
    own backward takes no part in it, and through a float64 copy of the module, since float32 would round as badly as
    what it is to judge. Only for max, where a gradient sums few terms, are the vectors taken in float32 and one per id,
    as the methods do themselves: else of two nearly equal elements another one could be the largest.

    Raises WrongResultError when it is above the tolerance.
    """
    names, parameters = zip(*((n, p) for n, p in module.named_parameters() if p.requires_grad), strict=True)
    actual = torch.autograd.grad(module(batch), parameters, gradient)
    reference = module if mode == "max" else copy.deepcopy(module).double()
    vectors = reference.vectors(batch.reshape(-1)).double()
    position, is_padding = torch.arange(batch.numel()).view_as(batch), batch == padding_idx
    one_padding = _place(is_padding.reshape(-1))  # torch takes one: its first place stands for all
    if one_padding is not None:
        position = position.masked_fill(is_padding, one_padding)
    pooled = F.embedding_bag(position, vectors, mode=mode, padding_idx=one_padding)
    trained = tuple(p for p in reference.parameters() if p.requires_grad)
    expected = torch.autograd.grad(pooled, trained, gradient.double())
    return max(
        difference(f"gradient of {name}{when}", found, wanted, terms=batch.numel())
        for name, found, wanted in zip(names, actual, expected, strict=True)
    )


def _place(found: Tensor) -> int | None:
    """The first True of (N,); None for none."""
    return int(found.nonzero()[0]) if found.any() else None


def difference(what: str, actual: Tensor, expected: Tensor, terms: int) -> float:
    """Largest absolute difference of what is named, a sum of so many terms. Raises WrongResultError."""
    if actual.shape != expected.shape:
        raise WrongResultError(f"is wrong: its {what} has shape {tuple(actual.shape)}, not {tuple(expected.shape)}.")
    error = float((actual.double() - expected.double()).abs().max())
    scale = float(expected.abs().max())
    tolerance = TOLERANCE * math.sqrt(max(1.0, terms / LONG_SUM))
    if not error <= tolerance * scale:  # NaN is wrong too
        raise WrongResultError(
            f"is wrong: its {what} differs from the float64 reference by {error:.3g}, "
            f"where values go up to {scale:.3g}."
        )
    return error

"""Many tables looked up together, alone or in a whole model: correct at all times; latency and memory.

As in a lookup BATCHES distinct requests are timed in rotation with warm caches, every call allocates its output, and
direction `forward_backward` times the call, the backward call from a fixed gradient of the output to the gradients of
all parameters, and dropping these.

What a method tries out in its first calls is over before the clock starts, or its trial says that it was not.

All methods have the weights of the same seeded model. The reference is that model in float64 over the rows that a
request names, so that it needs no second copy of the tables.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine import registry
from bench_engine.benchmarks import memory_traffic
from bench_engine.benchmarks.lookup import bytes_moved, difference
from bench_engine.benchmarks.modules import DEVICE, DTYPE
from bench_engine.benchmarks.watch import Subject, Watch, WrongResultError
from bench_engine.data.requests import BATCHES
from bench_engine.measure.measure import Sampler, summarize
from bench_engine.methods.grouped_methods import GroupedMethod, gradient_of
from bench_engine.methods.grouped_models import GroupedModel, Request, Shape, requests
from bench_engine.methods.method import Reads
from bench_engine.trial import Run, Trial, TrialResult

# Share of the norm that the gradients of a whole model may be off: a hidden value next to 0 may be on the other side of
# its relu in float32, which changes what one example adds to them. One wrong row in 8192 is more.
NORM_TOLERANCE = 1e-2


def run(trial: Trial) -> Run:
    """Measure one trial; `failed` when the method computes something else than the float64 reference."""
    config = trial.config
    seed, backward = int(config["seed"]), config["direction"] != "forward"
    torch.manual_seed(seed)
    try:
        shape = Shape.of(config)
        kind: type[GroupedMethod] = registry.method(trial.method).load()
        model = GroupedModel(shape).train(backward)
        exact = exact_head(model)  # now, for zentorch packs the weights of a model that it compiles in place
        method = kind(model)
    except ValueError as error:
        return TrialResult("skipped", error=f"{trial.method} cannot be run here: {error}")
    batches = requests(shape, float(config["zipf_s"]), seed, BATCHES)
    ready = [method.prepare(batch) for batch in batches]
    with torch.set_grad_enabled(backward):
        gradient = torch.randn_like(side_by_side(method(ready[0])))
        call = timed(method, ready, gradient if backward else None)
        try:
            errors = [output_error(method, exact, *pair) for pair in zip(batches, ready, strict=True)]
            if backward:
                errors.append(gradient_error(method, exact, batches[0], ready[0], gradient))
            subject = _Tables(method, exact, float(config["zipf_s"]), gradient if backward else None)
            watch = Watch(subject, [subject.told(batch) for batch in batches], ready)
            watch.before()
            method.settle(call)
            timing = yield from Sampler(call, trial.stop, period=BATCHES, probe=watch.probe).turns()
            environment = method.environment()  # now: the checks that follow are calls too
            errors += watch.after()
        except WrongResultError as error:
            return TrialResult("failed", error=f"{trial.method} {error}")
    statistics = summarize(timing.samples_us, timing.turn_sizes, seed)
    seconds = statistics["latency_us"] / 1e6
    moved = sum(bytes_moved(shape.batch_size, size, shape.dim) for size in shape.bag_sizes)
    bandwidth, facts = {"bandwidth_gb_s": None}, {}
    if shape.model == "op" and not backward:
        bandwidth = memory_traffic.metrics(moved, statistics["latency_us"], config)
        rows = Reads(1, shape.dim * memory_traffic.NUMBER_BYTES)  # all keep the tables as they are
        facts = memory_traffic.facts(trial, [(shape.batch_size, size) for size in shape.bag_sizes], shape.dim, rows)
    return timing.result(
        {
            **statistics,
            "device": DEVICE,
            "dtype": DTYPE,
            "memory_mb": sum(tensor.nbytes for tensor in method.kept()) / 1e6,
            "max_abs_error": max(errors),
            "samples_per_s": shape.batch_size / seconds,
            **bandwidth,
        },
        {"request_batches": BATCHES, **watch.told(), **environment, **facts},
    )


class _Tables(Subject):
    """A method of grouped lookups and its requests, for a Watch: the ids of each table, then dense features."""

    compare = staticmethod(difference)

    def __init__(self, method: GroupedMethod, exact: nn.Module | None, zipf_s: float, gradient: Tensor | None) -> None:
        self._method, self._exact, self._zipf_s, self._gradient = method, exact, zipf_s, gradient
        self.terms = max(method.shape.bag_sizes)

    @staticmethod
    def told(request: Request) -> tuple[Tensor, ...]:
        """A request as a Watch has it."""
        return request.ids if request.dense is None else (*request.ids, request.dense)

    def _request(self, told: Sequence[Tensor]) -> Request:
        ids = tuple(t for t in told if t.dtype == torch.int64)
        joined = torch.cat(ids, 1) if self._method.shape.structure == "split_in" else None
        return Request(ids, joined, None if len(ids) == len(told) else told[-1])

    def prepare(self, request: Sequence[Tensor]) -> Any:
        return self._method.prepare(self._request(request))

    def call(self, prepared: Any) -> Any:
        return self._method(prepared)

    def expected(self, request: Sequence[Tensor]) -> Tensor:
        return Reference(self._method, self._exact, self._request(request)).output

    def unseen(self, seed: int) -> tuple[Tensor, ...]:
        with torch.random.fork_rng(devices=[]):
            return self.told(requests(self._method.shape, self._zipf_s, seed, 1)[0])

    def weights(self) -> Sequence[Tensor]:
        return self._method.parameters()

    def backward(self, output: Any) -> None:
        assert self._gradient is not None
        torch.autograd.backward(output, like(output, self._gradient))

    def gradients(self) -> list[tuple[str, Tensor]]:
        found = [(f"table {number}", table) for number, table in enumerate(self._method.table_gradients())]
        head = self._method.head()
        return found + [(name, gradient_of(p)) for name, p in (head.named_parameters() if head is not None else ())]

    def forget_gradients(self) -> None:
        for parameter in self._method.parameters():
            parameter.grad = None

    def gradient_error(self, request: Sequence[Tensor], what: str) -> float:
        assert self._gradient is not None
        asked = self._request(request)
        return gradient_error(self._method, self._exact, asked, self._method.prepare(asked), self._gradient, what)


def timed(method: GroupedMethod, ready: Sequence[object], gradient: Tensor | None) -> Callable[[int], object]:
    """The call that is timed: forward, or with a gradient of the output forward and backward."""
    if gradient is None:
        return lambda index: method(ready[index % BATCHES])
    parameters = method.parameters()
    gradients = like(method(ready[0]), gradient)

    def forward_backward(index: int) -> None:
        torch.autograd.backward(method(ready[index % BATCHES]), gradients)
        for parameter in parameters:
            parameter.grad = None

    return forward_backward


def exact_head(model: GroupedModel) -> nn.Module | None:
    """What stands behind the tables of a whole model, in float64; None where there is nothing."""
    return None if model.shape.model == "op" else copy.deepcopy(model.head).double()


def output_error(method: GroupedMethod, exact: nn.Module | None, request: Request, prepared: object) -> float:
    """Largest absolute difference of the output from the float64 reference. Raises WrongResultError."""
    with torch.no_grad():
        actual = side_by_side(method(prepared))
        expected = Reference(method, exact, request).output
    return difference("output", actual, expected, terms=max(method.shape.bag_sizes))


def gradient_error(
    method: GroupedMethod, exact: nn.Module | None, request: Request, prepared: object, gradient: Tensor, when: str = ""
) -> float:
    """Largest absolute difference of the gradients from those of the float64 reference. Raises WrongResultError."""
    wanted, shape = Reference(method, exact, request), method.shape
    if shape.structure == "interleaved" and shape.model == "op":
        # A sum next to 0 may be on the other side of its relu in float32.
        size = wanted.output.detach().abs()
        gradient = gradient * (size > 1e-5 * size.max())
    output = method(prepared)
    torch.autograd.backward(output, like(output, gradient))
    if exact is not None:
        exact.zero_grad(set_to_none=True)
    wanted.output.backward(gradient.double())
    found = []
    for number, (actual, ids, rows) in enumerate(zip(method.table_gradients(), wanted.ids, wanted.rows, strict=True)):
        if int(actual.count_nonzero()) != int(actual[ids].count_nonzero()):
            raise WrongResultError(f"is wrong: its gradient of table {number}{when} has rows that were not asked for.")
        found.append((f"gradient of table {number}{when}", actual[ids], rows))
    head = method.head()
    if head is not None and exact is not None:
        found += [
            (f"gradient of {name}{when}", gradient_of(own), other)
            for (name, own), other in zip(head.named_parameters(), exact.parameters(), strict=True)
        ]
    compare = difference if shape.model == "op" else norm_difference
    terms = shape.batch_size * max(shape.bag_sizes)
    errors = [compare(what, actual, gradient_of(leaf), terms) for what, actual, leaf in found]
    for parameter in method.parameters():
        parameter.grad = None
    return max(errors)


def norm_difference(what: str, actual: Tensor, expected: Tensor, terms: int) -> float:
    """As `difference`, with the tolerance for the gradients of a whole model, however many terms they sum."""
    off = actual.double() - expected
    error, scale = float(off.norm()), float(expected.norm())
    if not error <= NORM_TOLERANCE * scale:
        raise WrongResultError(
            f"is wrong: its {what} is {error:.3g} off the float64 reference, whose norm is {scale:.3g}."
        )
    return float(off.abs().max())


class Reference:
    """The model in float64 for one request.

    Attributes:
        output: side by side.
        ids: per table the rows (n,) that the request names.
        rows: their vectors (n, D), which have gradients after a backward call, as the parameters of `exact` have.
    """

    def __init__(self, method: GroupedMethod, exact: nn.Module | None, request: Request) -> None:
        shape = method.shape
        self.ids: list[Tensor] = []
        self.rows: list[Tensor] = []
        pooled = []
        for number, table in enumerate(method.tables()):
            ids, place = torch.unique(request.ids[number % len(request.ids)], return_inverse=True)
            rows = table.detach()[ids].double().requires_grad_(torch.is_grad_enabled())
            vector = F.embedding_bag(place, rows, mode=shape.mode)
            pooled.append(F.relu(vector) if shape.structure == "interleaved" else vector)
            self.ids.append(ids)
            self.rows.append(rows)
        dense = None if request.dense is None else request.dense.double()
        self.output = torch.cat(pooled, 1) if exact is None else exact(pooled, dense)


def side_by_side(output: Tensor | Sequence[Tensor]) -> Tensor:
    """The vectors of all tables as one tensor (B, T * D)."""
    return output if isinstance(output, Tensor) else torch.cat(list(output), 1)


def like(output: Tensor | Sequence[Tensor], gradient: Tensor) -> Tensor | list[Tensor]:
    """The gradient of an output side by side in the form of the output."""
    if isinstance(output, Tensor):
        return gradient
    return [part.contiguous() for part in gradient.split([vector.size(1) for vector in output], 1)]

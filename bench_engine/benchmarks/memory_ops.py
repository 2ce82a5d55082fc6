"""One memory-bound operator: correct first, then latency, and bandwidth beside that of a copy.

A method is called with the same inputs again and again, for which level of the caches its bytes come from is what the
axis working_set varies; bytes that fit nowhere come from memory each time. Outputs are allocated by every call, as in a
lookup (see `lookup`). Direction `forward_backward` times the call, the backward call from a fixed gradient of the
output to the gradients of all inputs that have one, and dropping these.

Every fourth turn of a method is followed by one of a copy of as many bytes, half of them read and half written, into
memory that is there. It is torch's copy, with as many threads.

Outputs are compared with the operator in float64 on inputs with other values, before anything is timed and once more
afterwards, gradients beforehand.
"""

from collections.abc import Callable, Generator
from typing import Any

import torch
from torch import Tensor

from bench_engine import registry
from bench_engine.benchmarks.lookup import WrongResultError, difference
from bench_engine.benchmarks.modules import DEVICE, DTYPE
from bench_engine.measure.measure import Sampler, Timing, summarize
from bench_engine.measure.streams import copier
from bench_engine.methods.operators.memory_operators import OPERATORS, Inputs, Operator
from bench_engine.methods.operators.operator_methods import OperatorMethod
from bench_engine.trial import Run, State, Trial, TrialResult

COPY_EVERY = 4  # turns
_AFTERWARDS = 2**20  # added to the seed: inputs that no call has seen


def run(trial: Trial) -> Run:
    """Measure one trial; `failed` when the method computes something else than the float64 reference."""
    config = trial.config
    seed, backward = int(config["seed"]), config["direction"] != "forward"
    operator, working_set = OPERATORS[str(config["operator"])], str(config["working_set"])
    with torch.set_grad_enabled(backward):
        inputs = differentiable(operator.inputs(working_set, seed), backward)
        try:
            kind: type[OperatorMethod] = registry.method(trial.method, trial.benchmark).load()
            method = kind(operator, inputs)
        except ValueError as error:
            return TrialResult("skipped", error=f"{trial.method} cannot be run here: {error}")
        prepared = method.prepare(inputs)
        output = method.as_tensor(method(prepared)).detach()
        moved, gradient = operator.bytes_moved(inputs, output), torch.randn_like(output)
        try:
            errors = [output_error(method, operator.inputs(working_set, seed + more)) for more in (0, 1)]
            if backward:
                errors.append(gradient_error(method, inputs, gradient))
            del output
            own = Sampler(timed(method, prepared, inputs, gradient if backward else None), trial.stop)
            copy = Sampler(copier(moved), trial.stop)
            timing = yield from turns(own, copy)
            errors.append(output_error(method, operator.inputs(working_set, seed + _AFTERWARDS)))
        except WrongResultError as error:
            return TrialResult("failed", error=f"{trial.method} {error}")
    statistics = summarize(timing.samples_us, timing.turn_sizes, seed)
    latency_us, copy_us = statistics["latency_us"], summarize(copy.timing.samples_us)["latency_us"]
    known: dict[str, Any] = {
        "bytes_moved": moved,
        "bandwidth_gb_s": moved / latency_us / 1e3,
        "bandwidth_share": copy_us / latency_us,
        **method.metrics(),
    }
    return timing.result(
        {
            **statistics,
            "device": DEVICE,
            "dtype": DTYPE,
            "max_abs_error": max(errors),
            **({} if backward else known),
        },
        {"copy_us": copy_us, **method.environment()},
    )


def differentiable(inputs: Inputs, wanted: bool) -> Inputs:
    """The same tensors, of which those of floats need gradients where these are wanted."""
    return [tensor.requires_grad_(wanted and tensor.is_floating_point()) for tensor in inputs]


def timed(method: OperatorMethod, prepared: Any, inputs: Inputs, gradient: Tensor | None) -> Callable[[int], object]:
    """The call that is timed: forward, or with a gradient of the output forward and backward."""
    if gradient is None:
        return lambda index: method(prepared)

    def forward_backward(index: int) -> None:
        method(prepared).backward(gradient)
        for tensor in inputs:
            tensor.grad = None

    return forward_backward


def turns(own: Sampler, copy: Sampler) -> Generator[State, bool, Timing]:
    """A turn of the method each time it is sent True, and after some of them, the first too, one of the copy."""
    taken = 0
    while (yield own.state):
        own.turn()
        if taken % COPY_EVERY == 0:
            copy.turn()
        taken += 1
    own.count()
    return own.timing


def exactly(operator: Operator, inputs: Inputs) -> tuple[Tensor, Inputs]:
    """The output in float64, and the inputs that it was computed of."""
    exact = [t.detach().double().requires_grad_(t.requires_grad) if t.is_floating_point() else t for t in inputs]
    return operator.call(*exact), exact


def output_error(method: OperatorMethod, inputs: Inputs) -> float:
    """Largest absolute difference of the output from the float64 reference. Raises WrongResultError."""
    actual = method.as_tensor(method(method.prepare(differentiable(inputs, torch.is_grad_enabled())))).detach()
    with torch.no_grad():
        return difference("output", actual, exactly(method.operator, inputs)[0], terms=1)


def gradient_error(method: OperatorMethod, inputs: Inputs, gradient: Tensor) -> float:
    """Largest absolute difference of the inputs' gradients from the float64 reference's. Raises WrongResultError."""
    expected, exact = exactly(method.operator, inputs)
    expected.backward(gradient.double())
    method.as_tensor(method(method.prepare(inputs))).backward(gradient)
    errors = []
    for n, (own, wanted) in enumerate(zip(inputs, exact, strict=True)):
        if wanted.grad is None:
            continue
        if own.grad is None:
            raise WrongResultError(f"is wrong: its gradient of input {n} is not there.")
        terms = expected.numel() // wanted.numel()  # so many elements of the output an element is part of, or more
        errors.append(difference(f"gradient of input {n}", own.grad, wanted.grad, terms))
    for tensor in inputs:
        tensor.grad = None
    return max(errors)

"""Untouched scripts: `step()` of torch's SGD, Adagrad and SparseAdam updates its parameters by one op, to the bit.

torch's optimizers hand the parameters of a group, with their gradients and state, to one function
(`torch.optim.sgd.sgd` ...), and here another one stands in its place. So closures, hooks, schedulers, scalers and the
layout of the state stay the optimizer's own, and an optimizer with a step of its own never comes here. What the op
cannot compute to the very bits is left to torch's function, parameter by parameter or the step as a whole. The first
steps of a kind take turns between both, and the faster one stays.
"""

import math
import resource
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from time import perf_counter_ns
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx import _symbolic_trace

from bench_engine.kernels.native import extension
from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.settings import Settings

# Of csrc/grouped/optimizer/tables.h, in its order.
_REASONS = (
    "",
    "no ordinary tensors on the CPU",
    "neither float32 nor float64, or of two types",
    "not contiguous, or gradients of another layout",
    "their state is of another kind",
    "their memory is shared, or denormals are flushed",
    "ids out of range",
    "gradients of a kind that these options take no update by rows for",
)
_ONE_UPDATE, _UNTOUCHED = 0, 1  # ways, as csrc/grouped/optimizer/optimizer_step.cpp has them
_WAYS = 2
_KEPT = 100  # kinds of steps that the report tells of

_grads_are_on = torch.is_grad_enabled
_is_compiling = torch.compiler.is_compiling
_tracing = torch._C._get_tracing_state
_functorch = torch._C._are_functorch_transforms_active
_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_fx_tracing = _symbolic_trace.is_fx_symbolic_tracing
_threads = torch.get_num_threads

Codes = list[int]


@dataclass(frozen=True)
class _Rule:
    """One of torch's functions: where it is, which of its lists hold state, and the op that does the same.

    `update` takes the lists (parameters, gradients, state ...) and the options, and gives for each parameter why it was
    left; None: this step is torch's. `options` are those that have to be plain numbers.
    """

    name: str
    module: str
    function: str
    lists: int
    options: tuple[str, ...]
    update: Callable[[Sequence[Any], dict[str, Any]], Codes | None]


def _sgd(lists: Sequence[Any], o: dict[str, Any]) -> Codes | None:
    weights, gradients, buffers = lists
    given: list[Tensor] = []
    first = bool(o["momentum"]) and buffers[0] is None
    if o["momentum"]:
        if any((buffer is None) is not first for buffer in buffers) or any(grad.is_sparse for grad in gradients):
            return None
        given = [torch.empty_like(grad) for grad in gradients] if first else buffers
    codes: Codes = torch.ops.mirror.sgd_step(
        weights, gradients, given, first, o["lr"], o["weight_decay"], o["momentum"], o["dampening"],
        o["nesterov"], o["maximize"],
    )  # fmt: skip
    if first:
        for at, (code, buffer) in enumerate(zip(codes, given, strict=True)):
            if not code:
                buffers[at] = buffer
    return codes


def _adagrad(lists: Sequence[Any], o: dict[str, Any]) -> Codes | None:
    if o["weight_decay"] and any(grad.is_sparse for grad in lists[1]):
        return None  # torch raises, after the parameters before it
    codes: Codes = torch.ops.mirror.adagrad_step(
        *lists, o["lr"], o["lr_decay"], o["weight_decay"], o["eps"], o["maximize"]
    )
    return codes


def _sparse_adam(lists: Sequence[Any], o: dict[str, Any]) -> Codes | None:
    weights, gradients, averages, squares, counts = lists
    beta1, beta2 = o["beta1"], o["beta2"]
    if not all(type(count) is int for count in counts):
        return None
    sizes = {
        count: o["lr"] * math.sqrt(1 - beta2**count) / (1 - beta1**count) for count in set(counts)
    }  # as sparse_adam has it
    codes: Codes = torch.ops.mirror.sparse_adam_step(
        weights, gradients, averages, squares, [sizes[count] for count in counts], beta1, beta2, o["eps"], o["maximize"]
    )
    return codes


_RULES = {
    "optim.sgd": _Rule("SGD", "torch.optim.sgd", "sgd", 3, ("lr", "weight_decay", "momentum", "dampening"), _sgd),
    "optim.adagrad": _Rule(
        "Adagrad", "torch.optim.adagrad", "adagrad", 4, ("lr", "lr_decay", "weight_decay", "eps"), _adagrad
    ),
    "optim.sparse_adam": _Rule(
        "SparseAdam", "torch.optim._functional", "sparse_adam", 5, ("lr", "beta1", "beta2", "eps"), _sparse_adam
    ),
}


@dataclass
class _Kind:
    """Steps that are alike: what the report tells of them."""

    rule: str
    key: str
    parameters: int
    left: dict[int, int] = field(default_factory=dict)  # code -> parameters

    def text(self) -> str:
        """What became one update, what was left and why, and the times it rests on."""
        chosen, times = _chosen(self.key)
        done = self.parameters - sum(self.left.values())
        told = f"Parallel OP, {self.rule}: "
        if chosen == "untouched":
            told += f"the update of {self.parameters} parameters was left untouched, which is faster"
        else:
            told += f"the updates of {done} of {self.parameters} parameters became one op"
        told += f" ({times})." if times else "."
        for code, count in sorted(self.left.items()):
            told += f" Left as they were: {count}, {_REASONS[code]}."
        return told


class _Standing:
    """Stands in the place of one of torch's functions while it is on."""

    def __init__(self, rule: _Rule, settings: Settings) -> None:
        self.rule, self.on = rule, True
        self._module = import_module(rule.module)
        self.original = getattr(self._module, rule.function)
        self._settings = settings
        self._agrees: dict[bool, bool] = {}  # with sparse gradients, with dense ones
        self.kinds: dict[Any, _Kind] = {}
        original = self.original

        @wraps(original)
        def stands_in(*args: Any, **options: Any) -> Any:
            if not self.on or _is_compiling() or not self._ours(args, options):
                return original(*args, **options)
            return self._step(args, options)

        self.stands_in = stands_in
        setattr(self._module, rule.function, stands_in)

    def take_off(self) -> None:
        """Give torch its function back; where somebody has put another one over it, this one only hands on."""
        self.on = False
        if getattr(self._module, self.rule.function) is self.stands_in:
            setattr(self._module, self.rule.function, self.original)

    def _ours(self, lists: Sequence[Any], options: dict[str, Any]) -> bool:
        if len(lists) != self.rule.lists or len(lists[0]) < self._settings.min_group:
            return False
        others = ("foreach", "fused", "differentiable", "has_complex", "grad_scale", "found_inf")
        if any(options.get(name) for name in others[:4]) or any(options.get(name) is not None for name in others[4:]):
            return False
        if not all(isinstance(options.get(name), (int, float)) for name in self.rule.options):
            return False
        if (
            _grads_are_on()
            or _dispatch_modes()
            or _function_modes()
            or _functorch()
            or _tracing() is not None
            or _fx_tracing()
        ):
            return False
        kinds = (Tensor, nn.Parameter)
        return all(type(weight) in kinds for weight in lists[0]) and all(type(grad) is Tensor for grad in lists[1])

    def _step(self, lists: Sequence[Any], options: dict[str, Any]) -> None:
        if not all(self._agree(sparse) for sparse in {grad.is_sparse for grad in lists[1]}):
            self.original(*lists, **options)
            return
        kind = self._kind(lists, options)
        turn = _turn(kind.key)
        if turn == _ONE_UPDATE:
            self._one_update(kind, lists, options)
        elif turn == _UNTOUCHED:
            self.original(*lists, **options)
        else:
            faults, start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, perf_counter_ns()
            if turn - _WAYS == _ONE_UPDATE:
                self._one_update(kind, lists, options)
            else:
                self.original(*lists, **options)
            took = (perf_counter_ns() - start) / 1e3
            faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
            torch.ops.mirror.optimizer_took(kind.key, turn - _WAYS, took, faults)

    def _agree(self, sparse: bool) -> bool:
        """Whether the op leaves torch's bits, tried with the script's kind of gradients: torch warns of sparse ones."""
        if sparse not in self._agrees:
            self._agrees[sparse] = _loaded(self._settings) and _agree(self.rule, self.original, sparse)
        return self._agrees[sparse]

    def _one_update(self, kind: _Kind, lists: Sequence[Any], options: dict[str, Any]) -> None:
        codes = self.rule.update(lists, options)
        if codes is None:
            kind.left = {len(_REASONS) - 1: kind.parameters}
            self.original(*lists, **options)
            return
        if not any(codes):
            if kind.left:
                kind.left = {}
            return
        left = [at for at, code in enumerate(codes) if code]
        kind.left = {code: codes.count(code) for code in set(codes) if code}
        if len(left) == len(codes):
            self.original(*lists, **options)
            return
        # What torch would have decided by all parameters, of which some are on the CPU.
        decided = {name: False for name in ("foreach", "fused") if name in options}
        parts = [[whole[at] for at in left] if whole else [] for whole in lists]
        self.original(*parts, **(options | decided))
        for whole, part in zip(lists[2:], parts[2:], strict=True):  # SGD puts new state into its list
            for at, item in zip(left, part, strict=False):
                whole[at] = item

    def _kind(self, lists: Sequence[Any], options: dict[str, Any]) -> _Kind:
        dense = ids = 0
        for grad in lists[1]:
            if grad.is_sparse:
                ids += grad._nnz()
            else:
                dense += grad.numel()
        flags = (*(bool(options.get(name)) for name in ("weight_decay", "momentum", "nesterov")), lists[1][0].dtype)
        alike = (len(lists[0]), dense.bit_length(), ids.bit_length(), _threads(), flags)
        found = self.kinds.get(alike)
        if found is None:
            if len(self.kinds) >= _KEPT:
                self.kinds.pop(next(iter(self.kinds)))
            said = "".join(f" {name}" for name, on in zip(("decay", "momentum", "nesterov"), flags, strict=False) if on)
            key = (
                f"{self.rule.name}{said} {str(flags[-1]).removeprefix('torch.')} parameters={alike[0]} "
                f"dense<2^{alike[1]} ids<2^{alike[2]} threads={alike[3]}"
            )
            found = self.kinds[alike] = _Kind(self.rule.name, key, alike[0])
        return found


_standing: list[_Standing] = []


def install(settings: Settings) -> None:
    """Update by one op from now on, by the rules of the whitelist. Functions that others have replaced stay."""
    uninstall()
    for name, rule in _RULES.items():
        function = getattr(import_module(rule.module), rule.function)
        if name in settings.ops and function.__module__ == f"torch.optim.{_home(rule)}":
            _standing.append(_Standing(rule, settings))


def uninstall() -> None:
    """Give torch its functions back."""
    while _standing:
        _standing.pop().take_off()


def pause(paused: bool) -> None:
    """Have torch's functions do all steps for a while, for whoever compares."""
    for standing in _standing:
        standing.on = not paused


def report_lines() -> list[str]:
    """What was updated by one op so far, and what was left, a line for each kind of step."""
    return [kind.text() for standing in _standing for kind in standing.kinds.values()]


def _turn(key: str) -> int:
    """The way of a kind of step whose turn it is; plus _WAYS where its time is wanted."""
    turn: int = torch.ops.mirror.optimizer_turn(key)
    return turn


def _home(rule: _Rule) -> str:
    return rule.module.rpartition(".")[2]


def _loaded(settings: Settings) -> bool:
    try:
        ops.load()
    except extension.KernelsNotBuiltError as error:
        print(f"Parallel OP leaves optimizers as they are: {' '.join(str(error).split())[:200]}", file=sys.stderr)
        return False
    ops.configure(settings)
    return True


def _chosen(key: str) -> tuple[str, str]:
    """The way that was kept for a kind of step ("-": none yet), and the times as they are told."""
    for line in ops.choices().splitlines():
        found, kept, _, *measured = line.split("\t")
        if found == key:
            times = [f"{name} {float(us):.0f} µs" for name, _, us in (pair.rpartition("=") for pair in measured)]
            return kept, ", ".join(times)
    return "-", ""


def _agree(rule: _Rule, original: Callable[..., Any], sparse: bool) -> bool:
    """Whether the op leaves the bits that torch's function leaves here, on a few rows of all kinds.

    torch picks its kernels by the processor, and another one may round a product that this one does not.
    """
    return all(_same(rule, original, *trial) for trial in _trials(rule) if trial[0] == sparse)


def _trials(rule: _Rule) -> Iterable[tuple[bool, torch.dtype, dict[str, Any]]]:
    """Trials of a rule: whether gradients are sparse, their type, options."""
    for dtype in (torch.float32, torch.float64):
        if rule.name == "SGD":
            plain = {"lr": 0.013, "weight_decay": 0.0, "momentum": 0.0, "dampening": 0.0, "nesterov": False}
            yield True, dtype, plain
            yield False, dtype, plain
            yield False, dtype, plain | {"weight_decay": 0.07, "momentum": 0.9}
            yield False, dtype, plain | {"weight_decay": 0.07, "momentum": 0.9, "nesterov": True}
        elif rule.name == "Adagrad":
            for sparse in (True, False):
                yield sparse, dtype, {"lr": 0.013, "lr_decay": 0.01, "weight_decay": 0.0, "eps": 1e-10}
        else:
            yield True, dtype, {"lr": 0.013, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}


def _same(rule: _Rule, original: Callable[..., Any], sparse: bool, dtype: torch.dtype, options: dict[str, Any]) -> bool:
    options = options | {"maximize": False}
    draw = torch.Generator().manual_seed(0)
    shapes = [(19, 16), (23, 37), (11, 3), (300, 8)]

    def lists(weights: list[Tensor]) -> list[list[Any]]:
        state = [[torch.full_like(weight, 0.01) for weight in weights] for _ in range(2)]
        if rule.name == "SGD":
            return [weights, state[0] if options["momentum"] else [None] * len(weights)]
        if rule.name == "Adagrad":
            return [weights, state[0], [torch.tensor(3.0) for _ in weights]]
        return [weights, *state, [3] * len(weights)]

    ours, theirs = (
        lists([torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=dtype) for shape in shapes])
        for _ in range(2)
    )
    with torch.no_grad():
        for _ in range(3):
            gradients = [_gradient(rows, dim, sparse, dtype, draw) for rows, dim in shapes]
            original(theirs[0], gradients, *theirs[1:], **options)
            codes = rule.update([ours[0], gradients, *ours[1:]], options)
            if codes is None or any(codes):
                return False
    pairs = (pair for one, other in zip(ours, theirs, strict=True) for pair in zip(one, other, strict=True))
    return all(not isinstance(a, Tensor) or torch.equal(a, b) for a, b in pairs)


def _gradient(rows: int, dim: int, sparse: bool, dtype: torch.dtype, draw: torch.Generator) -> Tensor:
    if not sparse:
        return torch.randn(rows, dim, generator=draw, dtype=dtype)
    ids = torch.randint(0, rows, (1, 3 * rows), generator=draw)
    values = torch.randn(3 * rows, dim, generator=draw, dtype=dtype)
    return torch.sparse_coo_tensor(ids, values, (rows, dim), check_invariants=False)

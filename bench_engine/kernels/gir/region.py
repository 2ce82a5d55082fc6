"""A part of a program that runs as one generated kernel, or as it was where that is faster.

The first call of each bucket of batch sizes decides: from the cache, or by measuring candidates on that call's inputs.
"""

import ctypes
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.gir.backend import toolchain
from bench_engine.kernels.gir.backend.tuning import Candidate
from bench_engine.kernels.gir.cpu.cpp import Cpp
from bench_engine.kernels.gir.gpu.triton_calls import Triton
from bench_engine.kernels.gir.program.ir import Buffer, GirError, Kernel, UnsupportedError, first_line, instructions
from bench_engine.kernels.gir.program.text import parse, to_text
from bench_engine.kernels.gir.program.traffic import traffic
from bench_engine.kernels.native import extension
from bench_engine.kernels.native.calling import nothing, quick
from bench_engine.kernels.native.extension import CompileError, CompilerMissingError
from bench_engine.kernels.native.watched import is_plain

BACKENDS: dict[str, Cpp | Triton] = {backend.device: backend for backend in (Cpp(), Triton())}
_MOST_LAYOUTS = 100  # that a region remembers
_TOLERANCE = 1e-4  # of an element, and of the largest one: sums in another order
PARALLEL_OP = "parallel op"  # a winner that is no kernel of this compiler
_DIFFERS = "its result differs from the original's"
_STAYS = (CompileError, CompilerMissingError, GirError, UnsupportedError, OSError, AttributeError, KeyError,
          ImportError, torch.OutOfMemoryError)  # measuring takes more memory than a call  # fmt: skip


@dataclass
class Decision:
    """What was decided for one bucket, and why; `winner` is None where the original stays, or PARALLEL_OP."""

    bucket: int
    threads: int
    winner: str | None
    reason: str
    batch: int = 1
    original_us: float = 0.0
    parallel_op_us: float | None = None  # where there are look-ups
    tried: list[dict[str, Any]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # candidates whose result differs from the original's
    kernel: Kernel | None = None
    call: Callable[..., Any] | None = None
    told: tuple[int, Any] = (0, ())  # to the C++ of it: address of the function, layouts of what it writes


def device_of(tensor: Tensor) -> AbstractContextManager[object]:
    """Makes a tensor's GPU the current one: that is the one that is measured and named."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()


def bucket_of(batch: int) -> int:
    """Batch sizes of one bucket share a kernel: up to 4, 16, 64, 256 ..."""
    bucket = 0
    while 4 << (2 * bucket) < batch:
        bucket += 1
    return bucket


class Region:
    """Calls like `original`, a function of tensors that returns a tensor or a tuple of them.

    `make_by_hand` gives the same by the parallel op, which is then measured beside the kernels, or None.
    Raises UnsupportedError for a kernel whose text cannot say a size, and one whose batch size comes as a number.
    """

    def __init__(
        self,
        original: Callable[..., Any],
        kernel: Kernel,
        device: str = "cpu",
        make_by_hand: Callable[[], Callable[..., Any] | None] = lambda: None,
    ) -> None:
        self.original = getattr(original, "forward", original)  # without the hooks of modules
        self.make_by_hand = make_by_hand
        self.kernel = kernel
        self.backend = BACKENDS[device]
        self.several = _returns_tuple(original)
        self.text = to_text(kernel)
        self.ops = _ops_of(original)  # what kernels were measured beside
        self.decisions: dict[tuple[int, int], Decision] = {}
        self._fitting: set[Any] = set()  # layouts of inputs that were seen to fit
        self._batch = next(
            ((n, d, s) for n, b in enumerate(kernel.named("input")) for d, s in enumerate(b.shape) if s.batch), None
        )  # fmt: skip
        if self._batch is None and _depends_on_batch(kernel):
            raise UnsupportedError("a batch size that no input has")
        self.compiled = self._compiled()

    @cached_property
    def by_hand(self) -> Callable[..., Any] | None:
        """Made where it is measured or called: a process that finds what was decided need not wait for it."""
        return self.make_by_hand()

    def __call__(self, *args: Any) -> Any:
        """The original's result. Index errors are raised by the original itself."""
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        if not self._fit(tensors):
            return self.original(*args)
        batch = self.batch_of(tensors)
        threads = toolchain.threads(torch.get_num_threads())
        place = (bucket_of(batch), threads)
        if place not in self.decisions:
            if tensors[0].is_cuda and torch.cuda.is_current_stream_capturing():
                return self.original(*args)  # measuring would break the CUDA graph
            with device_of(tensors[0]):
                self.decisions[place] = self._decide(batch, threads, args)
            if self.compiled is not nothing and self.decisions[place].winner != PARALLEL_OP:
                self.compiled.decide(*place, *self.decisions[place].told)
        return (self.decisions[place].call or self.original)(*args)

    def _compiled(self) -> Any:
        """Calls in C++ what is decided, and returns NotImplemented where nothing is."""
        module = extension.python_module_if_built() if self.backend.entered_in_cpp else None
        if module is None:
            return nothing
        place = None if self._batch is None else (*self._batch[:2], (self._batch[2].batch, self._batch[2].const))
        outputs = len(self.kernel.named("output"))
        return module.Region(self.original, _layouts(self.kernel.named("input")), place, outputs, self.several)

    def batch_of(self, tensors: Sequence[Tensor]) -> int:
        """B for these tensors; 1 where nothing depends on it."""
        if self._batch is None:
            return 1
        number, dim, size = self._batch
        return int((tensors[number].shape[dim] - size.const) // size.batch)

    def _fit(self, tensors: Sequence[Tensor]) -> bool:
        """Whether the inputs are as the kernel was made for, no size is 0, and no gradient is to be recorded."""
        plain = all(map(is_plain, tensors)) and not (torch.is_grad_enabled() and any(t.requires_grad for t in tensors))
        devices = {tensor.device for tensor in tensors}
        plain = plain and len(devices) == 1 and next(iter(devices)).type == self.backend.device
        laid_out = tuple((tensor.shape, tensor.stride(), tensor.dtype) for tensor in tensors)
        if plain and laid_out not in self._fitting and self._all_fit(tensors):
            self._fitting = {laid_out, *(self._fitting if len(self._fitting) < _MOST_LAYOUTS else ())}
        return plain and laid_out in self._fitting

    def _all_fit(self, tensors: Sequence[Tensor]) -> bool:
        inputs = self.kernel.named("input")
        if len(inputs) != len(tensors) or any(len(b.shape) != t.dim() for b, t in zip(inputs, tensors, strict=True)):
            return False
        batch = self.batch_of(tensors)
        return batch >= 1 and all(_fits(buffer, tensor, batch) for buffer, tensor in zip(inputs, tensors, strict=True))

    def _decide(self, batch: int, threads: int, args: Sequence[Any]) -> Decision:
        bucket, backend = bucket_of(batch), self.backend
        in_cpp = self.compiled is not nothing  # where a call costs less
        try:
            name = toolchain.key(self.text, self.ops, bucket, backend.language, backend.key(threads), in_cpp)
            kept = toolchain.find(name)
            if kept:
                return self._replayed(*kept)
            return self._inherited(batch) if toolchain.forked else self._tuned(name, batch, threads, args)
        except _STAYS as error:
            reason = first_line(error)
            return Decision(bucket, threads, None, reason, batch)

    def _inherited(self, batch: int) -> Decision:
        """Of a child, which measures nothing: torch's loops may wait for threads that it does not have."""
        won = [d for d in self.decisions.values() if d.bucket == bucket_of(batch) and d.kernel is not None]
        if won:
            return replace(won[0], threads=1, reason="decided before the process forked")
        return Decision(bucket_of(batch), 1, None, "not decided before the process forked", batch)

    def _replayed(self, said: dict[str, Any], folder: Path) -> Decision:
        decision = Decision(
            said["bucket"], said["threads"], said["winner"], "kept from before", said["batch"], said["original_us"],
            said["parallel_op_us"], said["tried"], said["wrong"],
        )  # fmt: skip
        if decision.winner == PARALLEL_OP:
            decision.call = self.by_hand
        elif decision.winner is not None:
            decision.kernel = parse(said["kernel"])
            (function,) = self.backend.load([decision.kernel], folder)
            decision.told = self._told(decision.kernel, function)
            decision.call = self.caller(decision.kernel, function, decision.threads, [decision.bucket])
        return decision

    def _tuned(self, name: str, batch: int, threads: int, args: Sequence[Any]) -> Decision:
        """Compiles the best candidates, measures those that are right beside the original, and keeps what is found."""
        with toolchain.one_at_a_time(), tempfile.TemporaryDirectory() as folder:
            if kept := toolchain.find(name):  # another process has measured meanwhile
                return self._replayed(*kept)
            found = self.backend.candidates(self.kernel, batch, threads)  # which may measure this machine first
            functions = dict(zip(found, self.backend.build([c.kernel for c in found], Path(folder)), strict=True))
            wanted = self.original(*args)
            checked = {c: self.caller(c.kernel, f, threads, checked=True) for c, f in functions.items()}
            right = [candidate for candidate in found if _agrees(checked[candidate], args, wanted)]
            buckets = [bucket_of(batch)]
            callers = [self.caller(c.kernel, functions[c], threads, buckets) for c in right]
            decision = self._decision(batch, threads, right, callers, args)
            decision.wrong = [candidate.name for candidate in found if candidate not in right]
            own = ("kernel", "call", "told", "reason")
            said = {key: value for key, value in decision.__dict__.items() if key not in own}
            library = Path(folder) / "kernels.so"
            if decision.kernel is not None:
                said["kernel"] = to_text(decision.kernel)
                winner = next(candidate for candidate in right if candidate.name == decision.winner)
                decision.told = self._told(decision.kernel, functions[winner])
            toolchain.keep(name, said, library if decision.kernel is not None and library.exists() else None)
        return decision

    def _decision(
        self, batch: int, threads: int, found: list[Candidate], callers: list[Callable[..., Any]], args: Sequence[Any]
    ) -> Decision:
        """The times of all in the same turns are kept; those of the best and the original alone decide."""
        decision = Decision(bucket_of(batch), threads, None, "no candidate's result is the original's", batch)
        if not found:
            return decision
        others = [call for call in (self.by_hand, self.original) if call is not None]
        calls = [partial(call, *args) for call in [*callers, *others]]
        times = self.backend.measure(calls, self.kernel)
        best = min(range(len(found)), key=lambda n: times[n])
        last = [calls[best], *calls[len(found) :]]
        own, *by_hand, decision.original_us = self.backend.measure(last, self.kernel)
        if (own < decision.original_us) != (times[best] < times[-1]):  # something disturbed one: a third time decides
            own, *by_hand, decision.original_us = self.backend.measure(last, self.kernel)
        decision.tried = _said(found, times)
        ran = times[best] < float("inf")
        decision.reason = "the original is faster" if ran else f"no kernel ran: {self.backend.refused}"
        if own < decision.original_us:
            decision.winner, decision.reason = found[best].name, "measured faster than the original"
            decision.kernel, decision.call = found[best].kernel, callers[best]
        for decision.parallel_op_us in by_hand:
            if decision.parallel_op_us < min(own, decision.original_us):
                decision.winner, decision.reason = PARALLEL_OP, "measured faster than kernel and original"
                decision.kernel, decision.call = None, self.by_hand
        return decision

    def survey(self, *args: Any, most: int = 24) -> list[dict[str, Any]]:
        """So many candidates of the back end's whole space, from the best to the worst of what is predicted, measured.

        How good the model is: to decide, only the best are measured. For arguments that fit. Raises CompileError.
        """
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        batch, threads = self.batch_of(tensors), toolchain.threads(torch.get_num_threads())
        with device_of(tensors[0]), tempfile.TemporaryDirectory() as folder:
            space = self.backend.space(self.kernel, batch, threads)
            chosen = [round(n * (len(space) - 1) / (most - 1)) for n in range(most)]
            found = [space[n] for n in chosen] if len(space) > most else space
            functions = self.backend.build([c.kernel for c in found], Path(folder))
            made = zip(found, functions, strict=True)
            callers = [self.caller(c.kernel, function, threads, [bucket_of(batch)]) for c, function in made]
            times = self.backend.measure([partial(call, *args) for call in callers], self.kernel)
        return _said(found, times)

    def caller(
        self,
        kernel: Kernel,
        function: toolchain.Function,
        threads: int,
        buckets: Sequence[int] = (),
        checked: bool = False,
    ) -> Callable[..., Any]:
        """What allocates the outputs and calls a compiled function on them: in C++ for batch sizes of these buckets.

        With `checked` it does so in Python, and elements that are never written are NaN: memory that was just freed may
        hold the right values.
        """
        made, count = self._made(kernel, function), len(kernel.named("output"))
        run = self.backend.bound(function, threads)
        layouts = lru_cache(16)(lambda batch: [_layout(buffer, batch) for buffer in made])

        def call(*args: Any) -> Any:
            tensors = [arg for arg in args if isinstance(arg, Tensor)]
            batch, device = self.batch_of(tensors), tensors[0].device
            own = [
                torch.empty_strided(size, steps, dtype=dtype, device=device) for size, steps, dtype in layouts(batch)
            ]
            for tensor in own if checked else ():
                tensor.fill_(float("nan") if tensor.is_floating_point() else -1)
            if run(tensors + own, batch):
                return self.original(*args)  # which raises torch's own error for the index
            return tuple(own[:count]) if self.several else own[0]

        compiled: Any = nothing if checked else self._compiled()
        if compiled is nothing:
            return call
        for bucket in buckets:
            compiled.decide(bucket, threads, *self._told(kernel, function))
        return quick(compiled, call)

    def _made(self, kernel: Kernel, function: toolchain.Function) -> list[Buffer]:
        """What a function writes: outputs, then temps in memory."""
        return [*kernel.named("output"), *self.backend.scratch(kernel, function)]

    def _told(self, kernel: Kernel, function: toolchain.Function) -> tuple[int, Any]:
        """What C++ is told of a function, where calls are entered there."""
        if not self.backend.entered_in_cpp:
            return 0, ()
        address = ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]
        return address or 0, _layouts(self._made(kernel, function))

    def report(self) -> str:
        """Bytes before and after, candidates, winner and its source, for each bucket that has been decided."""
        return "\n".join(self._reported(decision) for decision in self.decisions.values())

    def _reported(self, decision: Decision) -> str:
        caches = self.backend.caches()
        before = traffic(self.kernel, decision.batch, caches)
        on = f"{decision.threads} threads" if self.backend.device == "cpu" else self.backend.device
        lines = [
            f"bucket {decision.bucket} (batch {decision.batch}), {on}, {self.backend.language}: "
            f"{decision.winner or 'original'}, {decision.reason}",
            "bytes before: " + _bytes(before),
        ]
        if decision.kernel is not None:
            lines.append("bytes after:  " + _bytes(traffic(decision.kernel, decision.batch, caches)))
        if decision.tried:
            lines.append(f"original: {decision.original_us:.1f} µs")
        if decision.parallel_op_us is not None:
            lines.append(f"{PARALLEL_OP}: {decision.parallel_op_us:.1f} µs")
        lines += [
            f"  {t['candidate']}: predicted {t['predicted_us']:.1f} µs, measured {t['measured_us']:.1f} µs"
            for t in decision.tried
        ]
        lines += [f"  {name}: {_DIFFERS}" for name in decision.wrong]
        if decision.kernel is not None:
            lines += ["", to_text(decision.kernel), self.backend.source(decision.kernel)]
        return "\n".join(lines)


def _depends_on_batch(kernel: Kernel) -> bool:
    sizes = [size for buffer in kernel.buffers for size in (*buffer.shape, *buffer.strides)]
    loops = [loop.extent for _, around in instructions(kernel.body) for loop in around]
    return any(size.batch for size in (*sizes, *loops))


def _said(found: Sequence[Candidate], times: Sequence[float]) -> list[dict[str, Any]]:
    return [
        {"candidate": c.name, "predicted_us": round(c.predicted_us, 2), "measured_us": round(t, 2)}
        for c, t in zip(found, times, strict=False)
    ]


def _agrees(call: Callable[..., Any], args: Sequence[Any], wanted: Any) -> bool:
    """Whether a candidate's result is the original's; where it raises, measuring says why."""
    try:
        found = call(*args)
    except Exception:
        return True
    pairs = [(found, wanted)] if isinstance(wanted, Tensor) else zip(found, wanted, strict=True)
    return all(_close(one, other) for one, other in pairs)


def _close(found: Tensor, wanted: Tensor) -> bool:
    if (found.shape, found.dtype, found.stride()) != (wanted.shape, wanted.dtype, wanted.stride()):
        return False
    finite = wanted[wanted.isfinite()]
    scale = max(float(finite.abs().max()), 1.0) if finite.numel() else 1.0
    return torch.allclose(found, wanted, rtol=_TOLERANCE, atol=_TOLERANCE * scale, equal_nan=True)


def _bytes(moved: dict[str, int]) -> str:
    return ", ".join(f"{level} {count:,}" for level, count in moved.items())


def _layouts(buffers: Sequence[Buffer]) -> tuple[Any, ...]:
    """Layouts as csrc/python/region.h has them."""
    return tuple(
        (_TORCH[b.dtype], *(tuple((size.batch, size.const) for size in sizes) for sizes in (b.shape, b.strides)))
        for b in buffers
    )


_TORCH = {"f32": torch.float32, "i64": torch.int64, "i32": torch.int32}


def _layout(buffer: Buffer, batch: int) -> tuple[tuple[int, ...], tuple[int, ...], torch.dtype]:
    shape = tuple(size.at(batch) for size in buffer.shape)
    return shape, tuple(stride.at(batch) for stride in buffer.strides), _TORCH[buffer.dtype]


def _fits(buffer: Buffer, tensor: Tensor, batch: int) -> bool:
    shape, strides, dtype = _layout(buffer, batch)
    if tensor.dtype != dtype or tuple(tensor.shape) != shape or 0 in shape:
        return False
    matters = [(own, wanted) for own, wanted, size in zip(tensor.stride(), strides, shape, strict=True) if size > 1]
    return all(own == wanted for own, wanted in matters)


def _ops_of(module: Any) -> str:
    """The ops of a graph module, which torch may run as fewer or more than the kernel's text says."""
    return " ".join(str(node.target) for node in module.graph.nodes if node.op == "call_function")


def _returns_tuple(module: Any) -> bool:
    """Whether a graph module returns a tuple."""
    (output,) = module.graph.find_nodes(op="output")
    return isinstance(output.args[0], tuple | list)

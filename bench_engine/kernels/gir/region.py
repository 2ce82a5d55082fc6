"""A part of a program that runs as one generated kernel, or as it was where that is faster.

The first call of each bucket of batch sizes decides: from the cache, or by measuring candidates on that call's inputs.
"""

import ctypes
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.gir import toolchain
from bench_engine.kernels.gir.codegen import function, unit
from bench_engine.kernels.gir.cost import caches, machine
from bench_engine.kernels.gir.ir import Buffer, GirError, Kernel
from bench_engine.kernels.gir.text import parse, to_text
from bench_engine.kernels.gir.traffic import traffic
from bench_engine.kernels.gir.tuning import Candidate, candidates, measure
from bench_engine.kernels.native import extension
from bench_engine.kernels.native.calling import nothing, quick
from bench_engine.kernels.native.extension import CompileError, CompilerMissingError
from bench_engine.kernels.native.watched import is_plain

_MOST_LAYOUTS = 100  # that a region remembers
_forked = False


def _after_fork() -> None:
    global _forked
    _forked = True


os.register_at_fork(after_in_child=_after_fork)  # OpenMP's threads do not survive a fork: a child uses one


@dataclass
class Decision:
    """What was decided for one bucket, and why; `winner` is None where the original stays."""

    bucket: int
    threads: int
    winner: str | None
    reason: str
    batch: int = 1
    original_us: float = 0.0
    tried: list[dict[str, Any]] = field(default_factory=list)
    kernel: Kernel | None = None
    call: Callable[..., Any] | None = None
    told: tuple[int, Any] = (0, ())  # to the C++ of it: address of the function, layouts of what it writes


def bucket_of(batch: int) -> int:
    """Batch sizes of one bucket share a kernel: up to 4, 16, 64, 256 ..."""
    bucket = 0
    while 4 << (2 * bucket) < batch:
        bucket += 1
    return bucket


class Region:
    """Calls like `original`, a function of tensors that returns a tensor or a tuple of them.

    Raises UnsupportedError for a kernel whose text cannot say a size.
    """

    def __init__(self, original: Callable[..., Any], kernel: Kernel) -> None:
        self.original = getattr(original, "forward", original)  # without the hooks of modules
        self.kernel = kernel
        self.several = _returns_tuple(original)
        self.text = to_text(kernel)
        self.decisions: dict[tuple[int, int], Decision] = {}
        self._fitting: set[Any] = set()  # layouts of inputs that were seen to fit
        self._batch = next(
            ((n, d, s) for n, b in enumerate(kernel.named("input")) for d, s in enumerate(b.shape) if s.batch), None
        )  # fmt: skip
        self.compiled = self._compiled()

    def __call__(self, *args: Any) -> Any:
        """The original's result. Index errors are raised by the original itself."""
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        if not self._fit(tensors):
            return self.original(*args)
        batch = self._batch_of(tensors)
        threads = 1 if _forked else torch.get_num_threads()
        place = (bucket_of(batch), threads)
        if place not in self.decisions:
            self.decisions[place] = self._decide(batch, threads, args)
            if self.compiled is not nothing:
                self.compiled.decide(*place, *self.decisions[place].told)
        return (self.decisions[place].call or self.original)(*args)

    def _compiled(self) -> Any:
        """Calls in C++ what is decided, and returns NotImplemented where nothing is."""
        module = extension.python_module_if_built()
        if module is None:
            return nothing
        place = None if self._batch is None else (*self._batch[:2], (self._batch[2].batch, self._batch[2].const))
        outputs = len(self.kernel.named("output"))
        return module.Region(self.original, _told(self.kernel.named("input")), place, outputs, self.several)

    def _batch_of(self, tensors: Sequence[Tensor]) -> int:
        """B for these arguments; 1 where nothing depends on it."""
        if self._batch is None:
            return 1
        number, dim, size = self._batch
        return int((tensors[number].shape[dim] - size.const) // size.batch)

    def _fit(self, tensors: Sequence[Tensor]) -> bool:
        """Whether the inputs are as the kernel was made for, no size is 0, and no gradient is to be recorded."""
        plain = all(map(is_plain, tensors)) and not (torch.is_grad_enabled() and any(t.requires_grad for t in tensors))
        laid_out = tuple((tensor.shape, tensor.stride(), tensor.dtype) for tensor in tensors)
        if plain and laid_out not in self._fitting and self._all_fit(tensors):
            self._fitting = {laid_out, *(self._fitting if len(self._fitting) < _MOST_LAYOUTS else ())}
        return plain and laid_out in self._fitting

    def _all_fit(self, tensors: Sequence[Tensor]) -> bool:
        inputs = self.kernel.named("input")
        if len(inputs) != len(tensors) or any(len(b.shape) != t.dim() for b, t in zip(inputs, tensors, strict=True)):
            return False
        batch = self._batch_of(tensors)
        return batch >= 1 and all(_fits(buffer, tensor, batch) for buffer, tensor in zip(inputs, tensors, strict=True))

    def _decide(self, batch: int, threads: int, args: Sequence[Any]) -> Decision:
        bucket = bucket_of(batch)
        name = toolchain.key(self.text, bucket, threads, self.compiled is not nothing)  # a call in C++ costs less
        try:
            kept = toolchain.find(name)
            if kept:
                return self._replayed(*kept)
            return self._inherited(batch) if _forked else self._tuned(name, batch, threads, args)
        except (CompileError, CompilerMissingError, GirError, OSError, AttributeError, KeyError) as error:
            reason = str(error).splitlines()[0]
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
            said["tried"],
        )  # fmt: skip
        if decision.winner is not None:
            decision.kernel = parse(said["kernel"])
            (compiled,) = toolchain.load(folder / "kernels.so", [decision.kernel.name])
            decision.told = _address(compiled), _told(_made(decision.kernel))
            decision.call = self.caller(decision.kernel, compiled, decision.threads, [decision.bucket])
        return decision

    def _tuned(self, name: str, batch: int, threads: int, args: Sequence[Any]) -> Decision:
        """Compiles the best candidates, measures them beside the original, and keeps what is found."""
        width = toolchain.vector_width()
        found = candidates(self.kernel, batch, threads, width, machine(threads))
        with toolchain.one_at_a_time(), tempfile.TemporaryDirectory() as folder:
            if kept := toolchain.find(name):  # another process has measured meanwhile
                return self._replayed(*kept)
            library = Path(folder) / "kernels.so"
            toolchain.compile_unit(unit([c.kernel for c in found], width), library)
            compiled = toolchain.load(library, [c.kernel.name for c in found])
            buckets = [bucket_of(batch)]
            callers = [self.caller(c.kernel, f, threads, buckets) for c, f in zip(found, compiled, strict=True)]
            times = measure([*(lambda call=call: call(*args) for call in [*callers, self.original])])
            best = min(range(len(found)), key=lambda n: times[n])
            last = measure([lambda: callers[best](*args), lambda: self.original(*args)])  # the two alone
            decision = self._decision(batch, threads, found, callers, times, last)
            own = ("kernel", "call", "told", "reason")
            said = {key: value for key, value in decision.__dict__.items() if key not in own}
            if decision.kernel is not None:
                said["kernel"] = to_text(decision.kernel)
                decision.told = _address(compiled[best]), _told(_made(decision.kernel))
            toolchain.keep(name, said, library if decision.winner is not None else None)
        return decision

    def _decision(
        self,
        batch: int,
        threads: int,
        found: list[Candidate],
        callers: list[Callable[..., Any]],
        times: list[float],
        last: list[float],
    ) -> Decision:
        """From the times of all in the same turns, and those of the best and the original alone, which decide."""
        own, original = last
        best = min(range(len(found)), key=lambda n: times[n])
        tried = [
            {"candidate": c.name, "predicted_us": round(c.predicted_us, 2), "measured_us": round(t, 2)}
            for c, t in zip(found, times, strict=False)
        ]
        decision = Decision(bucket_of(batch), threads, None, "the original is faster", batch, original, tried)
        if own < original:
            decision.winner, decision.reason = found[best].name, "measured faster than the original"
            decision.kernel, decision.call = found[best].kernel, callers[best]
        return decision

    def caller(
        self, kernel: Kernel, function: toolchain.Function, threads: int, buckets: Sequence[int] = ()
    ) -> Callable[..., Any]:
        """What allocates the outputs and calls a compiled function on them: in C++ for batch sizes of these buckets."""
        made, count = _made(kernel), len(kernel.named("output"))

        def call(*args: Any) -> Any:
            tensors = [arg for arg in args if isinstance(arg, Tensor)]
            batch = self._batch_of(tensors)
            own = []
            for shape, strides, dtype in (_layout(buffer, batch) for buffer in made):
                own.append(torch.empty_strided(shape, strides, dtype=dtype))
            if function(toolchain.pointers(tensors + own), batch, 1 if _forked else threads):
                return self.original(*args)  # which raises torch's own error for the index
            return tuple(own[:count]) if self.several else own[0]

        compiled = self._compiled()
        if compiled is nothing:
            return call
        for bucket in buckets:
            compiled.decide(bucket, threads, _address(function), _told(made))
        return quick(compiled, call)

    def report(self) -> str:
        """Bytes before and after, candidates, winner and its source, for each bucket that has been decided."""
        return "\n".join(self._reported(decision) for decision in self.decisions.values())

    def _reported(self, decision: Decision) -> str:
        before = traffic(self.kernel, decision.batch, caches())
        lines = [
            f"bucket {decision.bucket} (batch {decision.batch}), {decision.threads} threads: "
            f"{decision.winner or 'original'}, {decision.reason}",
            "bytes before: " + _bytes(before),
        ]
        if decision.kernel is not None:
            lines.append("bytes after:  " + _bytes(traffic(decision.kernel, decision.batch, caches())))
        if decision.tried:
            lines.append(f"original: {decision.original_us:.1f} µs")
        lines += [
            f"  {t['candidate']}: predicted {t['predicted_us']:.1f} µs, measured {t['measured_us']:.1f} µs"
            for t in decision.tried
        ]
        if decision.kernel is not None:
            lines += ["", to_text(decision.kernel), function(decision.kernel)]
        return "\n".join(lines)


def _bytes(moved: dict[str, int]) -> str:
    return ", ".join(f"{level} {count:,}" for level, count in moved.items())


def _made(kernel: Kernel) -> list[Buffer]:
    """What a kernel writes: outputs, then temps in memory."""
    return [*kernel.named("output"), *(buffer for buffer in kernel.named("temp") if buffer.place == "memory")]


def _told(buffers: Sequence[Buffer]) -> tuple[Any, ...]:
    """Layouts as csrc/python/region.h has them."""
    return tuple(
        (_TORCH[b.dtype], *(tuple((size.batch, size.const) for size in sizes) for sizes in (b.shape, b.strides)))
        for b in buffers
    )


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


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


def _returns_tuple(module: Any) -> bool:
    """Whether a graph module returns a tuple."""
    (output,) = module.graph.find_nodes(op="output")
    return isinstance(output.args[0], tuple | list)

"""A part of a program that runs as one generated kernel, or as it was where that is faster.

The first call of each bucket of batch sizes decides: from the cache, or by measuring candidates on that call's inputs.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.gir import toolchain
from bench_engine.kernels.gir.ir import Buffer, GirError, Kernel
from bench_engine.kernels.gir.text import parse, to_text
from bench_engine.kernels.gir.traffic import traffic
from bench_engine.kernels.gir.tuning import BACKENDS, Candidate
from bench_engine.kernels.native.extension import CompileError, CompilerMissingError

_TOLERANCE = 1e-4  # of an element, and of the largest one: sums in another order
_DIFFERS = "its result differs from the original's"


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

    def __init__(self, original: Callable[..., Any], kernel: Kernel, device: str = "cpu") -> None:
        self.original = original
        self.kernel = kernel
        self.backend = BACKENDS[device]
        self.text = to_text(kernel)
        self.decisions: dict[tuple[int, int], Decision] = {}
        self._checked: dict[tuple[int, int], Callable[..., Any]] = {}
        self._tensors: list[int] | None = None
        inputs = kernel.named("input")
        self._batch = next(
            ((n, d, s) for n, b in enumerate(inputs) for d, s in enumerate(b.shape) if s.batch), None
        )  # fmt: skip

    def __call__(self, *args: Any) -> Any:
        """The original's result. Index errors are raised by the original itself."""
        batch = self.batch_of(args)
        call = self._checked.get((batch, torch.get_num_threads()))
        return (call or self._first(batch, args))(*args)

    def batch_of(self, args: Sequence[Any]) -> int:
        """B for these arguments; 1 where nothing depends on it."""
        if self._batch is None:
            return 1
        number, dim, size = self._batch
        tensors = [arg for arg in args if isinstance(arg, Tensor)] if self._tensors is None else args
        return int((tensors[number].shape[dim] - size.const) // size.batch)

    def _first(self, batch: int, args: Sequence[Any]) -> Callable[..., Any]:
        """Decides for a batch size that has not been seen with this number of threads."""
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        if not self._fit(tensors, batch):
            return self.original
        threads = toolchain.threads(torch.get_num_threads())
        place = (bucket_of(batch), threads)
        if place not in self.decisions:
            self.decisions[place] = self._decide(batch, threads, args)
        decision = self.decisions[place]
        call = decision.call or self.original
        self._checked[batch, torch.get_num_threads()] = call
        return call

    def _fit(self, tensors: Sequence[Tensor], batch: int) -> bool:
        """Whether the inputs are as the kernel was made for, and no size is 0."""
        inputs = self.kernel.named("input")
        if not tensors or len(inputs) != len(tensors) or batch < 1:
            return False
        if len({tensor.device for tensor in tensors}) > 1 or tensors[0].device.type != self.backend.device:
            return False
        return all(_fits(buffer, tensor, batch) for buffer, tensor in zip(inputs, tensors, strict=True))

    def _decide(self, batch: int, threads: int, args: Sequence[Any]) -> Decision:
        bucket = bucket_of(batch)
        try:
            name = toolchain.key(self.text, bucket, self.backend.language, self.backend.key(threads))
            kept = toolchain.find(name)
            return self._replayed(*kept) if kept else self._tuned(name, batch, threads, args)
        except (CompileError, CompilerMissingError, GirError, OSError, AttributeError, KeyError, ImportError) as error:
            reason = str(error).splitlines()[0]
            return Decision(bucket, threads, None, reason, batch)

    def _replayed(self, said: dict[str, Any], folder: Path) -> Decision:
        decision = Decision(
            said["bucket"], said["threads"], said["winner"], "kept from before", said["batch"], said["original_us"],
            said["tried"],
        )  # fmt: skip
        if decision.winner is not None:
            decision.kernel = parse(said["kernel"])
            (compiled,) = self.backend.load([decision.kernel], folder)
            decision.call = self.caller(decision.kernel, compiled, decision.threads)
        return decision

    def _tuned(self, name: str, batch: int, threads: int, args: Sequence[Any]) -> Decision:
        """Compiles the best candidates, measures them beside the original, and keeps what is found."""
        found = self.backend.candidates(self.kernel, batch, threads)
        with toolchain.one_at_a_time(), tempfile.TemporaryDirectory() as folder:
            if kept := toolchain.find(name):  # another process has measured meanwhile
                return self._replayed(*kept)
            library = Path(folder) / "kernels.so"
            compiled = self.backend.build([c.kernel for c in found], Path(folder))
            wanted, right, wrong = self.original(*args), [], []
            for candidate, function in zip(found, compiled, strict=True):
                call = self.caller(candidate.kernel, function, threads, checked=True)
                (right if _agrees(call, args, wanted) else wrong).append((candidate, function))
            differ = [{"candidate": c.name, "predicted_us": round(c.predicted_us, 2)} for c, _ in wrong]
            found = [candidate for candidate, _ in right]
            callers = [self.caller(candidate.kernel, function, threads) for candidate, function in right]
            if not found:
                return Decision(bucket_of(batch), threads, None, _DIFFERS, batch, 0.0, differ)
            measure = self.backend.measure
            times = measure([*(lambda call=call: call(*args) for call in [*callers, self.original])])
            best = min(range(len(found)), key=lambda n: times[n])
            last = measure([lambda: callers[best](*args), lambda: self.original(*args)])  # the two alone
            times = [*times[:best], last[0], *times[best + 1 : -1], last[1]]
            decision = self._decision(batch, threads, found, callers, times)
            decision.tried += differ
            said = {key: value for key, value in decision.__dict__.items() if key not in ("kernel", "call", "reason")}
            if decision.kernel is not None:
                said["kernel"] = to_text(decision.kernel)
            toolchain.keep(name, said, library if decision.winner is not None and library.exists() else None)
        return decision

    def _decision(
        self, batch: int, threads: int, found: list[Candidate], callers: list[Callable[..., Any]], times: list[float]
    ) -> Decision:
        original = times[-1]
        best = min(range(len(found)), key=lambda n: times[n])
        tried = [
            {"candidate": c.name, "predicted_us": round(c.predicted_us, 2), "measured_us": round(t, 2)}
            for c, t in zip(found, times, strict=False)
        ]
        fine = times[best] < float("inf")
        reason = "the original is faster" if fine else f"no kernel ran: {self.backend.refused}"
        decision = Decision(bucket_of(batch), threads, None, reason, batch, original, tried)
        if times[best] < original:
            decision.winner, decision.reason = found[best].name, "measured faster than the original"
            decision.kernel, decision.call = found[best].kernel, callers[best]
        return decision

    def caller(
        self, kernel: Kernel, compiled: toolchain.Function, threads: int, checked: bool = False
    ) -> Callable[..., Any]:
        """What allocates the outputs and calls a compiled function on them; `checked`: elements never written are NaN.

        Memory that was just freed may hold the right values.
        """
        outputs = kernel.named("output")
        made = [*outputs, *self.backend.scratch(kernel, compiled)]
        run = self.backend.bound(compiled, threads)
        original, count, batch_of = self.original, len(outputs), self.batch_of
        several = _returns_tuple(original)
        fixed = None if self._batch is not None else [_layout(buffer, 1) for buffer in made]

        def call(*args: Any) -> Any:
            batch = 1 if fixed else batch_of(args)
            tensors = [arg for arg in args if isinstance(arg, Tensor)]
            device = tensors[0].device
            own = [
                torch.empty_strided(shape, strides, dtype=dtype, device=device)
                for shape, strides, dtype in fixed or [_layout(buffer, batch) for buffer in made]
            ]
            if checked:
                for tensor in own:
                    tensor.fill_(float("nan") if tensor.is_floating_point() else -1)
            if run(tensors + own, batch):
                return original(*args)  # which raises torch's own error for the index
            return tuple(own[:count]) if several else own[0]

        return call

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
        lines += [
            f"  {t['candidate']}: predicted {t['predicted_us']:.1f} µs, "
            + (f"measured {t['measured_us']:.1f} µs" if "measured_us" in t else _DIFFERS)
            for t in decision.tried
        ]
        if decision.kernel is not None:
            lines += ["", to_text(decision.kernel), self.backend.source(decision.kernel)]
        return "\n".join(lines)


def _agrees(call: Callable[..., Any], args: Sequence[Any], wanted: Any) -> bool:
    """Whether a candidate's result is the original's; where it raises, measuring says why."""
    try:
        found = call(*args)
    except Exception:
        return True
    pairs = [(found, wanted)] if isinstance(wanted, Tensor) else zip(found, wanted, strict=True)
    return all(_close(one, other) for one, other in pairs)


def _close(found: Tensor, wanted: Tensor) -> bool:
    finite = wanted[wanted.isfinite()]
    scale = max(float(finite.abs().max()), 1.0) if finite.numel() else 1.0
    return torch.allclose(found, wanted, rtol=_TOLERANCE, atol=_TOLERANCE * scale, equal_nan=True)


def _bytes(moved: dict[str, int]) -> str:
    return ", ".join(f"{level} {count:,}" for level, count in moved.items())


_TORCH = {"f32": torch.float32, "i64": torch.int64, "i32": torch.int32}


def _layout(buffer: Buffer, batch: int) -> tuple[tuple[int, ...], tuple[int, ...], torch.dtype]:
    shape = tuple(size.at(batch) for size in buffer.shape)
    return shape, tuple(stride.at(batch) for stride in buffer.strides), _TORCH[buffer.dtype]


def _fits(buffer: Buffer, tensor: Tensor, batch: int) -> bool:
    shape, strides, dtype = _layout(buffer, batch)
    plain = type(tensor) in (Tensor, torch.nn.Parameter)
    if not plain or tensor.dtype != dtype or tuple(tensor.shape) != shape or 0 in shape:
        return False
    matters = [(own, wanted) for own, wanted, size in zip(tensor.stride(), strides, shape, strict=True) if size > 1]
    return all(own == wanted for own, wanted in matters)


def _returns_tuple(module: Any) -> bool:
    """Whether a graph module returns a tuple."""
    (output,) = module.graph.find_nodes(op="output")
    return isinstance(output.args[0], tuple | list)

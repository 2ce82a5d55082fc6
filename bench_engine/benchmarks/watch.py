"""Is a method still right while it is timed, and after it?

What is compared before the clock starts says nothing of the sixtieth call. So a Watch calls the method between two
samples of turns that are drawn by chance, outside the clock, just as the timed calls do: on a request of the rotation
whose ids it has put into another order in place, so that the same rows are read and no output is known yet, and on one
that it called before. It keeps some bags of the outputs; what they should be is computed after the last turn, so that
no float64 reference disturbs the caches or counts as the method's memory. Then come ids that the method never saw.

What it finds, beside outputs that are wrong:

- an output that a later call changes: it was a view of a buffer;
- an output that the method keeps: what the Watch wrote into it came back;
- a request or weights that a call has written to;
- outputs remembered by the content of requests, where nine calls in ten on ids in a new order take more than REMEMBERED
  times as long as one on ids in a known order beside it, in LEAST_PAIRS pairs or more;
- a gradient that is no longer the one that was compared with float64.

Chance comes from the system, not from the trial's seed, which a method could know. A method that is wrong in one call
of n, at random, is found with probability 1 - (1 - 1/n)^checks; how many there were is in the trial's environment.
"""

import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench_engine.benchmarks.modules import DEVICE, DTYPE

MOST_ELEMENTS = 2**20  # of the vectors that a kept output sums
PROBING_SHARE, LEAST_PROBES = (
    0.05,
    2,
)  # of the time since the first turn that checks in turns may take; how many do not ask
SPOT_BAGS = 8
MOST_KEPT = 16  # outputs; of more a random choice
HELD_BYTES = 2**20  # a larger output is not held between checks, where it would count as the method's memory
FEW_IDS = 64  # too few to be put into an order that was not there yet
REMEMBERED, LEAST_PAIRS = 2.0, 8
LONG_NS = 1_000_000  # a call that is as long needs none before it
PAIRING_S = 0.2  # for what is lacking of the pairs after the last turn
GRADIENT_ELEMENTS = 2**14  # of each parameter, compared again in turns
GRADIENT_NORM = 1e-3  # share that the norm of a gradient may be off from that of the same request before
_MARKS = 1e20, 2e20
_PART = 2**22  # elements whose bits are added up at once: torch makes int64 of them first

Compare = Callable[[str, Tensor, Tensor, int], float]


class WrongResultError(ArithmeticError):
    """The method's output or gradient is not the reference's, or it does what no method may."""


class Subject(ABC):
    """A method with its requests, as the benchmark that times it knows them. A request is a tuple of tensors whose
    first dimension are the bags: ids int64 (B, L), and what else there is."""

    terms = 1  # numbers that an element of an output sums
    compare: Compare

    @abstractmethod
    def prepare(self, request: Sequence[Tensor]) -> Any:
        """The request as the timed call takes it."""

    @abstractmethod
    def call(self, prepared: Any) -> Any:
        """The timed call's output, as the method gives it."""

    def tensors(self, output: Any) -> list[Tensor]:
        """The output as tensors, which side by side, as `flat` has them, are the whole."""
        return [output] if isinstance(output, Tensor) else list(output)

    def fault(self, parts: Sequence[Tensor], bags: int) -> str:
        """What is wrong with the tensors of an output for so many bags; empty where they are what they should be."""
        for part in parts:
            if type(part) is not Tensor or part.device.type != DEVICE or str(part.dtype) != f"torch.{DTYPE}":
                found = f"{type(part).__name__} {str(getattr(part, 'dtype', '')).removeprefix('torch.')}".strip()
                where = f" on {part.device}" if isinstance(part, Tensor) else ""
                return f"is a {found}{where}, not a Tensor {DTYPE} on {DEVICE}"
            if part.dim() != 2 or len(part) != bags:
                return f"has shape {tuple(part.shape)} for {bags} bags"
        return ""

    def flat(self, parts: Sequence[Tensor]) -> list[Tensor]:
        """The tensors of an output as (B, n), in the same memory where that can be."""
        return list(parts)

    @property
    def most_kept(self) -> int:
        """How many outputs are kept until they are compared; of more a random choice."""
        return MOST_KEPT

    @abstractmethod
    def expected(self, request: Sequence[Tensor]) -> Tensor:
        """The output in float64, side by side (B, n)."""

    @abstractmethod
    def unseen(self, seed: int) -> tuple[Tensor, ...]:
        """A request of the same kind with other ids."""

    @abstractmethod
    def weights(self) -> Sequence[Tensor]:
        """What calls must leave as it is."""

    def backward(self, output: Any) -> None:  # noqa: B027
        """What is timed beside the call; by default nothing."""

    def gradients(self) -> list[tuple[str, Tensor]]:
        """Names and gradients after `backward`; by default none."""
        return []

    def forget_gradients(self) -> None:  # noqa: B027
        """Drops them."""

    def gradient_error(self, request: Sequence[Tensor], what: str) -> float:
        """Largest difference of the gradients for a request from float64 ones. Raises WrongResultError."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Kept:
    """Some bags of an output: when it was given, which they are, their request, and what was given."""

    when: str
    bags: Tensor | slice
    request: tuple[Tensor, ...]
    output: Tensor


def _timing(check: Callable[..., Any]) -> Callable[..., Any]:
    """A check that adds the time it takes to `seconds`."""

    @wraps(check)
    def timed(watch: "Watch", *arguments: Any) -> Any:
        start = time.perf_counter()
        found = check(watch, *arguments)
        watch.seconds += time.perf_counter() - start
        return found

    return timed


class Watch:
    """Watches one method. `probe` is for a Sampler, `before` and `after` are called around its turns."""

    def __init__(
        self,
        subject: Subject,
        requests: Sequence[Sequence[Tensor]],
        ready: list[Any],
        *,
        padding: int | None = None,
        flush: Callable[[], object] | None = None,
    ) -> None:
        """Args:
        subject: the method.
        requests: what is in rotation; their ids are written to.
        ready: the same as they were prepared; what the timed call reads at the time it is called.
        padding: id that stays where it is.
        flush: empties the caches before a call, for cold timings.
        """
        self._subject, self._requests, self._ready = subject, [tuple(r) for r in requests], ready
        self._padding, self._flush = padding, flush
        self._rng = np.random.default_rng()
        self._mark = float(np.float32(self._rng.uniform(*_MARKS)))  # what is written into outputs
        self._sums = [self._sum(slot) for slot in range(len(ready))]
        self._kept: list[_Kept] = []
        self._last: tuple[int, _Kept] | None = None
        self._held: list[tuple[Tensor, Tensor]] = []
        self._new_ns: list[int] = []
        self._seen_ns: list[int] = []
        self._gradients: list[tuple[str, Tensor, Tensor, float]] = []
        self._weights: list[int] = []
        self.checks = 0  # in turns
        self.seconds = 0.0
        self._probing_s, self._since = 0.0, 0.0

    def told(self) -> dict[str, float | int]:
        """For the trial's environment: the checks in its turns, and the seconds that all its checks took."""
        return {"checks_in_turns": self.checks, "checks_s": round(self.seconds, 4)}

    @_timing
    def before(self) -> None:
        """Raises WrongResultError where an output is no plain tensor of its own."""
        with torch.no_grad():
            self._weights = self._weight_sums()
            one = self._subject.call(self._ready[0])  # lives while the other is made
            first = self._parts(one, len(self._requests[0][0]), "")
            copies = [part.clone() for part in first]
            slot = len(self._ready) // 2
            other = self._subject.call(self._ready[slot])
            self._parts(other, len(self._requests[slot][0]), "")
            both = self._subject.tensors(one), self._subject.tensors(other)
            if set.intersection(*map(_places, both)):
                raise WrongResultError("gives its outputs in a buffer that later calls change: two are in one memory.")
            self._hold(first, copies)
            self._let_go("")
            self._same(self._output(0, ""), copies, "")
        self._check_written("before it was timed")
        if self._backward(0):
            self._gradients = list(self._gradient_marks())
            self._subject.forget_gradients()

    @_timing
    def probe(self, turn: int, calls: int) -> None:
        """Check between two samples, in turn `turn` after so many timed calls. Raises WrongResultError."""
        begin = time.perf_counter()
        self._since = self._since or begin
        if self.checks >= LEAST_PROBES and self._probing_s > PROBING_SHARE * (begin - self._since):
            return
        when = f" in turn {turn}, after {calls} calls,"
        self.checks += 1
        slot = int(self._rng.integers(1, len(self._ready))) if len(self._ready) > 1 else 0
        self._pair(slot, when)
        if self._gradients:
            self._backward(0)
            self._check_gradients(when)
            self._subject.forget_gradients()
        self._probing_s += time.perf_counter() - begin

    @_timing
    def spot(self, turn: int, calls: int) -> None:
        """As `probe`, where weights move between calls: a few bags of one request against the rows as they stand now.
        Raises WrongResultError."""
        self.checks += 1
        when = f" in turn {turn}, after {calls} calls,"
        slot = int(self._rng.integers(len(self._ready)))
        self._check_request(slot, when)
        bags = self._rng.integers(len(self._requests[slot][0]), size=SPOT_BAGS)
        request = tuple(t[bags] for t in self._requests[slot])
        with torch.no_grad():
            parts = self._parts(self._subject.call(self._subject.prepare(request)), SPOT_BAGS, when)
            self._error(self._keep(parts, request, when))

    @_timing
    def after(self) -> list[float]:
        """The largest differences, those on ids that the method has not seen among them. Raises WrongResultError."""
        subject, when = self._subject, " after its last turn, on ids that it had not seen,"
        with torch.no_grad():
            self._let_go(" in its turns")
        self._check_written("while it was timed")
        until = time.perf_counter() + PAIRING_S
        while len(self._seen_ns) < LEAST_PAIRS and time.perf_counter() < until:
            self._pair(len(self._seen_ns) % len(self._ready), " after its last turn")
        errors = [self._error(kept) for kept in self._kept]
        request = subject.unseen(int(self._rng.integers(2**31)))
        with torch.no_grad():
            parts = self._parts(subject.call(subject.prepare(request)), len(request[0]), when)
            errors.append(self._error(self._keep(parts, request, when)))
        if self._gradients:
            errors.append(subject.gradient_error(request, when))
        self._check_memory_of_outputs()
        return errors

    # -- calls -----------------------------------------------------------------------------------------------------

    def _pair(self, slot: int, when: str) -> None:
        """A call on a new order of ids, and one on what was checked last, in an order drawn by chance."""
        with torch.no_grad():
            self._let_go(when)
        last = self._last
        if last and (known_first := self._rng.random() < 0.5 or last[0] == slot):
            self._known(*last, when)
        self._new(slot, when)
        if last and not known_first:
            self._known(*last, when)

    def _known(self, slot: int, kept: _Kept, when: str) -> None:
        """The request that was checked last, which was timed since."""
        self._check_request(slot, when)
        output = self._timed(slot, self._seen_ns)
        with torch.no_grad():
            parts = self._parts(output, len(self._requests[slot][0]), when)
            self._same([side_by_side(parts)[kept.bags]], [kept.output], when)
        self._finish(output)

    def _new(self, slot: int, when: str) -> None:
        """A request whose ids have an order that was not there before."""
        self._renew(slot, when)
        output = self._timed(slot, self._new_ns)
        with torch.no_grad():
            parts = self._parts(output, len(self._requests[slot][0]), when)
            kept = self._keep(parts, self._requests[slot], when)
        self._finish(output)
        with torch.no_grad():
            self._hold(parts, None)
        self._last = slot, kept
        if len(self._kept) < (most := self._subject.most_kept):
            self._kept.append(kept)
        elif (place := int(self._rng.integers(self.checks))) < most:  # a uniform choice of all (reservoir)
            self._kept[place] = kept

    def _timed(self, slot: int, times: list[int]) -> Any:
        """The call on a request, after one on another that brings code and caches to where timed calls have them."""
        prepared = self._ready[slot]
        if self._flush is not None:
            self._flush()
        elif not times or times[-1] < LONG_NS:
            self._finish(self._subject.call(self._ready[(slot + len(self._ready) // 2) % len(self._ready)]))
        start = time.perf_counter_ns()
        output = self._subject.call(prepared)
        times.append(time.perf_counter_ns() - start)
        return output

    def _finish(self, output: Any) -> None:
        """The rest of what is timed."""
        if torch.is_grad_enabled() and self._gradients:
            self._subject.backward(output)
            self._subject.forget_gradients()

    def _output(self, slot: int, when: str) -> list[Tensor]:
        return self._parts(self._subject.call(self._ready[slot]), len(self._requests[slot][0]), when)

    def _backward(self, slot: int) -> bool:
        """Gradients of a request; whether there are any."""
        if not torch.is_grad_enabled():
            return False
        self._subject.backward(self._subject.call(self._ready[slot]))
        return bool(self._subject.gradients())

    # -- what is found ---------------------------------------------------------------------------------------------

    def _parts(self, output: Any, bags: int, when: str) -> list[Tensor]:
        """The tensors of an output. Raises WrongResultError unless they are what they are said to be."""
        if output is None:
            raise WrongResultError(f"is wrong: its output{when} is None.")
        parts = self._subject.tensors(output)
        if fault := self._subject.fault(parts, bags):
            raise WrongResultError(f"is wrong: its output{when} {fault}.")
        return self._subject.flat(parts)

    def _hold(self, parts: Sequence[Tensor], copies: Sequence[Tensor] | None) -> None:
        if copies is None and sum(part.nbytes for part in parts) > HELD_BYTES:
            self._spoil(parts)
            return
        self._held = list(zip(parts, copies or [part.clone() for part in parts], strict=True))

    def _let_go(self, when: str) -> None:
        """Outputs that were held must be as they were; then they are spoilt. Raises WrongResultError."""
        held, self._held = self._held, []
        if not all(torch.equal(part, copy) or bool(part.isnan().any() and copy.isnan().any()) for part, copy in held):
            raise WrongResultError(
                f"gives its outputs in a buffer that later calls change: one was no longer the same{when.rstrip(',')}."
            )
        self._spoil([part for part, _ in held])

    def _spoil(self, parts: Sequence[Tensor]) -> None:
        """As a caller may: an output is the caller's."""
        for part in parts:
            if part.is_contiguous() and (mark := self._mark_in(part.dtype)) is not None:
                part.detach().fill_(mark)

    def _mark_in(self, dtype: torch.dtype) -> float | None:
        """The mark as numbers of a type have it; None where it would be nothing out of the common."""
        if dtype.is_floating_point:
            return min(self._mark, torch.finfo(dtype).max * self._mark / _MARKS[1])
        # Of a byte no value is rare.
        return None if dtype.is_complex or dtype.itemsize == 1 else torch.iinfo(dtype).max - 1

    def _same(self, parts: Sequence[Tensor], before: Sequence[Tensor], when: str) -> None:
        for part, copy in zip(parts, before, strict=True):
            mark = self._mark_in(part.dtype)
            if mark is not None and (part == mark).any() and not (copy == mark).any():  # which may be right, too
                raise WrongResultError(
                    f"keeps outputs and gives them again: what a caller wrote into one came back{when.rstrip(',')}."
                )
            if part.shape == copy.shape:
                self._subject.compare(
                    f"output{when or ' of the same request again'}", part, copy.double(), self._subject.terms
                )
            else:
                raise WrongResultError(f"is wrong: its output{when} has {part.size(1)} columns, not {copy.size(1)}.")

    def _keep(self, parts: Sequence[Tensor], request: Sequence[Tensor], when: str) -> _Kept:
        count = len(request[0])
        width = sum(part.size(1) for part in parts)
        ids = sum(t.size(1) for t in request if t.dtype == torch.int64)
        most = max(1, MOST_ELEMENTS // max(1, width * max(1, ids // len(parts))))
        bags = torch.from_numpy(self._rng.choice(count, most, replace=False)) if most < count else slice(None)
        kept = tuple(t[bags].clone() for t in request)
        return _Kept(when, bags, kept, side_by_side([part[bags] for part in parts]).detach().clone())

    def _error(self, kept: _Kept) -> float:
        with torch.no_grad():
            wanted = self._subject.expected(kept.request)
        return self._subject.compare(f"output{kept.when}", kept.output, wanted, self._subject.terms)

    def _check_memory_of_outputs(self) -> None:
        pairs = min(len(self._new_ns), len(self._seen_ns))
        if pairs < LEAST_PAIRS:
            return
        # The first new request was checked when nothing was seen yet.
        slower = np.array(self._new_ns[-pairs:]) / np.maximum(1, self._seen_ns[-pairs:])
        if np.quantile(slower, 0.1) > REMEMBERED:
            raise WrongResultError(
                f"remembers outputs by their requests: where the same ids come in another order it takes "
                f"{np.median(slower):.1f} times as long as where they come as before."
            )

    # -- gradients -------------------------------------------------------------------------------------------------

    def _gradient_marks(self) -> Iterator[tuple[str, Tensor, Tensor, float]]:
        """Name, places, values there and norm of each gradient: most places are among those that are not 0."""
        for name, gradient in self._subject.gradients():
            flat = gradient.detach().reshape(-1)
            places = flat.nonzero().reshape(-1)
            if len(places) > GRADIENT_ELEMENTS:
                places = places[torch.from_numpy(self._rng.choice(len(places), GRADIENT_ELEMENTS, replace=False))]
            yield name, places, flat[places].clone(), _norm(flat)

    def _check_gradients(self, when: str) -> None:
        found = dict(self._subject.gradients())
        for name, places, values, norm in self._gradients:
            if (gradient := found.get(name)) is None:
                raise WrongResultError(f"is wrong: its gradient of {name}{when} is not there.")
            flat = gradient.detach().reshape(-1)
            now = flat[places]
            off, size = _norm(now - values), _norm(values)
            if not (off <= GRADIENT_NORM * size and abs(_norm(flat) - norm) <= GRADIENT_NORM * norm):
                raise WrongResultError(
                    f"is wrong: its gradient of {name}{when} is no longer that of the same request before it was "
                    f"timed: {off:.3g} off, where the norm was {size:.3g}."
                )

    # -- requests and weights --------------------------------------------------------------------------------------

    def _renew(self, slot: int, when: str) -> None:
        """Put the ids of a request into another order, in place."""
        self._check_request(slot, when)
        request = self._requests[slot]
        count = sum(t.numel() for t in request if t.dtype == torch.int64)
        drawn = self._subject.unseen(int(self._rng.integers(2**31))) if count < FEW_IDS else None
        for place, tensor in enumerate(request):
            if tensor.dtype == torch.int64:
                tensor.copy_(self._shuffled(tensor) if drawn is None else drawn[place])
        anew = self._subject.prepare(request)
        if not _overwritten(self._ready[slot], anew):
            self._ready[slot] = anew
        self._sums[slot] = self._sum(slot)

    def _shuffled(self, ids: Tensor) -> Tensor:
        flat = ids.numpy().reshape(-1).copy()
        free = np.flatnonzero(flat != self._padding) if self._padding is not None else np.arange(len(flat))
        flat[free] = flat[self._rng.permutation(free)]
        return torch.from_numpy(flat).view(ids.shape)

    def _sum(self, slot: int) -> int:
        total = 0
        for array in (*map(_array, self._requests[slot]), *arrays(self._ready[slot])):
            total = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, total)
        return total

    def _check_request(self, slot: int, when: str) -> None:
        if self._sum(slot) != self._sums[slot]:
            raise WrongResultError(f"writes into its request: one of the rotation was changed{when.rstrip(',')}.")

    def _check_written(self, when: str) -> None:
        for slot in range(len(self._ready)):
            self._check_request(slot, f" {when}")
        if self._weight_sums() != self._weights:
            raise WrongResultError(f"writes into its own weights: calls changed them {when}.")

    def _weight_sums(self) -> list[int]:
        """A number for the bits of each tensor; where they change and it does not, changes cancel out."""
        kinds = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
        return [
            sum(
                int(part.sum(dtype=torch.int64))
                for part in t.detach().reshape(-1).view(kinds[t.element_size()]).split(_PART)
            )
            for t in self._subject.weights()
        ]


def side_by_side(parts: Sequence[Tensor]) -> Tensor:
    """Tensors (B, n) as one."""
    if len({part.dtype for part in parts}) > 1:  # whole numbers do not fit into half precision
        parts = [part.double() for part in parts]
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), 1)


def _places(parts: Sequence[Tensor]) -> set[int]:
    """Where tensors lie in memory."""
    return {part.untyped_storage().data_ptr() for part in parts if part.layout == torch.strided and part.numel()}


def _norm(tensor: Tensor) -> float:
    return float(torch.linalg.vector_norm(tensor, dtype=torch.float64))


def _array(tensor: Tensor) -> np.ndarray:
    array: np.ndarray = (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).detach().numpy()
    return array


def arrays(prepared: Any) -> Iterator[np.ndarray]:
    """The arrays of numbers that a prepared request holds, as far as they can be looked into."""
    if isinstance(prepared, Tensor):
        yield from (_array(prepared),) if prepared.layout == torch.strided else ()
    elif isinstance(prepared, np.ndarray):
        yield prepared
    elif isinstance(prepared, dict):
        for value in prepared.values():
            yield from arrays(value)
    elif isinstance(prepared, list | tuple):
        for value in prepared:
            yield from arrays(value)


def _others(prepared: Any) -> list[Any]:
    """What a prepared request holds beside such arrays: plain values, and of anything else which object it is."""
    if isinstance(prepared, np.ndarray) or (isinstance(prepared, Tensor) and prepared.layout == torch.strided):
        return []
    if isinstance(prepared, dict):
        return [*prepared, *(other for value in prepared.values() for other in _others(value))]
    if isinstance(prepared, list | tuple):
        return [other for value in prepared for other in _others(value)]
    return [prepared if prepared is None or isinstance(prepared, int | float | str | bytes) else id(prepared)]


def _overwritten(old: Any, new: Any) -> bool:
    """Whether all of a prepared request could be written into the place of another, so that it comes at the same
    addresses."""
    to, what = list(arrays(old)), list(arrays(new))
    if not to or _others(old) != _others(new):
        return False
    kinds = [[(a.shape, a.dtype) for a in of_one] for of_one in (to, what)]
    if kinds[0] != kinds[1] or not all(a.flags.writeable for a in to):
        return False
    for place, values in zip(to, what, strict=True):
        place[...] = values
    return True

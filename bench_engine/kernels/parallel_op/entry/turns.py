"""A model that is never slower: untouched and grouped take turns on real calls, then the faster one is kept.

Both give right answers, so measuring costs no extra work. The choice is made per bucket of calls that are alike: sizes
of the arguments to a power of two, type and device, gradients, inference, training, threads, autocast. Where
deterministic algorithms are asked for nothing is timed, since the faster side may be another one in the next run.
"""

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fx import _symbolic_trace
from torch.nn.modules import module as module_hooks

from bench_engine.kernels.parallel_op.entry.kept_sides import Remembered
from bench_engine.kernels.parallel_op.entry.summary import Choice, Summary

if TYPE_CHECKING:
    from bench_engine.kernels.parallel_op.entry.captured import Entered
    from bench_engine.kernels.parallel_op.entry.serving import Serving

# Before the turns: grouped compiles in its first call, and the op measures its own ways until it has settled on one.
_SHORTEST_WARM_UP, _LONGEST_WARM_UP = 2, 200
# Two calls that do not count, then Thue and Morse's order: neither side always has the first call of a step.
_ORDER = (0, 1, *(0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1))
# Three sides: a call of each that does not count, then all orders of the three, and those in reverse.
_ORDER_OF_THREE = (0, 1, 2, *(0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 2, 1, 1, 0, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0))
# Whole steps decide where the worse side's take so much longer; else they cannot be told apart, but calls can.
_STEPS_DIFFER = 1.05
_CALLS_BETWEEN_TRIALS = 500
_SIDES = ("untouched", "grouped", "compiled")
# What to be served costs above a compiled call, at least: µs of a call and of a lookup, and bytes a µs of the vectors
# that are copied where they are concatenated. Seconds that the first graph takes are told by who compiles.
_SERVED_US, _LOOKUP_US, _COPIED_BYTES = 5.0, 0.3, 8000.0

_is_grad_enabled = torch.is_grad_enabled
_is_inference = torch.is_inference_mode_enabled
_threads = torch.get_num_threads
_autocast = torch._C._is_any_autocast_enabled
_deterministic = torch._C._get_deterministic_algorithms
_tracing = torch._C._get_tracing_state
_functorch = torch._C._are_functorch_transforms_active
_dispatch_modes = torch._C._len_torch_dispatch_stack
_fx_tracing = _symbolic_trace.is_fx_symbolic_tracing
_is_compiling = torch.compiler.is_compiling
_saved_tensors_hooks = torch._C._autograd._top_saved_tensors_default_hooks
_global_forward_hooks = module_hooks._global_forward_hooks
_global_forward_pre_hooks = module_hooks._global_forward_pre_hooks
_global_backward_hooks = module_hooks._global_backward_hooks
_global_backward_pre_hooks = module_hooks._global_backward_pre_hooks

# Dynamo does not notice that a script puts others in their place.
_embedding, _embedding_bag = F.embedding, F.embedding_bag

# Numbers of global pre-hooks that are Parallel OP's own.
own_hooks: set[int] = set()


@dataclass
class _Trial:
    """What the turns of one bucket took, in ns: the call, and the time from its start to the start of the next.

    before: what was kept when a third side joined.
    """

    before: Callable[..., Any] | None = None
    warmed_up: int = 0
    settled: bool = False
    more: int = 2  # trials that may follow
    turns: int = 0
    calls: list[list[int]] = field(default_factory=list)
    steps: list[list[int]] = field(default_factory=list)
    last: tuple[int, int, int] | None = None  # side, start, thread

    def __post_init__(self) -> None:
        self.calls = [[] for _ in range(self.sides)]
        self.steps = [[] for _ in range(self.sides)]

    @property
    def sides(self) -> int:
        """Two; or three, the last of which is the compiled one."""
        return 2 if self.before is None else 3

    @property
    def order(self) -> tuple[int, ...]:
        """The side of each turn; the first turn of each side does not count."""
        return _ORDER if self.before is None else _ORDER_OF_THREE


@dataclass(frozen=True)
class Compiling:
    """How a served model is compiled once that pays: `call(turns, mode)` gives what is called as the module is, and
    how it is called first."""

    call: Callable[["Turns", tuple[bool, ...]], "Entered"]
    seconds: Callable[[], float]  # that the first graph is expected to take


class Turns:
    """Stands where torch.compile puts a compiled module call (Module._compiled_call_impl); called as the module is.

    `grouped(self, mode)` gives what is called with the module and its arguments and groups, for one mode (gradients,
    inference, training). `give_up` leaves a mode untouched for good; so does a first grouped call after which
    `grouped_something` is still False. `unsettled` gives the numbers of calls of ops that still measure their own ways.

    With `serving` its compiled code looks at each call first, takes the way that was kept, and comes here by `turn`
    with those it has none for; so does a `door` without. `compiling` is a third side, for calls of which there were so
    many that to compile would have paid.
    """

    stands_in = True

    __slots__ = (
        "__weakref__",
        "_again",
        "_compiled",
        "_compiling",
        "_door",
        "_enter",
        "_grouped",
        "_kept",
        "_learn",
        "_modes",
        "_module",
        "_numbers",
        "_otherwise",
        "_pages",
        "_rented",
        "_serving",
        "_trials",
        "_unsettled",
        "choices",
        "grouped_something",
        "summary",
    )

    def __init__(
        self,
        module: nn.Module,
        grouped: Callable[["Turns", tuple[bool, ...]], Callable[..., Any]],
        unsettled: Callable[[], dict[str, int]] = dict,
        serving: "Serving | None" = None,
        otherwise: Callable[[], None] | None = None,
        *,
        door: Any = None,
        compiling: Compiling | None = None,
    ) -> None:
        """`otherwise` is called where no way groups anything and the model got its own call back."""
        # Weak, since what Dynamo keeps for ever may lead here.
        self._module = weakref.ref(module)
        self.summary = Summary(type(module).__name__) if serving is None else serving.summary
        self.choices = self.summary.choices
        self.grouped_something = False
        self._grouped = grouped
        self._unsettled = unsettled
        self._modes: dict[Any, Callable[..., Any]] = {}
        self._kept: dict[Any, Callable[..., Any]] = {}
        self._trials: dict[Any, _Trial] = {}
        self._again: dict[Any, int] = {}  # more trials of those that are untouched for now
        self._serving, self._otherwise = serving, otherwise
        self._door = serving.compiled if serving is not None else door
        self._enter = self._door.enter if self._door is not None else None
        self._compiling = compiling
        self._compiled: dict[Any, Callable[..., Any] | None] = {}  # by mode; None: it cannot be
        self._learn: dict[Any, Callable[..., Any]] = {}  # how it is called first
        self._rented: dict[Any, int] = {}  # calls until it is compiled
        self._pages: dict[Any, int] = {}  # and until its tables are put into huge pages
        self._numbers: dict[Any, int] = {}  # what the compiled code calls a bucket

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or pickle of the model holds None here: it is a model like any other."""
        return type(None), ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives, by the way whose turn it is or that has won."""
        module: Any = self._module()  # alive, since it is being called
        if self._enter is not None and not _is_compiling():
            return self._enter(self, module, args, kwargs)
        # Somebody else is looking at this call: a compiler, an exporter, jit or fx tracing, vmap, a dispatch mode,
        # checkpointing (which wants the same tensors saved by every call), hooks of all modules.
        if (
            _is_compiling()
            or _tracing() is not None
            or _functorch()
            or _dispatch_modes()
            or _fx_tracing()
            or _saved_tensors_hooks(True) is not None
            or _hooked()
            or F.embedding is not _embedding
            or F.embedding_bag is not _embedding_bag
        ):
            return _untouched(module, *args, **kwargs)
        bucket = _bucket(module, args, kwargs)
        kept = self._kept.get(bucket)
        if kept is not None:
            return kept(module, *args, **kwargs)
        return self._turn(bucket, module, args, kwargs)

    @property
    def waits(self) -> bool:
        """Whether the calls so far have not decided all: turns are taken, or something waits for more of them."""
        return bool(self._trials or self._rented or self._pages)

    def hurry(self) -> None:
        """Have what waits for many calls be due at the next one, as in a process that has made them."""
        for due in (self._rented, self._pages):
            due.update(dict.fromkeys(due, 1))
        for bucket in {*self._rented, *self._pages}:
            if bucket in self._kept:
                self._tell(bucket)

    def turn(self, number: int, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that the compiled code looked at, and knows no way for under this number."""
        if _fx_tracing():
            return _untouched(module, *args, **kwargs)
        bucket = _bucket(module, args, kwargs)
        if bucket in self._again:
            self._try_again(bucket)
        elif self._numbers.get(bucket) == number:
            self._what_is_due(bucket)
        self._numbers[bucket] = number
        kept = self._kept.get(bucket)
        if kept is not None:  # its number was forgotten
            self._tell(bucket)
            return kept(module, *args, **kwargs)
        return self._turn(bucket, module, args, kwargs)

    def give_up(self, mode: tuple[bool, ...], reason: str) -> None:
        """Leave all calls of this mode untouched from now on; or as they were before they were compiled."""
        if self._compiled.get(mode) is not None:
            self._give_up_compiled(mode)
            return
        self._modes[mode] = _untouched
        for bucket in [bucket for bucket in (*self._kept, *self._trials) if bucket[:3] == mode]:
            self._keep(bucket, 0, reason=reason)
        if not self.grouped_something:
            self.take_off()
            if self._otherwise is not None:
                self._otherwise()

    def take_off(self) -> None:
        """Give the model its own call back."""
        module = self._module()
        if module is not None and module.__dict__.get("_compiled_call_impl") is self:
            del module.__dict__["_compiled_call_impl"]
        if self._serving is not None:
            self._serving.take_off()

    def _turn(self, bucket: tuple[Any, ...], module: nn.Module, args: Any, kwargs: Any) -> Any:
        # A capture is somebody else's look too; compiling, measuring and waiting for the device would break it.
        if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
            return _untouched(module, *args, **kwargs)
        mode = bucket[:3]
        if mode not in self._modes:
            try:
                self._modes[mode] = self._grouped(self, mode)
            except Exception as error:  # the call is the script's
                self.give_up(mode, f"{type(error).__name__}: {error}")
        grouped = self._modes[mode]
        if grouped is _untouched or _foreign(args) or _foreign(kwargs.values()):
            self._kept[bucket] = _untouched
            return _untouched(module, *args, **kwargs)
        trial = self._trials.setdefault(bucket, _Trial())
        compiled = self._compiled.get(mode) or _untouched
        if not trial.settled:
            first = grouped if trial.before is None else self._learn[mode]
            return self._warm_up(bucket, trial, first, module, args, kwargs)
        if _deterministic():
            self._keep(bucket, 1, reason="deterministic algorithms are asked for")
            return grouped(module, *args, **kwargs)
        turn, trial.turns = trial.turns, trial.turns + 1
        if turn >= len(trial.order):
            self._decide(bucket, trial)
            return self._kept.get(bucket, _untouched)(module, *args, **kwargs)
        side = trial.order[turn]
        call = (_untouched, grouped, compiled)[side]
        _finish_device_work()
        start, thread = perf_counter_ns(), threading.get_ident()
        if trial.last is not None and trial.last[2] == thread and turn > trial.sides:
            trial.steps[trial.last[0]].append(start - trial.last[1])
        trial.last = (side, start, thread)
        result = call(module, *args, **kwargs)
        _finish_device_work()
        if turn >= trial.sides:
            trial.calls[side].append(perf_counter_ns() - start)
        return result

    def _warm_up(
        self, bucket: Any, trial: _Trial, grouped: Callable[..., Any], module: nn.Module, args: Any, kwargs: Any
    ) -> Any:
        before, mode = self._unsettled(), bucket[:3]
        result = grouped(module, *args, **kwargs)
        if self._modes[mode] is _untouched:  # given up during the call
            return result
        if self._serving is not None:
            self.grouped_something |= self._serving.found
        if not self.grouped_something:
            if self._serving is None or self._serving.hopeless:
                self.give_up(mode, "no group found")
            return result
        if trial.before is None and self._remembers(bucket):
            return result
        trial.warmed_up += 1
        settled = all(before.get(kind) == calls for kind, calls in self._unsettled().items())
        trial.settled = trial.warmed_up >= (_SHORTEST_WARM_UP if settled else _LONGEST_WARM_UP)
        return result

    def _remembers(self, bucket: tuple[Any, ...]) -> bool:
        """Keep what an earlier process kept for such calls, if it had learnt the same of the model.

        What it compiled is served until that has paid in this process too.
        """
        if self._serving is None or _deterministic():
            return False
        found = self._serving.memory.side(self._serving.lesson, _told(bucket))
        if found is None:
            return False
        untouched, served, compiled = found.times
        if calls := self._calls_until_compiling(bucket, served - compiled if compiled else None):
            self._rented[bucket] = calls
        self._calls_until_huge_pages(bucket, served)
        self._keep(bucket, int(found.side != "untouched"), untouched, served, "kept by an earlier process")
        return True

    def _remember(self, bucket: tuple[Any, ...], side: int, times: list[float]) -> None:
        if self._serving is not None:
            untouched, served, compiled = (time / 1e3 for time in (*times, 0)[:3])
            found = Remembered(_SIDES[side], (untouched, served, compiled))
            self._serving.memory.keep(self._serving.lesson, _told(bucket), found)

    def _decide(self, bucket: tuple[Any, ...], trial: _Trial) -> None:
        """Keep the side whose calls took less; while gradients are on, whose whole steps did, if those differ."""
        if not all(trial.calls):  # every call of a side raised
            served = trial.before is not None and trial.before is not _untouched
            self._keep(bucket, int(served), reason="a side never returned")
            return
        times: list[float] = [_undisturbed(calls) for calls in trial.calls]
        if bucket[0] and all(trial.steps):
            steps: list[float] = [_undisturbed(taken) for taken in trial.steps]
            if max(steps) > min(steps) * _STEPS_DIFFER:
                times = steps
        if trial.before is not None:
            self._decide_of_three(bucket, times)
            return
        before, after = times
        if calls := self._calls_until_compiling(bucket):
            self._rented[bucket] = calls
        if after <= before:
            self._calls_until_huge_pages(bucket, after / 1e3)
        self._keep(bucket, int(after <= before), before / 1e3, after / 1e3)
        if after <= before or not trial.more:
            self._remember(bucket, int(after <= before), times)
        else:
            self._again[bucket] = trial.more - 1
            self._kept[bucket] = self._untouched_for_now(bucket)
            self._tell(bucket)

    def _decide_of_three(self, bucket: tuple[Any, ...], times: list[float]) -> None:
        untouched, served, compiled = (time / 1e3 for time in times)
        side = min((2, 1, 0), key=lambda side: times[side])
        self._remember(bucket, side, times)
        other = f"served to its own forward {served:.0f} µs" if side == 2 else f"compiled {compiled:.0f} µs"
        self._keep(bucket, side, untouched, compiled if side == 2 else served, other)

    def _calls_until_compiling(self, bucket: tuple[Any, ...], lost: float | None = None) -> int:
        """Rent or buy: calls until what was lost by being served has paid for a graph; 0 where none is to be made.

        lost: µs of a call, where that was measured.
        """
        if self._compiling is None or self._serving is None or self._compiled.get(bucket[:3], self) is None:
            return 0
        if bucket[:3] in self._compiled:
            return _CALLS_BETWEEN_TRIALS
        if lost is not None and lost <= 0:
            return 0
        lost = lost or _SERVED_US + _LOOKUP_US * len(self.summary.served) + self._serving.compiled.bytes / _COPIED_BYTES
        return max(_CALLS_BETWEEN_TRIALS, int(self._compiling.seconds() * 1e6 / lost))

    def _calls_until_huge_pages(self, bucket: tuple[Any, ...], us: float) -> None:
        """Calls that take as long as putting the tables into huge pages; us: of a call."""
        seconds = self._serving.seconds_for_huge_pages() if self._serving is not None else 0.0
        if seconds > 0:
            self._pages[bucket] = max(1, int(seconds * 1e6 / max(us, 1.0)))

    def _what_is_due(self, bucket: tuple[Any, ...]) -> None:
        """What waits for so many calls of a bucket as there were."""
        pages, rented = self._pages.pop(bucket, 0), self._rented.pop(bucket, 0)
        if pages and self._serving is not None:
            self._serving.use_huge_pages()
        if pages and pages < rented:
            self._rented[bucket] = rented - pages
        elif rented:
            self._try_compiled(bucket)

    def _try_compiled(self, bucket: tuple[Any, ...]) -> None:
        """Have the compiled call take turns with the others, from the next call on."""
        mode = bucket[:3]
        if mode not in self._compiled and self._compiling is not None:
            try:
                entered = self._compiling.call(self, mode)
            except Exception:  # it stays as it is
                self._compiled[mode] = None
            else:
                self._compiled[mode], self._learn[mode] = entered.call, entered.learn
        if self._compiled.get(mode) is not None and self._modes[mode] is not _untouched:
            self._trials[bucket] = _Trial(before=self._kept.pop(bucket, _untouched))

    def _give_up_compiled(self, mode: tuple[bool, ...]) -> None:
        compiled, self._compiled[mode] = self._compiled[mode], None
        for bucket, trial in [*self._trials.items()]:
            if bucket[:3] == mode and trial.before is not None:
                del self._trials[bucket]
                self._kept[bucket] = trial.before
                self._tell(bucket)
        for bucket in [bucket for bucket, kept in self._kept.items() if kept is compiled]:
            self._keep(bucket, 1, reason="it cannot be compiled for good")

    def _untouched_for_now(self, bucket: tuple[Any, ...]) -> Callable[..., Any]:
        """Untouched for some calls; then the turns are taken again, since a neighbour may have hit the first ones."""
        left = _CALLS_BETWEEN_TRIALS

        def untouched(module: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                self._try_again(bucket)
            return _untouched(module, *args, **kwargs)

        return untouched

    def _try_again(self, bucket: tuple[Any, ...]) -> None:
        more = self._again.pop(bucket, None)
        if more is None:  # another thread was here
            return
        for due in (self._rented, self._pages):  # what these turns decide says anew what waits
            due.pop(bucket, None)
        if self._modes[bucket[:3]] is not _untouched:
            self._trials[bucket] = _Trial(settled=True, more=more)
            self._kept.pop(bucket, None)

    def _tell(self, bucket: tuple[Any, ...]) -> None:
        """Have the compiled code take what was kept, for good or until the next trial."""
        kept, mode = self._kept.get(bucket), bucket[:3]
        if self._door is None or bucket not in self._numbers or kept is None:  # another thread takes turns again
            return
        waits = [calls for due in (self._pages, self._rented) if (calls := due.get(bucket, 0))]
        calls = _CALLS_BETWEEN_TRIALS if bucket in self._again else min(waits, default=0)
        compiled = self._compiled.get(mode) if self._serving is not None else self._modes[mode]
        if kept is not _untouched and kept is compiled:
            self._door.keep(self._numbers[bucket], True, calls, kept)
        else:
            self._door.keep(self._numbers[bucket], kept is self._modes[mode] and kept is not _untouched, calls)

    def _keep(
        self,
        bucket: tuple[Any, ...],
        side: int,
        untouched_us: float | None = None,
        grouped_us: float | None = None,
        reason: str = "",
    ) -> None:
        self._trials.pop(bucket, None)
        self._again.pop(bucket, None)
        self._kept[bucket] = (_untouched, self._modes[bucket[:3]], self._compiled.get(bucket[:3]) or _untouched)[side]
        self.choices[bucket] = Choice(self.summary.model, _told(bucket), _SIDES[side], untouched_us, grouped_us, reason)
        self._tell(bucket)


def _bucket(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    key: list[Any] = [
        _is_grad_enabled(),
        _is_inference(),
        module.training,
        _threads(),
        _autocast(),
        _deterministic(),
    ]
    placed = False
    for value in args:
        if type(value) is Tensor:
            key.append(value.numel().bit_length())
            if not placed:  # the others are mostly where the first is
                placed = True
                key.append(value.dtype)
                key.append(value.device)
        else:
            key.append(_alike(value))
    for name, value in kwargs.items():
        key.append((name, _alike(value)))
    return tuple(key)


def _untouched(module: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
    return module._call_impl(*args, **kwargs)


def _hooked() -> bool:
    """Whether somebody else's hook is to see the calls of all modules, those within a graph too."""
    if _global_forward_hooks or _global_backward_hooks or _global_backward_pre_hooks:
        return True
    return bool(_global_forward_pre_hooks) and not own_hooks.issuperset(_global_forward_pre_hooks)


def _undisturbed(times: list[int]) -> float:
    """The lower quartile: what other processes do to a machine only ever makes calls longer."""
    return sorted(times)[len(times) // 4]


def _alike(value: Any, depth: int = 8) -> Any:
    """What counts of an argument when calls are put into buckets, of so many collections in one another."""
    if isinstance(value, Tensor):
        return (value.numel().bit_length(), value.dtype, value.device)
    if depth and isinstance(value, (list, tuple)):
        return (len(value).bit_length(), _alike(value[0], depth - 1)) if value else 0
    if depth and isinstance(value, dict):
        return (len(value).bit_length(), _alike(next(iter(value.values())), depth - 1)) if value else 0
    return type(value)


def _foreign(values: Any) -> bool:
    """Whether a tensor subclass is among the arguments: those have their own ideas of what a call is."""
    return any(isinstance(value, Tensor) and type(value) not in (Tensor, nn.Parameter) for value in values)


def _finish_device_work() -> None:
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()


def _told(bucket: tuple[Any, ...]) -> str:
    grad, inference, training, threads, autocast, deterministic, *sizes = bucket
    mode = "inference" if inference else "gradients" if grad else "no gradients"
    others = ", autocast" * autocast + ", deterministic" * deterministic
    return f"{mode}, {'train' if training else 'eval'}, {threads} threads{others}, sizes {_sizes(sizes)}"


def _sizes(parts: Any) -> str:
    told = []
    for part in parts:
        if isinstance(part, tuple):
            told.append("(" + _sizes(part) + ")")
        elif isinstance(part, int):
            told.append(f"<{2**part}")
        else:
            told.append(part.__name__ if isinstance(part, type) else str(part).removeprefix("torch."))
    return " ".join(told)

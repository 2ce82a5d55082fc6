"""A model that is never slower: untouched and grouped take turns on real calls, then the faster one is kept.

Both give right answers, so measuring costs no extra work. The choice is made per bucket of calls that are alike: sizes
of the arguments to a power of two, gradients, inference, training, threads.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx import _symbolic_trace

# Before the turns: grouped compiles in its first call, and the op measures its own ways until it has settled on one.
_SHORTEST_WARM_UP, _LONGEST_WARM_UP = 2, 200
# Two calls that do not count, then Thue and Morse's order: neither side always has the first call of a step.
_UNCOUNTED = 2
_ORDER = (0, 1, *(0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1))
# Whole steps decide where the worse side's take so much longer; else they cannot be told apart, but calls can.
_STEPS_DIFFER = 1.05
_CALLS_BETWEEN_TRIALS = 500
_SIDES = ("untouched", "grouped")

_is_grad_enabled = torch.is_grad_enabled
_is_inference = torch.is_inference_mode_enabled
_threads = torch.get_num_threads
_tracing = torch._C._get_tracing_state
_functorch = torch._C._are_functorch_transforms_active
_dispatch_modes = torch._C._len_torch_dispatch_stack
_fx_tracing = _symbolic_trace.is_fx_symbolic_tracing
_is_compiling = torch.compiler.is_compiling


@dataclass
class _Trial:
    """What the turns of one bucket took, in ns: the call, and the time from its start to the start of the next."""

    warmed_up: int = 0
    settled: bool = False
    more: int = 2  # trials that may follow
    turns: int = 0
    calls: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    steps: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    last: tuple[int, int, int] | None = None  # side, start, thread


@dataclass(frozen=True)
class Choice:
    """What was kept for one bucket of calls of one model, and the times in µs it rests on (None: no turns)."""

    model: str
    bucket: str
    kept: str
    untouched_us: float | None = None
    grouped_us: float | None = None
    reason: str = ""


class Turns:
    """Stands where torch.compile puts a compiled module call (Module._compiled_call_impl); called as the module is.

    `grouped(mode)` gives the callable that groups for one mode (gradients, inference, training). `give_up` leaves a
    mode untouched for good; so does a first grouped call after which `grouped_something` is still False. `unsettled`
    gives the numbers of calls of ops that still measure their own ways.
    """

    __slots__ = (
        "_grouped",
        "_kept",
        "_modes",
        "_trials",
        "_unsettled",
        "choices",
        "grouped_something",
        "module",
        "untouched",
    )

    def __init__(
        self,
        module: nn.Module,
        grouped: Callable[[tuple[bool, ...]], Callable[..., Any]],
        unsettled: Callable[[], dict[str, int]] = dict,
    ) -> None:
        self.module = module
        self.untouched = module._call_impl
        self.choices: dict[Any, Choice] = {}
        self.grouped_something = False
        self._grouped = grouped
        self._unsettled = unsettled
        self._modes: dict[Any, Callable[..., Any]] = {}
        self._kept: dict[Any, Callable[..., Any]] = {}
        self._trials: dict[Any, _Trial] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or pickle of the model holds None here: it is a model like any other."""
        return type(None), ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Somebody else is looking at this call: a compiler, an exporter, jit or fx tracing, vmap, a dispatch mode.
        if _is_compiling() or _tracing() is not None or _functorch() or _dispatch_modes() or _fx_tracing():
            return self.untouched(*args, **kwargs)
        key: list[Any] = [_is_grad_enabled(), _is_inference(), self.module.training, _threads()]
        for value in args:
            key.append(value.numel().bit_length() if type(value) is Tensor else _alike(value))
        for name, value in kwargs.items():
            key.append((name, _alike(value)))
        bucket = tuple(key)
        kept = self._kept.get(bucket)
        if kept is not None:
            return kept(*args, **kwargs)
        return self._turn(bucket, args, kwargs)

    def give_up(self, mode: tuple[bool, ...], reason: str) -> None:
        """Leave all calls of this mode untouched from now on."""
        self._modes[mode] = self.untouched
        for bucket in [bucket for bucket in (*self._kept, *self._trials) if bucket[:3] == mode]:
            self._keep(bucket, 0, reason=reason)
        if not self.grouped_something and self.module.__dict__.get("_compiled_call_impl") is self:
            del self.module.__dict__["_compiled_call_impl"]

    def _turn(self, bucket: tuple[Any, ...], args: Any, kwargs: Any) -> Any:
        mode = bucket[:3]
        if mode not in self._modes:
            self._modes[mode] = self._grouped(mode)
        grouped = self._modes[mode]
        if grouped is self.untouched or _foreign(args) or _foreign(kwargs.values()):
            self._kept[bucket] = self.untouched
            return self.untouched(*args, **kwargs)
        trial = self._trials.setdefault(bucket, _Trial())
        if not trial.settled:
            return self._warm_up(mode, trial, grouped, args, kwargs)
        turn, trial.turns = trial.turns, trial.turns + 1
        if turn >= len(_ORDER):
            self._decide(bucket, trial)
            return self._kept.get(bucket, self.untouched)(*args, **kwargs)
        side = _ORDER[turn]
        call = grouped if side else self.untouched
        _finish_device_work()
        start, thread = perf_counter_ns(), threading.get_ident()
        if trial.last is not None and trial.last[2] == thread and turn > _UNCOUNTED:
            trial.steps[trial.last[0]].append(start - trial.last[1])
        trial.last = (side, start, thread)
        result = call(*args, **kwargs)
        _finish_device_work()
        if turn >= _UNCOUNTED:
            trial.calls[side].append(perf_counter_ns() - start)
        return result

    def _warm_up(self, mode: Any, trial: _Trial, grouped: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        before = self._unsettled()
        result = grouped(*args, **kwargs)
        if self._modes[mode] is self.untouched:  # given up during the call
            return result
        if not self.grouped_something:
            self.give_up(mode, "no group found")
            return result
        trial.warmed_up += 1
        settled = all(before.get(kind) == calls for kind, calls in self._unsettled().items())
        trial.settled = trial.warmed_up >= (_SHORTEST_WARM_UP if settled else _LONGEST_WARM_UP)
        return result

    def _decide(self, bucket: tuple[Any, ...], trial: _Trial) -> None:
        """Keep the side whose calls took less; while gradients are on, whose whole steps did, if those differ."""
        if not all(trial.calls):  # every call of a side raised
            self._keep(bucket, 0, reason="a side never returned")
            return
        before, after = map(_undisturbed, trial.calls)
        if bucket[0] and all(trial.steps):
            steps = [_undisturbed(times) for times in trial.steps]
            if max(steps) > min(steps) * _STEPS_DIFFER:
                before, after = steps
        self._keep(bucket, int(after <= before), before / 1e3, after / 1e3)
        if after > before and trial.more:
            self._kept[bucket] = self._untouched_for_now(bucket, trial.more - 1)

    def _untouched_for_now(self, bucket: tuple[Any, ...], more: int) -> Callable[..., Any]:
        """Untouched for some calls; then the turns are taken again, since a neighbour may have hit the first ones."""
        left = _CALLS_BETWEEN_TRIALS

        def untouched(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0 and self._modes[bucket[:3]] is not self.untouched:
                self._trials[bucket] = _Trial(settled=True, more=more)
                self._kept.pop(bucket, None)
            return self.untouched(*args, **kwargs)

        return untouched

    def _keep(
        self,
        bucket: tuple[Any, ...],
        side: int,
        untouched_us: float | None = None,
        grouped_us: float | None = None,
        reason: str = "",
    ) -> None:
        self._trials.pop(bucket, None)
        self._kept[bucket] = self._modes[bucket[:3]] if side else self.untouched
        self.choices[bucket] = Choice(
            type(self.module).__name__, _told(bucket), _SIDES[side], untouched_us, grouped_us, reason
        )


def _undisturbed(times: list[int]) -> float:
    """The lower quartile: what other processes do to a machine only ever makes calls longer."""
    return sorted(times)[len(times) // 4]


def _alike(value: Any) -> Any:
    """What counts of an argument when calls are put into buckets."""
    if isinstance(value, Tensor):
        return value.numel().bit_length()
    if isinstance(value, (list, tuple)):
        return (len(value), _alike(value[0])) if value else 0
    if isinstance(value, dict):
        return (len(value), _alike(next(iter(value.values())))) if value else 0
    return type(value)


def _foreign(values: Any) -> bool:
    """Whether a tensor subclass is among the arguments: those have their own ideas of what a call is."""
    return any(isinstance(value, Tensor) and type(value) not in (Tensor, nn.Parameter) for value in values)


def _finish_device_work() -> None:
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()


def _told(bucket: tuple[Any, ...]) -> str:
    grad, inference, training, threads, *sizes = bucket
    mode = "inference" if inference else "gradients" if grad else "no gradients"
    return f"{mode}, {'train' if training else 'eval'}, {threads} threads, sizes {_sizes(sizes)}"


def _sizes(parts: Any) -> str:
    told = []
    for part in parts:
        if isinstance(part, tuple):
            told.append("(" + _sizes(part) + ")")
        elif isinstance(part, int):
            told.append(f"<{2**part}")
        else:
            told.append(part if isinstance(part, str) else part.__name__)
    return " ".join(told)

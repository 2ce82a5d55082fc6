"""The grouped side of a model: its call under Dynamo with the light backend, and when to leave that be."""

import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.entry import captured, serving
from bench_engine.kernels.parallel_op.entry.turns import Turns, own_hooks
from bench_engine.kernels.parallel_op.settings import Settings
from bench_engine.kernels.parallel_op.silence import in_silence

# Dynamo's own limit is 8 graphs for one code object; past it, it warns and looks through all of them in every call.
_MOST_GRAPHS = 7
_MOST_FAILURES = 3

Mode = tuple[bool, ...]


def turns_of(module: nn.Module, settings: Settings) -> Turns:
    """What takes turns between the module as it is and its calls as Dynamo and the light backend give them."""
    door = serving.door(own_hooks) if captured.can_capture() else None
    return Turns(module, lambda turns, mode: compiled(settings, turns, mode).call, ops.unsettled, door=door)


def compiled(settings: Settings, turns: Turns, mode: Mode, rest: Callable[..., Any] | None = None) -> captured.Entered:
    """The call of a module, compiled apart for each model and mode so that none uses up another's graphs.

    `rest` gives the calls that there is no graph for, where Dynamo is not to compile them.
    """
    import torch._dynamo
    from torch._dynamo.eval_frame import reset_code

    # Dynamo counts graphs per code object.
    own = types.FunctionType(_model_call.__code__.replace(), _model_call.__globals__, "model_call")
    # Dynamo keeps every backend it was given for ever: these lead to no model.
    here = weakref.ref(turns)
    context: Any = torch._dynamo.optimize(backend=_backend(settings, here))
    if not hasattr(context, "callback"):
        raise RuntimeError("Dynamo is disabled")
    context.callback = _Frames(context.callback, own.__code__, here, mode)
    # Nor does it ever drop a code object that it compiled, with all its graphs.
    weakref.finalize(turns, reset_code, own.__code__).atexit = False
    call = context(own)
    if not captured.can_capture():
        return captured.Entered(call, call)
    return captured.entered(call, own, serving.hooks(own_hooks), rest)


def _model_call(module: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
    return module._call_impl(*args, **kwargs)


def _backend(settings: Settings, turns: "weakref.ref[Turns]") -> Callable[..., Any]:
    def parallel_op_in_place(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        from bench_engine.kernels.parallel_op.graph.grouped_graph import grouped

        call, report = grouped(gm, settings)
        calling = turns()
        if calling is not None:
            calling.grouped_something |= bool(report.groups)
            calling.summary.graphs.append(report)
        return call

    return parallel_op_in_place


class _Frames:
    """Dynamo's callback for a frame that it has no graph for; an error of compiling leaves the frame untouched."""

    def __init__(
        self, callback: Callable[..., Any], root: types.CodeType, turns: "weakref.ref[Turns]", mode: Mode
    ) -> None:
        self._torchdynamo_orig_backend = callback
        self._root, self._turns, self._mode = root, turns, mode
        self._graphs = self._failures = 0

    def __call__(self, frame: Any, *rest: Any) -> Any:
        from torch._dynamo import config, exc
        from torch._dynamo.types import ConvertFrameReturn, FrameAction, FrameExecStrategy

        untouched = ConvertFrameReturn(FrameExecStrategy(FrameAction.SKIP, FrameAction.SKIP), apply_to_code=False)
        if frame.f_code is self._root:
            self._graphs += 1
            if self._graphs > _MOST_GRAPHS:
                self._give_up(f"its calls differ too much: more than {_MOST_GRAPHS} graphs")
                return untouched
        try:
            # Dynamo takes hooks for constants unless told otherwise, which a script may add at any time, and draws what
            # numpy draws from torch's generator.
            with in_silence(), config.patch(skip_nnmodule_hook_guards=False, use_numpy_random_stream=True):
                return self._torchdynamo_orig_backend(frame, *rest)
        except Exception as error:
            # The model's own error meets Dynamo first; the frame then runs untouched and raises it by itself.
            self._failures += 1
            if not isinstance(error, exc.TorchRuntimeError) or self._failures >= _MOST_FAILURES:
                self._give_up(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
            return untouched

    def _give_up(self, reason: str) -> None:
        turns = self._turns()
        if turns is not None:
            turns.give_up(self._mode, reason)

"""The grouped side of a model: its call under Dynamo with the light backend, and when to leave that be."""

import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.settings import Settings
from bench_engine.kernels.parallel_op.turns import Turns

# Dynamo's own limit is 8 graphs for one code object; past it, it warns and looks through all of them in every call.
_MOST_GRAPHS = 7
_MOST_FAILURES = 3

Mode = tuple[bool, ...]


class GroupedCalls:
    """Compiles the calls of one model, apart for each mode so that no mode uses up another's graphs."""

    def __init__(self, module: nn.Module, settings: Settings) -> None:
        self._settings = settings
        self.turns = Turns(module, self._compiled, ops.unsettled)

    def _compiled(self, mode: Mode) -> Callable[..., Any]:
        import torch._dynamo

        module = self.turns.module

        def model_call(*args: Any, **kwargs: Any) -> Any:
            return module._call_impl(*args, **kwargs)

        # Dynamo counts graphs per code object: each model and mode has its own.
        own = types.FunctionType(
            model_call.__code__.replace(), model_call.__globals__, "model_call", None, model_call.__closure__
        )
        context: Any = torch._dynamo.optimize(backend=self._backend(mode))
        context.callback = _Frames(context.callback, own.__code__, lambda reason: self.turns.give_up(mode, reason))
        return context(own)

    def _backend(self, mode: Mode) -> Callable[..., Any]:
        def parallel_op_in_place(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
            from bench_engine.kernels.parallel_op.backend import grouped

            call, report = grouped(gm, self._settings)
            self.turns.grouped_something |= bool(report.groups)
            return call

        return parallel_op_in_place


class _Frames:
    """Dynamo's callback for a frame that it has no graph for; an error of compiling leaves the frame untouched."""

    def __init__(self, callback: Callable[..., Any], root: types.CodeType, give_up: Callable[[str], None]) -> None:
        self._torchdynamo_orig_backend = callback
        self._root, self._give_up = root, give_up
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
            # Dynamo takes hooks for constants unless told otherwise; a script may add one at any time.
            with config.patch(skip_nnmodule_hook_guards=False):
                return self._torchdynamo_orig_backend(frame, *rest)
        except Exception as error:
            # The model's own error meets Dynamo first; the frame then runs untouched and raises it by itself.
            self._failures += 1
            if not isinstance(error, exc.TorchRuntimeError) or self._failures >= _MOST_FAILURES:
                self._give_up(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
            return untouched

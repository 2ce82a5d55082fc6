"""The ways in: a backend for torch.compile, `compile` for a function or module, and `explain`."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from functorch.compile import make_boxed_func
from torch import Tensor, fx
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

from bench_engine.kernels.gir import toolchain
from bench_engine.kernels.gir.capture import mutates, partition, to_kernel
from bench_engine.kernels.gir.ir import GirError, UnsupportedError
from bench_engine.kernels.gir.lowering import size_of
from bench_engine.kernels.gir.region import Region

_FAILED = "runs as it is"
_MOST_SHAPES = 8  # kinds of inputs for which `compile` captures; others run as they are
_said: set[str] = set()


@dataclass
class Graph:
    """A captured graph: what runs it, its regions, and what stays as it was, with the reason."""

    call: Callable[..., Any]
    regions: dict[str, Region] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


def compile_graph(module: fx.GraphModule) -> Graph:
    """Makes regions of an ATen graph, in place; the graph runs as it is where there is no compiler."""
    if toolchain.compiler_name() is None:
        _say_once("gir: no C++ compiler was found; regions that are not in the cache run as they are.")
    ops = sorted({str(node.target) for node in module.graph.nodes if node.op == "call_function"})
    if mutates(module.graph):
        return Graph(module.forward, left=["a graph that writes into its inputs runs as it is"])
    found = Graph(module.forward)
    for name in partition(module):
        (node,) = module.graph.find_nodes(op="call_module", target=name)
        original_part = cast(fx.GraphModule, module.get_submodule(name))
        try:
            given = [arg.meta["val"] for arg in node.args]
            device = next((value.device.type for value in given if isinstance(value, Tensor)), "cpu")
            found.regions[name] = Region(original_part, to_kernel(original_part, given, name), device)
        except (UnsupportedError, GirError) as error:
            found.left.append(f"{name} {_FAILED}: {error}")
            continue
        node.op, node.target = "call_function", _as_function(found.regions[name], name)
    module.recompile()
    found.call = module.forward
    parts = [region.original for region in found.regions.values()]
    inside = {str(n.target) for part in parts if isinstance(part, fx.GraphModule) for n in part.graph.nodes}
    found.left += [f"{op} is not compiled" for op in ops if op not in inside and not op.startswith("<built-in")]
    return found


def _as_function(region: Region, name: str) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return region(*args)

    call.__name__ = name
    return call


def _say_once(line: str) -> None:
    if line not in _said:
        _said.add(line)
        print(line, file=sys.stderr)


def gir(module: fx.GraphModule, example_inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """`torch.compile(model, backend="gir")`: memory-bound regions, forward and backward, become one kernel each."""
    if options:
        raise TypeError("the backend gir takes no options or mode.")
    return aot_autograd(fw_compiler=_compiler, inference_compiler=_compiler)(module, example_inputs)


def _compiler(module: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    return make_boxed_func(compile_graph(module).call)


if "gir" not in torch._dynamo.list_backends(exclude_tags=()):  # where the package is not installed
    torch._dynamo.register_backend(gir)


class Compiled:
    """A function or module that enters its regions without torch's own machinery.

    Inputs are those of `fn`, tensors on the CPU or on one GPU. The batch size, which is the first dimension of the
    first input and of all inputs where that has the same size, may vary from call to call; a new type, rank or other
    size is captured once more. Parameters are those that `fn` held when it was captured. Where a gradient would be
    recorded, something is no tensor, or cannot be captured, `fn` itself is called.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.graphs: dict[Any, Graph] = {}
        self.last: tuple[Any, Graph] = (None, Graph(fn))
        self.fixed: set[Any] = set()  # kinds of inputs whose graph depends on the batch size

    def __call__(self, *args: Tensor) -> Any:
        """What `fn` returns."""
        if torch.is_grad_enabled() and self._needs_gradient(args):
            return self.fn(*args)
        try:
            seen: list[Any] = [(arg.shape, arg.stride(), arg.dtype, arg.device, type(arg)) for arg in args]
        except AttributeError:  # a number, a list or None among the arguments
            return self.fn(*args)
        seen.append(getattr(self.fn, "training", False))
        if seen != self.last[0]:  # comparing is quicker than looking up
            self.last = seen, self.graphs.get(self._kind(args)) or self._capture(args)
        return self.last[1].call(*args)

    def _needs_gradient(self, args: Sequence[Any]) -> bool:
        own = self.fn.parameters() if isinstance(self.fn, torch.nn.Module) else ()
        return any(isinstance(t, Tensor) and t.requires_grad for t in (*args, *own))

    def _kind(self, args: Sequence[Any]) -> Any:
        kind = _kind(args, True)
        return getattr(self.fn, "training", False), _kind(args, False) if kind in self.fixed else kind

    def _capture(self, args: Sequence[Any]) -> Graph:
        if len(self.graphs) >= _MOST_SHAPES:
            return Graph(self.fn, left=["more kinds of inputs than are captured"])
        if any(arg.numel() == 0 for arg in args):
            graph = Graph(self.fn, left=["inputs of size 0"])
        elif isinstance(self.fn, torch.nn.Module) and _keeps_statistics(self.fn):  # which tracing would change
            graph = Graph(self.fn, left=["a module in training whose buffers change runs as it is"])
        else:
            graph = self._captured(args)
        self.graphs[self._kind(args)] = graph
        return graph

    def _captured(self, args: Sequence[Any]) -> Graph:
        """With a batch size that varies, or, where that leaves something out, for this one alone."""
        graph = None
        for varies in (True, False):
            try:
                module = traced(self.fn, args, varies)
                found = compile_graph(module)
            except UnsupportedError:
                continue
            except Exception as error:
                return Graph(self.fn, left=[f"not captured: {str(error).splitlines()[0]}"])
            if graph is None or len(found.regions) > len(graph.regions):
                graph = found
                if not varies:
                    self.fixed.add(_kind(args, True))
            if not any(_FAILED in line for line in graph.left):
                break
        return graph or Graph(self.fn, left=["not captured"])


def compile(fn: Callable[..., Any], example_inputs: Sequence[Tensor]) -> Compiled:
    """`fn` with its memory-bound regions as generated kernels, decided and ready for inputs like these.

    Raises TypeError unless the inputs are tensors.
    """
    if not all(isinstance(arg, Tensor) for arg in example_inputs):
        raise TypeError("the example inputs of gir.compile are tensors, one for each argument.")
    compiled = Compiled(fn)
    with torch.no_grad():
        compiled(*example_inputs)
    return compiled


def _keeps_statistics(module: torch.nn.Module) -> bool:
    return any(part.training and any(True for _ in part.buffers(recurse=False)) for part in module.modules())


def _kind(args: Sequence[Any], varies: bool) -> Any:
    """What inputs must have in common to share a graph: everything, or everything but the batch size."""
    batch = _batch(args) if varies else -1
    shapes = [tuple(arg.shape) for arg in args]
    kept = [(None, *shape[1:]) if batch > 1 and shape[:1] == (batch,) else shape for shape in shapes]
    said = [(shape, arg.stride(), arg.dtype, arg.device) for shape, arg in zip(kept, args, strict=True)]
    return (batch > 1, *said)


def _batch(args: Sequence[Any]) -> int:
    return args[0].shape[0] if args and isinstance(args[0], Tensor) and args[0].dim() else -1


def traced(fn: Callable[..., Any], args: Sequence[Tensor], varies: bool) -> fx.GraphModule:
    """The ATen graph of `fn`, for these sizes or with a batch size that varies.

    Raises UnsupportedError where something in it depends on the batch size's value, and what `fn` and torch raise.
    """
    environment = ShapeEnv()
    batch = _batch(args) if varies else -1
    if varies and batch < 2:
        raise UnsupportedError("a batch of one")
    module = _trace(fn, args, batch, environment)
    if environment.guards or environment.replacements:
        raise UnsupportedError("a program that depends on the batch size")
    return module


def _trace(fn: Callable[..., Any], args: Sequence[Tensor], batch: int, environment: ShapeEnv) -> fx.GraphModule:
    mode = FakeTensorMode(shape_env=environment, allow_non_fake_inputs=True)
    fakes = []
    for arg in args:
        varies = arg.dim() > 0 and arg.shape[0] == batch
        sizes = [DimDynamic.DUCK if varies and not dim else DimDynamic.STATIC for dim in range(arg.dim())]
        fake = mode.from_tensor(arg.detach(), symbolic_context=StatelessSymbolicContext(sizes))
        if [size_of(stride).at(batch) for stride in fake.stride()] != list(arg.stride()):
            raise UnsupportedError("strides that torch takes for others when sizes vary")
        fakes.append(fake)

    def called(*inputs: Tensor) -> Any:  # for make_fx takes the defaults of a signature for inputs
        return fn(*inputs)

    with torch.no_grad(), mode:
        module = make_fx(torch.func.functionalize(called), tracing_mode="real")(*fakes)
        if mutates(module.graph):  # ops that torch makes of others only now, rms_norm for one, write in place
            module = make_fx(torch.func.functionalize(module), tracing_mode="real")(*fakes)
        return module


def explain(fn: Callable[..., Any], inputs: Sequence[Tensor]) -> str:
    """What `gir` makes of `fn` for these inputs: regions, bytes before and after, candidates, winner and its source."""
    compiled = compile(fn, inputs)
    lines = []
    for graph in compiled.graphs.values():
        for name, region in graph.regions.items():
            lines += [f"== {name} ==", region.report()]
        lines += graph.left
    return "\n".join(lines) or "nothing to compile"

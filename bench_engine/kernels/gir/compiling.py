"""The ways in: a backend for torch.compile, `compile` for a function or module, and `explain`."""

import operator
import sys
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, cast

import torch
from functorch.compile import make_boxed_func
from torch import Tensor, fx
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from bench_engine.kernels.gir.backend import toolchain
from bench_engine.kernels.gir.capture import copy_parts, mutates, partition, to_kernel
from bench_engine.kernels.gir.lowering.buffer_views import size_of
from bench_engine.kernels.gir.program.ir import GirError, Kernel, UnsupportedError, first_line, instructions
from bench_engine.kernels.gir.region import Region, device_of
from bench_engine.kernels.native import extension
from bench_engine.kernels.native.calling import Compiled, Graph, batch_of, quick

_FAILED = "runs as it is"
_said: set[str] = set()


def compile_graph(module: fx.GraphModule) -> Graph:
    """Makes regions of an ATen graph, in place; the graph runs as it is where there is no compiler."""
    if toolchain.compiler_name() is None:
        _say_once("gir: no C++ compiler was found; regions that are not in the cache run as they are.")
    ops = sorted({str(node.target) for node in module.graph.nodes if node.op == "call_function"})
    if mutates(module.graph):
        return Graph(module.forward, left=["a graph that writes into its inputs runs as it is"])
    names = partition(module)
    held: dict[fx.Node, Any] = {
        n: reduce(getattr, n.target.split("."), module) for n in module.graph.find_nodes(op="get_attr")
    }
    constants = {node: value for node, value in held.items() if isinstance(value, Tensor)}
    found = Graph(module.forward, constants=list(constants.values()))
    inside: set[str] = set()
    for name in names:
        (node,) = module.graph.find_nodes(op="call_module", target=name)
        part = cast(fx.GraphModule, module.get_submodule(name))
        try:
            given = [arg.meta["val"] for arg in node.args]
            device = next((value.device.type for value in given if isinstance(value, Tensor)), "cpu")
            kernel = to_kernel(part, given, name)
            region = found.regions[name] = Region(part, kernel, device, partial(_by_parallel_op, part, kernel, device))
        except (UnsupportedError, GirError) as error:
            found.left.append(f"{name} {_FAILED}: {error}")
            continue
        node.op, node.target = "call_function", quick(region.compiled, region, name)
        inside |= {str(n.target) for n in part.graph.nodes}
        found.places = _places(module.graph, node, list(constants))
    found.call = fx.GraphModule(module, module.graph).forward  # a module of Dynamo's finds its code anew in every call
    found.left += [f"{op} is not compiled" for op in ops if op not in inside and not op.startswith("<built-in")]
    return found


def _by_parallel_op(part: fx.GraphModule, kernel: Kernel, device: str) -> Callable[..., Any] | None:
    """The op that is written by hand for a part with look-ups, where its kernels are built."""
    gathers = any(instr.op == "gather" for instr, _ in instructions(kernel.body))
    if not gathers or device != "cpu" or extension.python_module_if_built() is None:
        return None
    from bench_engine.kernels.parallel_op.graph import grouped_graph  # here, for most regions need none of it

    return grouped_graph.grouped_copy(part)


def _places(graph: fx.Graph, region: fx.Node, constants: list[fx.Node]) -> tuple[int, ...] | None:
    """What a region takes of inputs (n) and constants (~n), where it is all of the graph; None where it is not."""
    inputs = list(graph.find_nodes(op="placeholder"))
    sizes = set(graph.find_nodes(op="call_function", target=torch.ops.aten.sym_size.int))  # tensors have them too
    for node in graph.nodes:  # and what is reckoned from them
        number = isinstance(node.meta.get("val"), int | torch.SymInt)
        if number and node.all_input_nodes and sizes.issuperset(node.all_input_nodes):
            sizes.add(node)
    parts = [node for node in region.users if node.target is operator.getitem]
    if set(graph.nodes) - {*inputs, *constants, *sizes, *parts, region, graph.output_node()}:
        return None
    returned = graph.output_node().args[0]
    plain = type(returned) is tuple and returned == tuple(parts)  # a named tuple is equal too
    if returned is not region and not (plain and [p.args[1] for p in parts] == [*range(len(parts))]):
        return None
    taken = [node for node in region.all_input_nodes if node not in sizes]
    return tuple(inputs.index(node) if node in inputs else ~constants.index(node) for node in taken)


def _say_once(line: str) -> None:
    if line not in _said:
        _said.add(line)
        print(line, file=sys.stderr)


def gir(module: fx.GraphModule, example_inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """`torch.compile(model, backend="gir")`: memory-bound regions, forward and backward, become one kernel each."""
    if options:
        raise TypeError("the backend gir takes no options or mode.")
    if _trains(example_inputs) and extension.python_module_if_built() is not None:
        from bench_engine.kernels.parallel_op.graph import grouped_graph  # here, for inference needs none of it

        grouped_graph.group_before_aot(module)
    compilers = {"fw_compiler": _compiler, "inference_compiler": _compiler, "bw_compiler": _backward_compiler}
    return aot_autograd(**compilers)(module, example_inputs)


def _trains(inputs: Sequence[Any]) -> bool:
    """Whether gradients of some of a graph's inputs are wanted."""
    return torch.is_grad_enabled() and any(isinstance(value, Tensor) and value.requires_grad for value in inputs)


def _compiler(module: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    return make_boxed_func(compile_graph(module).call)


def _backward_compiler(module: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    copy_parts(module.graph)
    return _compiler(module, inputs)


if "gir" not in torch._dynamo.list_backends(exclude_tags=()):  # where the package is not installed
    torch._dynamo.register_backend(gir)


def _captured(fn: Callable[..., Any], args: Sequence[Tensor]) -> tuple[Graph, bool]:
    """With a batch size that varies, or, where that leaves something out, for this one alone, which is told."""
    graph, fixed = None, False
    for varies in (True, False):
        try:
            found = compile_graph(traced(fn, args, varies))
        except UnsupportedError:
            continue
        except Exception as error:
            return Graph(fn, left=[f"not captured: {first_line(error)}"]), False
        if found.places is not None and sorted(found.places) == [*range(len(args))]:
            # What runs where the kernel does not: torch may take an op apart for a graph into slower ones.
            region = next(iter(found.regions.values()))
            region.original, region.ops = _in_order(fn, found.places), f"as they are: {region.ops}"
        if graph is None or len(found.regions) > len(graph.regions):
            graph, fixed = found, not varies
        if not any(_FAILED in line for line in graph.left):
            break
    if graph is None:
        return Graph(fn, left=["not captured"]), False
    _compare(graph, fn, args)
    return graph, fixed


def _in_order(fn: Callable[..., Any], places: tuple[int, ...]) -> Callable[..., Any]:
    """`fn` for who gives its arguments, and sizes among them, as a region takes them."""
    back = [places.index(place) for place in range(len(places))]

    def call(*given: Any) -> Any:
        tensors = [value for value in given if isinstance(value, Tensor)]
        return fn(*[tensors[place] for place in back])

    return call


def _compare(graph: Graph, fn: Callable[..., Any], args: Sequence[Tensor]) -> None:
    """On a GPU, `fn` itself where the whole is slower: what torch takes apart for the graph may be one kernel in `fn`.

    A region that is all of the graph has been compared with `fn`.
    """
    backend = next((region.backend for region in graph.regions.values()), None)
    if backend is None or backend.language == "C++" or sorted(graph.places or ()) == [*range(len(args))]:
        return
    graph.call(*args)  # decides
    with device_of(args[0]):
        own, original = backend.measure([lambda: graph.call(*args), lambda: fn(*args)])
    if original <= own:
        graph.call, graph.places = fn, None
        graph.left.append("the whole runs as it is, which is faster")


def compile(fn: Callable[..., Any], example_inputs: Sequence[Tensor]) -> Compiled:
    """`fn` with its memory-bound regions as generated kernels, decided and ready for inputs like these.

    Raises TypeError unless the inputs are tensors.
    """
    if isinstance(example_inputs, Tensor) or not all(isinstance(arg, Tensor) for arg in example_inputs):
        raise TypeError("the example inputs of gir.compile are tensors, a list with one for each argument.")
    compiled = Compiled(fn, _captured)
    with torch.no_grad():
        compiled(*example_inputs)
    return compiled


def traced(fn: Callable[..., Any], args: Sequence[Tensor], varies: bool) -> fx.GraphModule:
    """The ATen graph of `fn`, for these sizes or with a batch size that varies.

    Raises UnsupportedError where something in it depends on the batch size's value, and what `fn` and torch raise.
    """
    environment = ShapeEnv()
    batch = batch_of(args) if varies else -1
    if varies and batch < 2:
        raise UnsupportedError("a batch of one")
    module = _trace(fn, args, batch, environment)
    if environment.guards or environment.replacements:
        raise UnsupportedError("a program that depends on the batch size")
    return module


class _Values(TorchDispatchMode):
    """Refuses what a graph would keep for ever: the value of a tensor that Python reads."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.Tag.data_dependent_output in func.tags:
            raise UnsupportedError("a program that reads values of tensors")
        return func(*args, **(kwargs or {}))


class _Reads(TorchFunctionMode):
    """The same of what reads memory and runs no op."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (Tensor.tolist, Tensor.numpy, Tensor.__array__):
            raise UnsupportedError("a program that reads values of tensors")
        return func(*args, **(kwargs or {}))


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
        with _Values(), _Reads():
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

"""Which parts of an ATen graph become kernels, and each part as a graph of the ops that lowering knows."""

import math
import operator
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import fx
from torch._decomp import get_decompositions
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from bench_engine.kernels.gir.lowering.aten_ops import OTHERS, POINTWISE, VIEWS, ndtr
from bench_engine.kernels.gir.lowering.lower import lower
from bench_engine.kernels.gir.program.ir import Kernel, UnsupportedError, first_line
from bench_engine.kernels.gir.region import BACKENDS

aten = torch.ops.aten
# Ops that torch says in terms of others that lowering knows.
_DECOMPOSED = [
    aten._softmax, aten._log_softmax, aten.native_layer_norm, aten.silu, aten.addcmul, aten.addcdiv,
    aten.binary_cross_entropy_with_logits, aten.log_sigmoid_forward, aten.stack, aten.split, aten.split_with_sizes,
    aten.unbind, aten.square, aten.softplus, aten.hardtanh, aten.leaky_relu, aten.threshold, aten.lerp,
    aten._softmax_backward_data, aten._log_softmax_backward_data, aten.native_layer_norm_backward,
    aten.silu_backward, aten.sigmoid_backward, aten.tanh_backward, aten.threshold_backward,
    aten.mse_loss, aten.binary_cross_entropy, aten.masked_fill, aten.new_zeros, aten._fused_rms_norm_backward,
]  # fmt: skip


def _fused_rms_norm(
    x: torch.Tensor, shape: Sequence[int], weight: torch.Tensor | None, eps: float | None
) -> tuple[torch.Tensor, torch.Tensor]:
    over = list(range(-len(shape), 0))
    scale = torch.rsqrt((x * x).mean(over, keepdim=True) + (torch.finfo(x.dtype).eps if eps is None else eps))
    return (x * scale if weight is None else x * scale * weight), scale


def _gelu(x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    return x * ndtr(x) if approximate == "none" else _TANH[aten.gelu.default](x, approximate)


def _gelu_backward(grad: torch.Tensor, x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    if approximate != "none":
        return cast(torch.Tensor, _TANH[aten.gelu_backward.default](grad, x, approximate))
    return grad * (ndtr(x) + x * (torch.exp(x * x * -0.5) * (2 * math.pi) ** -0.5))


_TANH = get_decompositions([aten.gelu, aten.gelu_backward])
_TABLE: dict[Any, Any] = {
    **get_decompositions(_DECOMPOSED), aten._fused_rms_norm.default: _fused_rms_norm, aten.gelu.default: _gelu,
    aten.gelu_backward.default: _gelu_backward,
}  # fmt: skip
_SUPPORTED = {*VIEWS, *POINTWISE, *OTHERS, *_TABLE}
_ON_CPU = {aten.index_put.default}  # whose sums threads of a GPU would have to make one after another
_TYPES = (torch.float32, torch.int64, torch.int32, torch.bool)


class _Support(OperatorSupportBase):
    """What a region may hold. Views that are returned stay outside, for they share storage with what they view."""

    def __init__(self, graph: fx.Graph) -> None:
        self.returned = _returned_views(graph)

    def is_node_supported(self, submodules: Any, node: fx.Node) -> bool:
        if node.op != "call_function" or node in self.returned:
            return False
        if node.target is operator.getitem:
            return self.is_node_supported(submodules, cast(fx.Node, node.args[0]))
        return node.target in _SUPPORTED and _fits(node) and (node.target not in _ON_CPU or _is_on_cpu(node))


def _is_on_cpu(node: fx.Node) -> bool:
    return node.meta["val"].device.type == "cpu"


def _fits(node: fx.Node) -> bool:
    """Whether GIR can say all tensors of a node's value and inputs."""
    values = [each.meta.get("val") for each in (node, *node.all_input_nodes)]
    flat = [one for value in values for one in (value if isinstance(value, tuple | list) else [value])]
    tensors = [tensor for tensor in flat if isinstance(tensor, torch.Tensor)]
    known = all(t.dtype in _TYPES and t.device.type in BACKENDS and t.layout == torch.strided for t in tensors)
    return known and len({t.device for t in tensors}) <= 1


def _returned_views(graph: fx.Graph) -> set[fx.Node]:
    (output,) = graph.find_nodes(op="output")
    found: set[fx.Node] = set()
    waiting = list(output.all_input_nodes)
    while waiting:
        node = waiting.pop()
        views = (*VIEWS, operator.getitem, aten.split.Tensor, aten.split_with_sizes.default, aten.unbind.int)
        if node.target in views and node not in found and _is_view(node):
            found.add(node)
            waiting.extend(node.all_input_nodes[:1])
    return found


def _is_view(node: fx.Node) -> bool:
    """Whether a node's value shares the storage of its first input's; getitem of an op with fresh results does not."""
    if node.target is not operator.getitem:
        return True
    return cast(fx.Node, node.args[0]).target in (
        aten.split.Tensor, aten.split_with_sizes.default, aten.unbind.int,
    )  # fmt: skip


def copy_parts(graph: fx.Graph) -> None:
    """Gradients that are parts of a tensor become tensors of their own, in place: autograd would copy each."""
    output, views = graph.output_node(), _returned_views(graph)
    for node in output.all_input_nodes:
        value = node.meta.get("val")
        if node in views and isinstance(value, torch.Tensor) and not value.is_contiguous():
            with graph.inserting_before(output):
                copy = graph.call_function(aten.clone.default, (node,), {"memory_format": torch.contiguous_format})
            copy.meta["val"] = torch.empty_like(value, memory_format=torch.contiguous_format)
            output.replace_input_with(node, copy)


def mutates(graph: fx.Graph) -> bool:
    """Whether an op of the graph writes into its arguments."""
    targets = [node.target for node in graph.nodes]
    return any(target._schema.is_mutable for target in targets if isinstance(target, torch._ops.OpOverload))


def partition(module: fx.GraphModule) -> list[str]:
    """Moves each part that is to be one kernel into a submodule, in place; the names of these."""
    partitioner = CapabilityBasedPartitioner(module, _Support(module.graph), allows_single_node_partition=True)
    parts = [part for part in partitioner.propose_partitions() if any(map(_computes, part.nodes))]
    for part in parts:
        _leave_views(part.nodes)
    before = {name for name, _ in module.named_children()}
    partitioner.fuse_partitions(parts, prefix="region_")
    return [name for name, _ in module.named_children() if name not in before]


def _leave_views(nodes: dict[fx.Node, Any]) -> None:
    """A view that nothing in the region uses is left outside, where it costs nothing."""
    idle = [node for node in nodes if node.target in VIEWS and not any(user in nodes for user in node.users)]
    while idle:
        for node in idle:
            del nodes[node]
        idle = [node for node in nodes if node.target in VIEWS and not any(user in nodes for user in node.users)]


def _computes(node: fx.Node) -> bool:
    return node.target not in VIEWS and node.target not in (operator.getitem, aten.arange.start_step, aten.full.default)


def to_kernel(region: fx.GraphModule, inputs: Sequence[Any], name: str) -> Kernel:
    """The GIR of a region for fake inputs. Raises UnsupportedError, naming what GIR cannot say."""
    fake = next((value.fake_mode for value in inputs if isinstance(value, torch._subclasses.FakeTensor)), None)
    if fake is None:
        raise UnsupportedError("a region without a tensor among its inputs")
    with fake:
        try:
            traced = make_fx(region, decomposition_table=_TABLE, tracing_mode="real")(*inputs)
        except Exception as error:
            raise UnsupportedError(f"a region that torch cannot decompose: {first_line(error)}") from error
    traced.graph.eliminate_dead_code()
    _same_results(region.graph, traced.graph)
    return lower(traced.graph, name)


def _same_results(before: fx.Graph, after: fx.Graph) -> None:
    """Decomposed, results have to lie in memory as they did."""
    for one, other in zip(_results(before), _results(after), strict=True):
        if one.stride() != other.stride():
            raise UnsupportedError("a result that lies in memory otherwise than torch's")


def _results(graph: fx.Graph) -> list[torch.Tensor]:
    (output,) = graph.find_nodes(op="output")
    returned = output.args[0] if isinstance(output.args[0], tuple | list) else [output.args[0]]
    return [cast(fx.Node, node).meta["val"] for node in returned]

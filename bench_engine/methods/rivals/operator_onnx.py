"""OnnxRuntimeOperator: memory-bound operators as graphs of ONNX operators, optimized and run by ONNX Runtime."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

from bench_engine.methods.operators.memory_operators import FEATURES, MULTIPLIER, OFFSET, Inputs, Operator
from bench_engine.methods.operators.operator_methods import OperatorMethod

_OPSET, _IR = 23, 11  # the first that has RMSNormalization
_TYPES = {torch.float32: TensorProto.FLOAT, torch.int64: TensorProto.INT64}


class OnnxRuntimeOperator(OperatorMethod):
    """A session over a graph for these shapes. Its outputs come from the runtime's own arena. Inference only."""

    def __init__(self, operator: Operator, inputs: Inputs) -> None:
        super().__init__(operator, inputs)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # as OpenMP's threads wait
        model = _Graph(inputs).model(_GRAPHS[operator.name])
        self._session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def prepare(self, inputs: Inputs) -> dict[str, np.ndarray]:
        """The graph's inputs, in the same memory."""
        return {f"x{n}": tensor.detach().contiguous().numpy() for n, tensor in enumerate(inputs)}

    def __call__(self, prepared: dict[str, np.ndarray]) -> np.ndarray:
        """The output, in the runtime's memory."""
        return self._session.run(None, prepared)[0]

    def as_tensor(self, output: Any) -> Tensor:
        """The same memory as a tensor."""
        return torch.from_numpy(np.asarray(output))


class _Graph:
    """Nodes one after another; a value is known by its name, inputs are x0, x1, ..."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def __call__(self, op: str, *values: str, **attributes: Any) -> str:
        """The result of an operator."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(values), [name], **attributes))
        return name

    def constant(self, value: Any, dtype: type = np.float32) -> str:
        """A constant."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def model(self, build: "Callable[[_Graph, Sequence[str]], str]") -> onnx.ModelProto:
        """The graph of what `build` makes of the inputs."""
        names = [f"x{n}" for n in range(len(self.inputs))]
        result = build(self, names)
        inputs = [
            helper.make_tensor_value_info(name, _TYPES[tensor.dtype], list(tensor.shape))
            for name, tensor in zip(names, self.inputs, strict=True)
        ]
        outputs = [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "operator", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)


def _swiglu(g: _Graph, x: Sequence[str]) -> str:
    return g("Mul", g("Mul", x[0], g("Sigmoid", x[0])), x[1])


def _sigmoid_chain(g: _Graph, x: Sequence[str]) -> str:
    inner = g("Sub", g("Mul", g("Sigmoid", x[0]), g.constant(2)), g.constant(1))
    return g("Mul", g("Sigmoid", inner), x[0])


def _sigmoid_bce(g: _Graph, x: Sequence[str]) -> str:
    tail = g("Log", g("Add", g("Exp", g("Neg", g("Abs", x[0]))), g.constant(1)))
    return g("ReduceMean", g("Add", g("Sub", g("Relu", x[0]), g("Mul", x[0], x[1])), tail), keepdims=0)


def _bag(g: _Graph, ids: str, table: str) -> str:
    return g("ReduceSum", g("Gather", table, ids, axis=0), g.constant([1], np.int64), keepdims=0)


def _bags_concat(g: _Graph, x: Sequence[str]) -> str:
    return g("Concat", *(_bag(g, x[n], x[FEATURES + n]) for n in range(FEATURES)), axis=1)


def _interaction(g: _Graph, x: Sequence[str]) -> str:
    count, fields, _ = g.inputs[0].shape
    products = g("MatMul", x[0], g("Transpose", x[0], perm=[0, 2, 1]))
    flat = g("Reshape", products, g.constant([count, fields * fields], np.int64))
    place = g("Add", g("Mul", x[1], g.constant(fields, np.int64)), x[2])
    first = g("Gather", x[0], g.constant(0, np.int64), axis=1)
    return g("Concat", first, g("Gather", flat, place, axis=1), axis=1)


def _hashed_bag(g: _Graph, x: Sequence[str]) -> str:
    mixed = g("Add", g("Mul", x[0], g.constant(MULTIPLIER, np.int64)), g.constant(OFFSET, np.int64))
    return _bag(g, g("Mod", mixed, g.constant(g.inputs[1].shape[0], np.int64)), x[1])


_GRAPHS: dict[str, Callable[[_Graph, Sequence[str]], str]] = {
    "softmax": lambda g, x: g("Softmax", x[0], axis=-1),
    "log_softmax": lambda g, x: g("LogSoftmax", x[0], axis=-1),
    "layer_norm": lambda g, x: g("LayerNormalization", *x, axis=-1, epsilon=1e-5),
    "rms_norm_residual": lambda g, x: g(
        "RMSNormalization", g("Add", x[0], x[1]), x[2], axis=-1, epsilon=float(np.finfo(np.float32).eps)
    ),
    "bias_gelu": lambda g, x: g("Gelu", g("Add", x[0], x[1])),
    "swiglu": _swiglu,
    "sigmoid_chain": _sigmoid_chain,
    "sigmoid_bce": _sigmoid_bce,
    "transpose_add": lambda g, x: g("Add", x[0], g("Transpose", x[1], perm=[1, 0])),
    "concat": lambda g, x: g("Concat", *x, axis=1),
    "bags_concat": _bags_concat,
    "interaction": _interaction,
    "hashed_bag": _hashed_bag,
}

"""OnnxRuntimeEmbeddingBag: Gather and a reduction in ONNX Runtime, whose operators know no embedding bag."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper
from torch import Tensor

from bench_engine.methods.rivals.table import RivalTable

_REDUCTIONS = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax"}
_OPSET, _IR = 18, 10  # the first opset in which all three reductions take their axes alike


class OnnxRuntimeEmbeddingBag(RivalTable):
    """A graph of two operators: the rows of all ids (B, L, D), then their reduction over L.

    The table is an input that shares its memory with `weight`: as a constant it would be copied and could not exceed
    the 2 GB of a model file. Runs with as many threads as torch has, which wait passively as all methods' do. Outputs
    come from the runtime's own arena, so their memory is not fresh. Inference only.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, compression: float = 1.0, mode: str = "sum") -> None:
        super().__init__(num_embeddings, embedding_dim, compression, mode)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        model = _model(_REDUCTIONS[mode], num_embeddings, embedding_dim)
        self._session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self._table = self.weight.detach().numpy()

    def prepare(self, input: Tensor) -> dict[str, np.ndarray]:
        """The graph's inputs: "table" (E, D) and "ids" (B, L) int64."""
        return {"table": self._table, "ids": input.long().contiguous().numpy()}

    def lookup(self, request: dict[str, np.ndarray]) -> np.ndarray:
        """The pooled vectors (B, D), in the runtime's memory."""
        return self._session.run(None, request)[0]

    def as_tensor(self, output: Any) -> Tensor:
        """The same memory as a tensor."""
        return torch.from_numpy(output)


def _model(reduction: str, num_embeddings: int, embedding_dim: int) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"], axis=0),
        helper.make_node(reduction, ["rows", "axes"], ["pooled"], keepdims=0),
    ]
    inputs = [
        helper.make_tensor_value_info("table", TensorProto.FLOAT, [num_embeddings, embedding_dim]),
        helper.make_tensor_value_info("ids", TensorProto.INT64, ["B", "L"]),
    ]
    outputs = [helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["B", embedding_dim])]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    graph = helper.make_graph(nodes, "embedding_bag", inputs, outputs, [axes])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)

"""A rival's process, asked by tests, and the rival by itself where that process was ended from outside Python."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import Any

import pytest

from bench_engine.registry import METHODS

_BAG = """
import torch
table, ids, offsets = torch.nn.EmbeddingBag(64, 8, mode="sum"), torch.arange(12), torch.arange(0, 12, 3)
weight = table.weight.detach()
"""
_FBGEMM = f"""{_BAG}
from fbgemm_gpu import split_table_batched_embeddings_ops_common as common
from fbgemm_gpu import split_table_batched_embeddings_ops_inference as inference
from fbgemm_gpu import split_table_batched_embeddings_ops_training as training
offsets = torch.arange(0, 13, 3)
"""
_DENSE_TBE = f"""{_FBGEMM}
training.DenseTableBatchedEmbeddingBagsCodegen([(64, 8)], use_cpu=True)(ids, offsets).sum().backward()
"""
# What a rival's package does without a line of this project: imported, and called once, by the class of its method.
ALONE = {
    "ZentorchEmbeddingBag": f"""{_BAG}
import zentorch
for mode in range(3):
    torch.ops.zentorch.zentorch_embedding_bag(
        weight, ids, offsets, scale_grad_by_freq=False, mode=mode, sparse=False)
""",
    "ZentorchGroup": f"""{_BAG}
import zentorch
for mode in range(3):
    torch.ops.zentorch.zentorch_horizontal_embedding_bag_group(
        [weight, weight], [ids, ids], [offsets, offsets], [0, 0], [mode, mode], [0, 0], [None, None], [0, 0], [-1, -1])
""",
    "ZentorchCompile": f"""{_BAG}
import zentorch
model = torch.nn.Sequential(table, torch.nn.Linear(8, 1))
with torch.no_grad():
    torch.compile(model, backend="zentorch", dynamic=False)(ids.view(4, 3))
""",
    "FbgemmTbe": _DENSE_TBE,
    "Tbe": _DENSE_TBE,
    "TbeJoined": _DENSE_TBE,
    "IntNBit": f"""{_FBGEMM}
from fbgemm_gpu.split_embedding_configs import SparseType
specs = [("t", 64, 8, SparseType.FP32, common.EmbeddingLocation.HOST)]
tbe = inference.IntNBitTableBatchedEmbeddingBagsCodegen(specs, device="cpu", output_dtype=SparseType.FP32)
tbe.initialize_weights()
tbe(ids.int(), offsets.int())
""",
    "OnnxRuntimeEmbeddingBag": """
import numpy, onnx, onnxruntime
from onnx import TensorProto, helper
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
session.run(None, {"x": numpy.ones(4, numpy.float32)})
""",
    "NumbaOperator": """
import numba, numpy
@numba.njit(parallel=True, fastmath=True)
def double(x, y):
    for i in numba.prange(len(x)):
        y[i] = 2 * x[i]
double(numpy.ones(64, numpy.float32), numpy.empty(64, numpy.float32))
""",
    "JaxEmbeddingBag": """
import jax, jax.numpy as jnp
jax.jit(lambda table, ids: table[ids].sum(1))(jnp.ones((64, 8)), jnp.ones((4, 3), jnp.int32)).block_until_ready()
""",
}


def asked_of(rival: str, process: ProcessPoolExecutor) -> Callable[..., Any]:
    """Calls functions with the rival's name in its process.

    Where that process crashes, the rival is tried by itself. A binary of other people that crashes here even so (an
    instruction the processor lacks, a fault of its own) says nothing of this project: the test is skipped with those
    words. One that does not has been crashed by this project, and the test fails.
    """

    def ask(function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return process.submit(function, rival, *arguments).result()
        except BrokenProcessPool:
            if not crashes_alone(METHODS[rival].implementation.partition(":")[2]):
                raise
            pytest.skip(f"{rival} crashes on this machine without this project too: see ALONE in {__name__}.py")

    return ask


@cache
def crashes_alone(kind: str) -> bool:
    """Whether the rival's own call ends a process from outside Python; False for one that is this project's own."""
    if kind not in ALONE:
        return False
    # Isolated, and without torch's entry points: nothing of this project is imported.
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run([sys.executable, "-I", "-c", ALONE[kind]], env=environment, capture_output=True, check=False)
    return done.returncode < 0

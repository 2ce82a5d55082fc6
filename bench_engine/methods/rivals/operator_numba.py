"""NumbaOperator: memory-bound operators as loops that Numba compiles, rows shared among threads.

Written as its users would: one pass over a row for each thing that is needed of it, `fastmath` so that sums become
vectors, sums over a whole tensor in float64. Mathematical functions are LLVM's own, for Intel's vector library is no
package that Numba brings.
"""

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor

from bench_engine.methods.operators.memory_operators import MULTIPLIER, OFFSET, Inputs, Operator
from bench_engine.methods.operators.operator_methods import OperatorMethod

_several = int(os.environ.get("NUMBA_NUM_THREADS", "1")) > 1  # one thread needs no machinery for several
_compiled = njit(parallel=_several, fastmath=True, error_model="numpy")
_one = np.float32(1.0)


class NumbaOperator(OperatorMethod):
    """A compiled function of numpy arrays. Inference only."""

    def __init__(self, operator: Operator, inputs: Inputs) -> None:
        super().__init__(operator, inputs)
        self._run: Callable[..., Any] = _FUNCTIONS[operator.name]

    def prepare(self, inputs: Inputs) -> tuple[Any, ...]:
        """The same memory as arrays; many alike are one argument, a tuple."""
        arrays = [tensor.detach().numpy() for tensor in inputs]
        if self.operator.name == "concat":
            return (tuple(arrays),)
        half = len(arrays) // 2
        return (tuple(arrays[:half]), tuple(arrays[half:])) if self.operator.name == "bags_concat" else tuple(arrays)

    def __call__(self, prepared: tuple[Any, ...]) -> Any:
        """The output, an array or a number."""
        return self._run(*prepared)

    def as_tensor(self, output: Any) -> Tensor:
        """The same memory as a tensor."""
        return torch.as_tensor(output)


@_compiled
def _softmax(x):  # type: ignore[no-untyped-def]
    out = np.empty_like(x)
    for b in prange(x.shape[0]):
        most = x[b].max()
        total = np.float32(0.0)
        for n in range(x.shape[1]):
            out[b, n] = math.exp(x[b, n] - most)
            total += out[b, n]
        scale = _one / total
        for n in range(x.shape[1]):
            out[b, n] *= scale
    return out


@_compiled
def _log_softmax(x):  # type: ignore[no-untyped-def]
    out = np.empty_like(x)
    for b in prange(x.shape[0]):
        most = x[b].max()
        total = np.float32(0.0)
        for n in range(x.shape[1]):
            total += math.exp(x[b, n] - most)
        shift = most + math.log(total)
        for n in range(x.shape[1]):
            out[b, n] = x[b, n] - shift
    return out


@_compiled
def _layer_norm(x, w, bias):  # type: ignore[no-untyped-def]
    out = np.empty_like(x)
    count = np.float32(x.shape[1])
    for b in prange(x.shape[0]):
        total = np.float32(0.0)
        for n in range(x.shape[1]):
            total += x[b, n]
        mean = total / count
        squares = np.float32(0.0)
        for n in range(x.shape[1]):
            squares += (x[b, n] - mean) * (x[b, n] - mean)
        scale = _one / np.sqrt(squares / count + np.float32(1e-5))
        for n in range(x.shape[1]):
            out[b, n] = (x[b, n] - mean) * scale * w[n] + bias[n]
    return out


@_compiled
def _rms_norm_residual(x, y, w):  # type: ignore[no-untyped-def]
    out = np.empty_like(x)
    count = np.float32(x.shape[1])
    for b in prange(x.shape[0]):
        squares = np.float32(0.0)
        for n in range(x.shape[1]):
            out[b, n] = x[b, n] + y[b, n]
            squares += out[b, n] * out[b, n]
        scale = _one / np.sqrt(squares / count + np.float32(1.1920929e-07))
        for n in range(x.shape[1]):
            out[b, n] *= scale * w[n]
    return out


@_compiled
def _bias_gelu(x, bias):  # type: ignore[no-untyped-def]
    out = np.empty_like(x)
    for b in prange(x.shape[0]):
        for n in range(x.shape[1]):
            value = x[b, n] + bias[n]
            out[b, n] = np.float32(0.5) * value * (_one + math.erf(value * np.float32(0.70710678)))
    return out


@_compiled
def _swiglu(x, y):  # type: ignore[no-untyped-def]
    out = np.empty_like(x)
    for b in prange(x.shape[0]):
        for n in range(x.shape[1]):
            out[b, n] = x[b, n] / (_one + math.exp(-x[b, n])) * y[b, n]
    return out


@_compiled
def _sigmoid_chain(x):  # type: ignore[no-untyped-def]
    out = np.empty_like(x)
    for n in prange(x.shape[0]):
        inner = _one / (_one + math.exp(-x[n]))
        out[n] = x[n] / (_one + math.exp(_one - np.float32(2.0) * inner))
    return out


@_compiled
def _sigmoid_bce(x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for n in prange(x.shape[0]):
        total += max(x[n], np.float32(0.0)) - x[n] * y[n] + math.log(_one + math.exp(-abs(x[n])))
    return np.float32(total / x.shape[0])


@_compiled
def _transpose_add(x, y):  # type: ignore[no-untyped-def]
    out = np.empty_like(x)
    tile = 16
    for tile_row in prange((x.shape[0] + tile - 1) // tile):
        for column in range(0, x.shape[1], tile):
            for i in range(tile_row * tile, min(tile_row * tile + tile, x.shape[0])):
                for j in range(column, min(column + tile, x.shape[1])):
                    out[i, j] = x[i, j] + y[j, i]
    return out


@_compiled
def _concat(parts):  # type: ignore[no-untyped-def]
    dim = parts[0].shape[1]
    out = np.empty((parts[0].shape[0], dim * len(parts)), np.float32)
    for b in prange(out.shape[0]):
        for t in range(len(parts)):
            for d in range(dim):
                out[b, t * dim + d] = parts[t][b, d]
    return out


@_compiled
def _bags_concat(ids, tables):  # type: ignore[no-untyped-def]
    dim = tables[0].shape[1]
    out = np.zeros((ids[0].shape[0], dim * len(tables)), np.float32)
    for b in prange(out.shape[0]):
        for t in range(len(tables)):
            for n in range(ids[t].shape[1]):
                row = ids[t][b, n]
                for d in range(dim):
                    out[b, t * dim + d] += tables[t][row, d]
    return out


@_compiled
def _interaction(x, rows, columns):  # type: ignore[no-untyped-def]
    dim = x.shape[2]
    out = np.empty((x.shape[0], dim + rows.shape[0]), np.float32)
    for b in prange(x.shape[0]):
        for d in range(dim):
            out[b, d] = x[b, 0, d]
        for p in range(rows.shape[0]):
            total = np.float32(0.0)
            for d in range(dim):
                total += x[b, rows[p], d] * x[b, columns[p], d]
            out[b, dim + p] = total
    return out


@_compiled
def _hashed_bag(ids, table):  # type: ignore[no-untyped-def]
    out = np.zeros((ids.shape[0], table.shape[1]), np.float32)
    for b in prange(ids.shape[0]):
        for n in range(ids.shape[1]):
            row = (ids[b, n] * MULTIPLIER + OFFSET) % table.shape[0]
            for d in range(table.shape[1]):
                out[b, d] += table[row, d]
    return out


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "layer_norm": _layer_norm,
    "rms_norm_residual": _rms_norm_residual,
    "bias_gelu": _bias_gelu,
    "swiglu": _swiglu,
    "sigmoid_chain": _sigmoid_chain,
    "sigmoid_bce": _sigmoid_bce,
    "transpose_add": _transpose_add,
    "concat": _concat,
    "bags_concat": _bags_concat,
    "interaction": _interaction,
    "hashed_bag": _hashed_bag,
}

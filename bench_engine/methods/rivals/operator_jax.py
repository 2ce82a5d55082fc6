"""JaxOperator: memory-bound operators in JAX, compiled by XLA for the CPU."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import torch
from torch import Tensor

from bench_engine.methods.operators.memory_operators import MULTIPLIER, OFFSET, Inputs, Operator
from bench_engine.methods.operators.operator_methods import OperatorMethod

_UNROLL = 16  # as in the embedding bag of JAX beside this: gathers and sums become one loop

jax.config.update("jax_cpu_enable_async_dispatch", False)  # every call is waited for
jax.config.update("jax_enable_x64", True)  # the hash needs int64; float32 stays what it is


class JaxOperator(OperatorMethod):
    """A function of JAX arrays, compiled for these shapes and waited for. Inference only."""

    def __init__(self, operator: Operator, inputs: Inputs) -> None:
        super().__init__(operator, inputs)
        self._run = jax.jit(_FUNCTIONS[operator.name])

    def prepare(self, inputs: Inputs) -> list[jax.Array]:
        """Arrays of JAX's own."""
        return [jnp.array(tensor.numpy()) for tensor in inputs]

    def __call__(self, prepared: list[jax.Array]) -> jax.Array:
        """The output, waited for."""
        return self._run(*prepared).block_until_ready()

    def as_tensor(self, output: Any) -> Tensor:
        """The same memory as a tensor."""
        return torch.from_dlpack(output)


def _layer_norm(x: Any, w: Any, b: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + jnp.float32(1e-5)) * w + b


def _rms_norm_residual(x: Any, y: Any, w: Any) -> Any:
    both = x + y
    return both * jax.lax.rsqrt((both * both).mean(-1, keepdims=True) + jnp.finfo(jnp.float32).eps) * w


def _sigmoid_bce(x: Any, y: Any) -> Any:
    return (jnp.maximum(x, 0) - x * y + jnp.log1p(jnp.exp(-jnp.abs(x)))).mean()


def _interaction(x: Any, rows: Any, columns: Any) -> Any:
    products = jnp.einsum("bfd,bgd->bfg", x, x)
    return jnp.concatenate([x[:, 0], products.at[:, rows, columns].get(mode="promise_in_bounds")], 1)


def _bag(table: Any, ids: Any) -> Any:
    start = jnp.zeros((ids.shape[0], table.shape[1]), table.dtype)

    def add(total: Any, one: Any) -> tuple[Any, None]:
        return total + table.at[one].get(mode="promise_in_bounds"), None

    return jax.lax.scan(add, start, ids.T, unroll=_UNROLL)[0]


def _bags(*given: Any) -> Any:
    half = len(given) // 2
    return jnp.concatenate([_bag(w, ids) for ids, w in zip(given[:half], given[half:], strict=True)], 1)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "softmax": lambda x: jax.nn.softmax(x, -1),
    "log_softmax": lambda x: jax.nn.log_softmax(x, -1),
    "layer_norm": _layer_norm,
    "rms_norm_residual": _rms_norm_residual,
    "bias_gelu": lambda x, b: jax.nn.gelu(x + b, approximate=False),
    "swiglu": lambda x, y: jax.nn.silu(x) * y,
    "sigmoid_chain": lambda x: jax.nn.sigmoid(jax.nn.sigmoid(x) * 2 - 1) * x,
    "sigmoid_bce": _sigmoid_bce,
    "transpose_add": lambda x, y: x + y.T,
    "concat": lambda *parts: jnp.concatenate(parts, 1),
    "bags_concat": _bags,
    "interaction": _interaction,
    "hashed_bag": lambda ids, table: _bag(table, (ids * MULTIPLIER + OFFSET) % table.shape[0]),
}

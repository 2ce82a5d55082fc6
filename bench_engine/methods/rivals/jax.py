"""JaxEmbeddingBag: gathers and their reduction in JAX, compiled by XLA for the CPU."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import Tensor

from bench_engine.methods.rivals.table import RivalTable

_UNROLL = 16  # of the bag's ids at a time: XLA fuses their gathers and sums into one loop
_MOST_ROWS = 2**31  # ids are int32, as JAX has them by default

# Every call is waited for, so handing it to another thread would only cost time.
jax.config.update("jax_cpu_enable_async_dispatch", False)


class JaxEmbeddingBag(RivalTable):
    """A loop over the ids of a bag, compiled for each shape, at the first call with it.

    Each turn of the loop gathers one row per bag and adds it. That way of writing it was the fastest of those tried:
    `table[ids].sum(1)`, for which XLA writes all gathered rows to memory first, took several times as long. The table
    shares its memory with `weight`. Ids are not looked at: one out of range is undefined. Inference only.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, compression: float = 1.0, mode: str = "sum") -> None:
        if num_embeddings > _MOST_ROWS:
            raise ValueError(f"JAX's ids are int32: num_embeddings must be at most 2^31, not {num_embeddings}")
        super().__init__(num_embeddings, embedding_dim, compression, mode)
        self._table = jax.dlpack.from_dlpack(self.weight.detach())
        self._pool = jax.jit(_POOLS[mode])

    def prepare(self, input: Tensor) -> jax.Array:
        """The ids (B, L), int32."""
        return jnp.asarray(input.numpy().astype(np.int32))

    def lookup(self, request: jax.Array) -> jax.Array:
        """The pooled vectors (B, D), waited for."""
        return self._pool(self._table, request).block_until_ready()

    def as_tensor(self, output: Any) -> Tensor:
        """The same memory as a tensor."""
        return torch.from_dlpack(output)


def _rows(table: jax.Array, ids: jax.Array) -> jax.Array:
    return table.at[ids].get(mode="promise_in_bounds")


def _sum(table: jax.Array, ids: jax.Array) -> jax.Array:
    start = jnp.zeros((ids.shape[0], table.shape[1]), table.dtype)
    return jax.lax.scan(lambda total, one: (total + _rows(table, one), None), start, ids.T, unroll=_UNROLL)[0]


def _mean(table: jax.Array, ids: jax.Array) -> jax.Array:
    return _sum(table, ids) / ids.shape[1]


def _max(table: jax.Array, ids: jax.Array) -> jax.Array:
    start = jnp.full((ids.shape[0], table.shape[1]), -jnp.inf, table.dtype)
    return jax.lax.scan(lambda most, one: (jnp.maximum(most, _rows(table, one)), None), start, ids.T, unroll=_UNROLL)[0]


_POOLS = {"sum": _sum, "mean": _mean, "max": _max}

"""Embedding tables whose rows are stored in one byte a number, or less, and trained so, with stochastic rounding.

From outside: frozen_table, mixed_precision, padded_pooling, quantized_embedding_bag, quantized_fiited,
quantized_optimizer, quantized_table.
"""

from bench_engine.kernels.quantized.frozen_table import FrozenTable
from bench_engine.kernels.quantized.mixed_precision import MixedPrecisionEmbeddingBag
from bench_engine.kernels.quantized.quantized_embedding_bag import (
    QuantizedEmbeddingBag,
    QuantizedQuotientRemainderEmbeddingBag,
)
from bench_engine.kernels.quantized.quantized_fiited import QuantizedFIITEDEmbeddingBag
from bench_engine.kernels.quantized.quantized_optimizer import QuantizedOptimizer

__all__ = [
    "FrozenTable",
    "MixedPrecisionEmbeddingBag",
    "QuantizedEmbeddingBag",
    "QuantizedFIITEDEmbeddingBag",
    "QuantizedOptimizer",
    "QuantizedQuotientRemainderEmbeddingBag",
]

"""PyTorch modules and ops that anyone can import into a model; imports nothing else of this repository."""

from bench_engine.kernels.dense import DenseEmbeddingBag
from bench_engine.kernels.extension import CompileError, CompilerMissingError, KernelsNotBuiltError, build
from bench_engine.kernels.hashed_embedding_bag import HashedEmbeddingBag
from bench_engine.kernels.hashed_reference import HashedEmbeddingBagReference
from bench_engine.kernels.quotient_remainder import QuotientRemainderEmbeddingBag
from bench_engine.kernels.small_dim import SmallDimEmbeddingBag

__all__ = [
    "CompileError",
    "CompilerMissingError",
    "DenseEmbeddingBag",
    "HashedEmbeddingBag",
    "HashedEmbeddingBagReference",
    "KernelsNotBuiltError",
    "QuotientRemainderEmbeddingBag",
    "SmallDimEmbeddingBag",
    "build",
]

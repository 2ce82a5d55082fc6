"""PyTorch modules and ops that anyone can import into a model; imports nothing else of this repository.

Each name is loaded on first use: `extension` says whether the kernels are built without the seconds torch takes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench_engine.kernels.compressed.dense import DenseEmbeddingBag
    from bench_engine.kernels.compressed.quotient_remainder import QuotientRemainderEmbeddingBag
    from bench_engine.kernels.compressed.small_dim import SmallDimEmbeddingBag
    from bench_engine.kernels.hashed.hashed_embedding_bag import HashedEmbedding, HashedEmbeddingBag
    from bench_engine.kernels.hashed.hashed_original import HashedEmbeddingBagOriginal
    from bench_engine.kernels.hashed.hashed_reference import HashedEmbeddingBagReference
    from bench_engine.kernels.native.extension import CompileError, CompilerMissingError, KernelsNotBuiltError, build

__all__ = [
    "CompileError",
    "CompilerMissingError",
    "DenseEmbeddingBag",
    "HashedEmbedding",
    "HashedEmbeddingBag",
    "HashedEmbeddingBagOriginal",
    "HashedEmbeddingBagReference",
    "KernelsNotBuiltError",
    "QuotientRemainderEmbeddingBag",
    "SmallDimEmbeddingBag",
    "build",
]

_MODULES = {
    "CompileError": "native.extension",
    "CompilerMissingError": "native.extension",
    "DenseEmbeddingBag": "compressed.dense",
    "HashedEmbedding": "hashed.hashed_embedding_bag",
    "HashedEmbeddingBag": "hashed.hashed_embedding_bag",
    "HashedEmbeddingBagOriginal": "hashed.hashed_original",
    "HashedEmbeddingBagReference": "hashed.hashed_reference",
    "KernelsNotBuiltError": "native.extension",
    "QuotientRemainderEmbeddingBag": "compressed.quotient_remainder",
    "SmallDimEmbeddingBag": "compressed.small_dim",
    "build": "native.extension",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Embedding vectors that find their own dimension in training, after FIITED (Luo et al. 2024, arXiv:2401.04408)."""

from bench_engine.kernels.fiited.bag import FIITEDEmbeddingBag
from bench_engine.kernels.fiited.export import FrozenFIITEDEmbeddingBag, to_dense, to_frozen
from bench_engine.kernels.fiited.optimizer import FIITEDOptimizer
from bench_engine.kernels.fiited.pruning import PruneEvent, PruneForecast
from bench_engine.kernels.fiited.sharded.processes import LostProcessError
from bench_engine.kernels.fiited.sharded.sharded_bag import ShardedFIITEDEmbeddingBag

__all__ = [
    "FIITEDEmbeddingBag",
    "FIITEDOptimizer",
    "FrozenFIITEDEmbeddingBag",
    "LostProcessError",
    "PruneEvent",
    "PruneForecast",
    "ShardedFIITEDEmbeddingBag",
    "to_dense",
    "to_frozen",
]

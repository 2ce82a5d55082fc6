"""All tables of a model under one budget in bytes: each field gets the kind of rows that its lookups pay for.

From outside: allocation, compressed_embedding_bag, frozen_file, lookup_counts, post_training.
"""

from bench_engine.kernels.budget.compressed_embedding_bag import CompressedEmbeddingBag
from bench_engine.kernels.budget.frozen_fields import FrozenFields
from bench_engine.kernels.budget.frozen_file import open_frozen, save_frozen
from bench_engine.kernels.budget.lookup_counts import LookupCounts
from bench_engine.kernels.budget.post_training import compress, decompress

__all__ = [
    "CompressedEmbeddingBag",
    "FrozenFields",
    "LookupCounts",
    "compress",
    "decompress",
    "open_frozen",
    "save_frozen",
]

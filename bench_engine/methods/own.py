"""Methods of one embedding bag: tables of every kind, those that are pruned in training, and torch's own.

To add one, write its module in bench_engine/kernels and add its entry here: it then shows up in sweeps, on the New run
page, in `list` and in questions. A method goes with the benchmarks that can run it: BAGS with lookup, training and
collisions, PLAIN and QUANTIZED with lookup and training, TRAINED with training, STEPS with embedding_step. A method
that takes an axis (`arguments`) has that axis.
"""

import math
from collections.abc import Mapping
from functools import partial

from bench_engine.methods.method import Method, Reads, by_name, whole_rows
from bench_engine.trial import Scalar

# What torch has in the benchmark embedding_step: no prune events, and no Adagrad with one slot per row.
_TORCH_STEP = {
    "direction": ("forward", "forward_backward", "forward_backward_update"),
    "optimizer": ("sgd", "adagrad", "adam"),
}


def _blocks(config: Mapping[str, Scalar]) -> Reads:
    """Elements that share a hash lie behind one another, at any slot."""
    dim, block = int(config["embedding_dim"]), int(config.get("block_size", 1))
    return Reads(math.ceil(dim / block), 4 * min(dim, block), grain=4)


def _short_rows(config: Mapping[str, Scalar]) -> Reads:
    return Reads(1, 4 * math.floor(int(config["embedding_dim"]) * float(config["compression"]) + 0.5))


_hashed = partial(
    Method,
    implementation="bench_engine.kernels.hashed.hashed_embedding_bag:HashedEmbeddingBag",
    reads=_blocks,
    sources=("csrc/hashed",),
    needs_build=True,
)
_DENSE = "bench_engine.kernels.compressed.dense:DenseEmbeddingBag"

BAGS = by_name(
    Method(
        "dense",
        "torch.nn.EmbeddingBag, every row with all its dimensions",
        _DENSE,
        compressible=False,
        supports=_TORCH_STEP,
        reads=whole_rows(),
    ),
    Method(
        "small_dim",
        "every row with fewer dimensions, brought back to D by a learned matrix",
        "bench_engine.kernels.compressed.small_dim:SmallDimEmbeddingBag",
        reads=_short_rows,
    ),
    _hashed("hashed", "elements of a virtual table hashed into one small buffer, C++ kernel"),
    Method(
        "hashed_reference",
        "the hashed embedding bag in plain PyTorch: the baseline everyone would write",
        "bench_engine.kernels.hashed.hashed_reference:HashedEmbeddingBagReference",
        reads=_blocks,
    ),
    Method(
        "hashed_original",
        "the hashed embedding bag as the original project computes it: scalar C++ forward, backward by a sort",
        "bench_engine.kernels.hashed.hashed_original:HashedEmbeddingBagOriginal",
        sources=("csrc/hashed_original",),
        needs_build=True,
        reads=_blocks,
    ),
    _hashed(
        "hashed_mix64",
        "the hashed embedding bag with a seeded 64-bit mixer as hash, C++ kernel",
        fixed={"hash": "mix64"},
    ),
    _hashed(
        "hashed_signed",
        "hashed_mix64 with a second hash that gives elements a sign (Chen et al. 2015)",
        fixed={"hash": "mix64", "signs": True},
    ),
    _hashed(
        "hashed_block",
        "hashed_mix64 with blocks of neighbours that share one hash, as in ROBE (Desai et al. 2022)",
        arguments={"block_size": "block_size"},
        fixed={"hash": "mix64"},
    ),
    Method(
        "row_modulo",
        "whole rows shared: row id mod R (Weinberger et al. 2009)",
        "bench_engine.kernels.compressed.row_hashing:RowModuloEmbeddingBag",
        reads=whole_rows(),
    ),
    Method(
        "double_hash",
        "the sum of two rows, by two hashes of the id (Zhang et al. 2020)",
        "bench_engine.kernels.compressed.row_hashing:DoubleHashEmbeddingBag",
        reads=whole_rows(2),
    ),
    Method(
        "quotient_remainder",
        "product of a remainder row and a quotient row (Shi et al. 2020)",
        "bench_engine.kernels.compressed.quotient_remainder:QuotientRemainderEmbeddingBag",
        reads=whole_rows(2),
    ),
)

# A backward pass records what the step of their own optimizer sums up, so that timed alone it would flatter them. Their
# kernels pool sums and means.
_quantized = partial(
    Method,
    sources=("csrc/quantized",),
    needs_build=True,
    supports={"direction": ("forward",), "pooling_mode": ("sum", "mean")},
)
_SCALE = 2  # bytes
_QUANTIZED = "bench_engine.kernels.quantized.quantized_embedding_bag"

QUANTIZED = by_name(
    _quantized(
        "int8",
        "every row in a byte a number and a scale, trained with stochastic rounding, C++ kernel",
        f"{_QUANTIZED}:QuantizedEmbeddingBag",
        compressible=False,
        reads=whole_rows(number_bytes=1, beside=_SCALE),
    ),
    _quantized(
        "alpt",
        "int8 whose scales are learned with the numbers (ALPT, Li et al. 2023)",
        f"{_QUANTIZED}:QuantizedEmbeddingBag",
        compressible=False,
        fixed={"learned_step": 1.0},
        reads=whole_rows(number_bytes=1, beside=_SCALE),
    ),
    _quantized(
        "int8_qr",
        "quotient_remainder with rows of a byte a number and a scale, trained with stochastic rounding, C++ kernel",
        f"{_QUANTIZED}:QuantizedQuotientRemainderEmbeddingBag",
        reads=whole_rows(2, number_bytes=1, beside=_SCALE),
    ),
)

# A network in the place of a table, and factors that all start at 1: what they share at the start is no collision.
PLAIN = by_name(
    Method(
        "memcom",
        "shared rows, row id mod R, each id with a factor of its own (MEmCom, Pansare et al. 2022)",
        "bench_engine.kernels.compressed.memcom:MemcomEmbeddingBag",
    ),
    Method(
        "dhe",
        "no table: a small network makes vectors from hashes of the id (DHE, Kang et al. 2021)",
        "bench_engine.kernels.compressed.deep_hash:DeepHashEmbeddingBag",
    ),
)

_fiited = partial(
    Method, implementation="bench_engine.methods.fiited_method:FIITEDMethod", sources=("csrc/fiited",), needs_build=True
)
_PRUNE_ARGUMENTS = {"prune_interval": "interval", "decay": "decay", "prune_scope": "scope", "layout": "layout"}
_CHUNK_ARGUMENTS = {"num_chunks": "num_chunks", **_PRUNE_ARGUMENTS}

_CAFE = "bench_engine.kernels.compressed.cafe:CafeEmbeddingBag"

# Those that training, or the fields and lookups of what they are trained on, decides what they keep.
TRAINED = by_name(
    _fiited(
        "fiited",
        "FIITED: chunks of vectors live or are pruned by utility while they train (Luo et al. 2024)",
        arguments={**_CHUNK_ARGUMENTS, "utility_score": "score"},
    ),
    _fiited(
        "fiited_frequency",
        "FIITED with utility by frequency alone",
        arguments=_CHUNK_ARGUMENTS,
        fixed={"score": "frequency"},
    ),
    _fiited(
        "adaembed",
        "whole vectors live or are pruned by frequency times gradient, as AdaEmbed has it (Lai et al. 2023)",
        arguments=_PRUNE_ARGUMENTS,
        fixed={"num_chunks": 1, "score": "frequency*gradient"},
    ),
    _fiited(
        "frequency_pruned",
        "whole vectors live or are pruned by frequency, as TorchRec's ITEP has it",
        arguments=_PRUNE_ARGUMENTS,
        fixed={"num_chunks": 1, "score": "frequency"},
    ),
    Method(
        "cafe",
        "rows of their own for the ids of the largest gradients, moved while it trains, shared ones for others (CAFE)",
        _CAFE,
    ),
    Method("cafe_ml", "cafe with a second shared table for ids of middling gradients", _CAFE, fixed={"levels": 2}),
    Method(
        "cce",
        "parts of vectors that ids share, found by clustering while it trains, a byte for each code (CCE)",
        "bench_engine.kernels.compressed.clustered:ClusteredEmbeddingBag",
    ),
    Method(
        "mde",
        "a dimension for each field, fewer for more rows, brought back to D by learned matrices (Ginart et al. 2019)",
        "bench_engine.kernels.compressed.mixed_dimension:MixedDimensionEmbeddingBag",
    ),
    Method(
        "mixed_precision",
        "float16, int8, int4 or no row, by how often an id is looked up in the training part (after MPE)",
        "bench_engine.kernels.quantized.mixed_precision:MixedPrecisionEmbeddingBag",
        sources=("csrc/quantized",),
        needs_build=True,
    ),
    Method(
        "fiited_int8",
        "FIITED over int8 rows: who lives is decided in buckets of one cache line; compression counts all bytes",
        "bench_engine.kernels.quantized.quantized_fiited:QuantizedFIITEDEmbeddingBag",
        sources=("csrc/quantized",),
        needs_build=True,
        supports={"direction": ("forward", "forward_backward_update"), "optimizer": ("sgd", "rowwise_adagrad")},
    ),
    Method(
        "field_budget",
        "all fields under one budget in bytes: int8 rows whole, shared or for frequent ids alone, by their lookups",
        "bench_engine.methods.budget_method:BudgetMethod",
        sources=("csrc/quantized",),
        needs_build=True,
    ),
    Method(
        "static_frequency",
        "a vector for each of the ids that are most frequent in the training part, one for all others",
        "bench_engine.kernels.compressed.static_frequency:StaticFrequencyEmbeddingBag",
    ),
)

STEPS = by_name(
    Method(
        "dense_gradient",
        "torch.nn.EmbeddingBag with gradients as large as the table, and torch's optimizer for them",
        "torch.nn:EmbeddingBag",
        compressible=False,
        supports={**_TORCH_STEP, "optimizer": ("sgd", "adagrad")},
    )
)

# For bench_engine.selfcheck alone: they stand in no list, and no sweep knows them.
SELF_CHECK = by_name(
    Method("dense_again", "the very same as dense", _DENSE, compressible=False),
    Method(
        "dense_slowed",
        "dense, slowed by ten per cent",
        "bench_engine.selfcheck.slowed:SlowedDenseEmbeddingBag",
        compressible=False,
    ),
    *(
        Method(
            name,
            f"{repeats} lookups of dense in a call",
            "bench_engine.selfcheck.repeated:RepeatedDenseEmbeddingBag",
            compressible=False,
            fixed={"repeats": repeats},
        )
        for name, repeats in (("dense_100_again", 100), *((f"dense_{n}", n) for n in (100, 102, 103, 105, 110, 150)))
    ),
)


def taking(axis: str) -> tuple[str, ...]:
    """Names of the methods whose constructor takes an axis."""
    return tuple(name for name, m in {**BAGS, **TRAINED}.items() if axis in m.arguments)

"""Methods of many tables looked up together, which grouped_lookup runs: torch's own, Parallel OP and gir."""

from functools import partial

from bench_engine.kernels.native import cache
from bench_engine.methods.method import Method, by_name

# What all of them are made of: the models, and what a method is.
GROUPED_SOURCES = ("bench_engine/methods/grouped_models.py", "bench_engine/methods/grouped_methods.py")
OP_ONLY: dict[str, tuple[str, ...]] = {"model": ("op",)}
# Compiles in its own process: helpers of it would stay beside the measurement.
INDUCTOR = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": str(cache.folder() / "inductor")}
# Choices are kept apart from those of its other uses; the file's name has the build in it.
_CHOICES = {"MIRROR_PARALLEL_OP_CACHE": str(cache.folder() / "parallel_op")}
_SWITCHED_ON = {"MIRROR_PARALLEL_OP": "1", **_CHOICES}
# The package as a whole: torch itself loads parts of it, by entry points.
_parallel_op = partial(
    Method,
    compressible=False,
    sources=(*GROUPED_SOURCES, "bench_engine/kernels/parallel_op", "csrc/grouped", "csrc/side_by_side", "csrc/python"),
    needs_build=True,
    variables=_SWITCHED_ON,
)

GROUPED = by_name(
    Method(
        "eager",
        "torch.nn.EmbeddingBag modules one after another, and whatever model is around them: untouched",
        "bench_engine.methods.grouped_methods:Eager",
        compressible=False,
        sources=GROUPED_SOURCES,
    ),
    _parallel_op(
        "parallel_op",
        "the same untouched script and model, started with MIRROR_PARALLEL_OP=1",
        "bench_engine.methods.grouped_parallel:ParallelOp",
    ),
    _parallel_op(
        "parallel_op_settled",
        "the same as parallel_op, once its calls have paid for all that waits for them: huge pages, a graph of its own",
        "bench_engine.methods.grouped_parallel:ParallelOpSettled",
    ),
    _parallel_op(
        "parallel_op_backend",
        'the same untouched model through torch.compile(backend="parallel_op")',
        "bench_engine.methods.grouped_parallel:ParallelOpBackend",
    ),
    _parallel_op(
        "parallel_op_inductor",
        "the same untouched model through torch.compile (Inductor), started with MIRROR_PARALLEL_OP=1",
        "bench_engine.methods.grouped_parallel:ParallelOpInductor",
        needs_compiler=True,
        variables={**_SWITCHED_ON, **INDUCTOR},
    ),
    Method(
        "gir",
        'the same untouched model through torch.compile(backend="gir"), the memory-first compiler',
        "bench_engine.methods.grouped_gir:GirModel",
        compressible=False,
        sources=(*GROUPED_SOURCES, "bench_engine/kernels/gir/cpu/prelude.h"),
        needs_compiler=True,
    ),
    _parallel_op(
        "grouped_embedding",
        "GroupedEmbeddingBag: the op of Parallel OP called directly",
        "bench_engine.methods.grouped_parallel:GroupedEmbedding",
        supports=OP_ONLY,
        variables=_CHOICES,
    ),
)

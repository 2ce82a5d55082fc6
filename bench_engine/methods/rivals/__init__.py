"""Rivals: other people's embedding bags as methods. The entries load neither torch nor any rival.

Each has a file here, but for Inductor of grouped lookups, which Parallel OP builds on too. All keep dense tables: those
of one lookup are compared with `dense`, those of grouped lookups and of memory-bound operators with `eager`. They run
where their packages are.

From outside: the names here.
"""

from functools import partial

from bench_engine.methods.grouped import GROUPED_SOURCES, INDUCTOR, OP_ONLY
from bench_engine.methods.method import Method, whole_rows
from bench_engine.methods.operators import OPERATOR_SOURCES
from bench_engine.trial import Scalar

_Supported = dict[str, tuple[Scalar, ...]]
_INFERENCE: _Supported = {"direction": ("forward",)}
_FBGEMM = ("torch==2.13.0", "fbgemm-gpu-cpu==1.8.0")
_ZENTORCH = ("torch==2.13.0", "zentorch==2.13.0.2")
_ONNX = ("onnxruntime==1.31.0", "onnx==1.23.2")
_JAX = ("jax==0.10.2", "jaxlib==0.10.2")
_OF_JAX = {"JAX_PLATFORMS": "cpu", "NPROC": "{threads}"}  # NPROC: threads of XLA's pool on a CPU
_rival = partial(Method, compressible=False)
_grouped = partial(_rival, sources=GROUPED_SOURCES)
_operator = partial(_rival, sources=OPERATOR_SOURCES)

_table = partial(_rival, reads=whole_rows())

LOOKUP_RIVALS: tuple[Method, ...] = (
    _table(
        "inductor",
        "torch.compile (Inductor) of torch's own embedding bag",
        "bench_engine.methods.rivals.inductor:InductorEmbeddingBag",
        needs_compiler=True,
        variables=INDUCTOR,
    ),
    _table(
        "fbgemm_tbe",
        "FBGEMM's table-batched embedding with one table, dense gradients",
        "bench_engine.methods.rivals.fbgemm_tbe:FbgemmTbe",
        packages=_FBGEMM,
        supports={"pooling_mode": ("sum", "mean")},
    ),
    _table(
        "zentorch",
        "the embedding bag of zentorch, AMD's kernels for PyTorch on EPYC",
        "bench_engine.methods.rivals.zentorch:ZentorchEmbeddingBag",
        packages=_ZENTORCH,
        supports=_INFERENCE,
    ),
    _table(
        "onnxruntime",
        "ONNX Runtime: Gather, then a reduction",
        "bench_engine.methods.rivals.onnxruntime:OnnxRuntimeEmbeddingBag",
        packages=_ONNX,
        supports=_INFERENCE,
    ),
    _table(
        "jax",
        "JAX: gathers and their reduction fused by XLA",
        "bench_engine.methods.rivals.jax:JaxEmbeddingBag",
        packages=_JAX,
        supports=_INFERENCE,
        variables=_OF_JAX,
    ),
)

_NO_MAX: _Supported = {"pooling_mode": ("sum", "mean")}
# ZenDNN's numbers of the ways in which it shares a group of tables among threads.
_SCHEDULES = {
    "table": ("1", "each thread takes tables of its own, which is its default"),
    "batch": ("2", "all threads share the bags of each table"),
    "ccd": ("3", "threads of one core complex share a table's bags"),
    "hybrid": ("4", "its mixture of the others"),
}

GROUPED_RIVALS: tuple[Method, ...] = (
    _grouped(
        "jit_fork",
        "a task of torch.jit.fork for each embedding bag, in TorchScript",
        "bench_engine.methods.rivals.grouped_fork:JitFork",
    ),
    _grouped(
        "inductor_model",
        "torch.compile (Inductor) of the whole untouched model",
        "bench_engine.methods.grouped_inductor:InductorModel",
        needs_compiler=True,
        variables=INDUCTOR,
    ),
    _grouped(
        "zentorch_compile",
        "torch.compile of the whole untouched model with zentorch's backend, which groups embedding bags",
        "bench_engine.methods.rivals.grouped_zentorch:ZentorchCompile",
        needs_compiler=True,
        packages=_ZENTORCH,
        supports=_INFERENCE,
        variables=INDUCTOR,
    ),
    *(
        _grouped(
            f"zentorch_{name}",
            f"zentorch's grouped embedding bag called directly: {text}",
            "bench_engine.methods.rivals.grouped_zentorch:ZentorchGroup",
            packages=_ZENTORCH,
            supports=_INFERENCE | OP_ONLY,
            variables={"ZENDNNL_EMBAG_THREAD_ALGO": number},
        )
        for name, (number, text) in _SCHEDULES.items()
    ),
    _grouped(
        "fbgemm_tbe_grouped",
        "FBGEMM's table-batched embedding with all tables, dense gradients; ids joined before the clock starts",
        "bench_engine.methods.rivals.grouped_fbgemm:Tbe",
        packages=_FBGEMM,
        supports=_NO_MAX | OP_ONLY,
    ),
    _grouped(
        "fbgemm_tbe_joined",
        "the same with the time of joining the ids of all tables into the form that it takes",
        "bench_engine.methods.rivals.grouped_fbgemm:TbeJoined",
        packages=_FBGEMM,
        supports=_NO_MAX | OP_ONLY,
    ),
    _grouped(
        "fbgemm_int_nbit",
        "FBGEMM's inference embedding with float32 rows; ids joined before the clock starts, and not checked",
        "bench_engine.methods.rivals.grouped_fbgemm:IntNBit",
        packages=_FBGEMM,
        supports=_INFERENCE | _NO_MAX | OP_ONLY,
    ),
)

# Of memory-bound operators; those that run lookups too are called the same there.
OPERATOR_RIVALS: tuple[Method, ...] = (
    _operator(
        "inductor",
        "torch.compile (Inductor) of torch's own operators",
        "bench_engine.methods.rivals.operator_inductor:InductorOperator",
        needs_compiler=True,
        variables=INDUCTOR,
    ),
    _operator(
        "inductor_freezing",
        "torch.compile (Inductor) with the option freezing",
        "bench_engine.methods.rivals.operator_inductor:InductorFreezing",
        needs_compiler=True,
        supports=_INFERENCE,
        variables=INDUCTOR,
    ),
    _operator(
        "inductor_cpp",
        "torch.compile (Inductor) with the option cpp_wrapper",
        "bench_engine.methods.rivals.operator_inductor:InductorCpp",
        needs_compiler=True,
        supports=_INFERENCE,
        variables=INDUCTOR,
    ),
    _operator(
        "onnxruntime",
        "ONNX Runtime: a graph of its own operators",
        "bench_engine.methods.rivals.operator_onnx:OnnxRuntimeOperator",
        packages=_ONNX,
        supports=_INFERENCE,
    ),
    _operator(
        "jax",
        "JAX: jax.numpy and jax.nn, fused by XLA",
        "bench_engine.methods.rivals.operator_jax:JaxOperator",
        packages=_JAX,
        supports=_INFERENCE,
        variables=_OF_JAX,
    ),
    _operator(
        "numba",
        "Numba: loops over rows, compiled by LLVM",
        "bench_engine.methods.rivals.operator_numba:NumbaOperator",
        packages=("numba==0.68.1", "llvmlite==0.50.0"),
        supports=_INFERENCE,
        variables={"NUMBA_NUM_THREADS": "{threads}"},
    ),
)
_KNOWN = {m.name for m in LOOKUP_RIVALS}
RIVALS: tuple[Method, ...] = (*LOOKUP_RIVALS, *GROUPED_RIVALS, *(m for m in OPERATOR_RIVALS if m.name not in _KNOWN))

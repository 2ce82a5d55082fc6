"""Rivals: other people's embedding bags as methods. The entries load neither torch nor any rival.

Each has a file here. All keep the dense table, so they are compared with `dense`, and run where their packages are.
"""

from pathlib import Path

from bench_engine.method import Method

_ROOT = Path(__file__).resolve().parents[2]
_SHARED = ("bench_engine/kernels/bags.py", "bench_engine/rivals/table.py")
_INFERENCE = {"direction": ("forward",)}

RIVALS: tuple[Method, ...] = (
    Method(
        "inductor",
        "torch.compile (Inductor) of torch's own embedding bag",
        "bench_engine.rivals.inductor:InductorEmbeddingBag",
        compressible=False,
        sources=("bench_engine/kernels/bags.py", "bench_engine/kernels/dense.py", "bench_engine/rivals/inductor.py"),
        needs_compiler=True,
        # Compiles in its own process: helpers of it would stay beside the measurement.
        variables={"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": str(_ROOT / "build" / "inductor")},
    ),
    Method(
        "fbgemm_tbe",
        "FBGEMM's table-batched embedding with one table, dense gradients",
        "bench_engine.rivals.fbgemm_tbe:FbgemmTbe",
        compressible=False,
        sources=(*_SHARED, "bench_engine/rivals/fbgemm_tbe.py"),
        packages=("torch==2.13.0", "fbgemm-gpu-cpu==1.8.0"),
        supports={"pooling_mode": ("sum", "mean")},
    ),
    Method(
        "zentorch",
        "the embedding bag of zentorch, AMD's kernels for PyTorch on EPYC",
        "bench_engine.rivals.zentorch:ZentorchEmbeddingBag",
        compressible=False,
        sources=(*_SHARED, "bench_engine/rivals/zentorch.py"),
        packages=("torch==2.13.0", "zentorch==2.13.0.2"),
        supports=_INFERENCE,
    ),
    Method(
        "onnxruntime",
        "ONNX Runtime: Gather, then a reduction",
        "bench_engine.rivals.onnxruntime:OnnxRuntimeEmbeddingBag",
        compressible=False,
        sources=(*_SHARED, "bench_engine/rivals/onnxruntime.py"),
        packages=("onnxruntime==1.31.0", "onnx==1.23.2"),
        supports=_INFERENCE,
    ),
    Method(
        "jax",
        "JAX: gathers and their reduction fused by XLA",
        "bench_engine.rivals.jax:JaxEmbeddingBag",
        compressible=False,
        sources=(*_SHARED, "bench_engine/rivals/jax.py"),
        packages=("jax==0.10.2", "jaxlib==0.10.2"),
        supports=_INFERENCE,
        variables={"JAX_PLATFORMS": "cpu", "NPROC": "{threads}"},  # NPROC: threads of XLA's pool on a CPU
    ),
)

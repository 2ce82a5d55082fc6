"""Memory-bound operators, which memory_ops times: what they are, and the ways of torch and gir to run them.

The ways of others are rivals. The entries load without torch.

From outside: the names here, memory_operators, operator_methods.
"""

from functools import partial

from bench_engine.methods.method import Method, by_name

# What all of them are made of: the operators, and what a way to run one is.
OPERATOR_SOURCES = (
    "bench_engine/methods/operators/memory_operators.py",
    "bench_engine/methods/operators/operator_methods.py",
)
_way = partial(Method, compressible=False, sources=OPERATOR_SOURCES)

OPERATORS = by_name(
    _way(
        "eager",
        "torch's own operators one after another, untouched",
        "bench_engine.methods.operators.operator_methods:EagerOperator",
    ),
    _way(
        "gir",
        'the memory-first compiler: gir.compile, or for training steps torch.compile(backend="gir")',
        "bench_engine.methods.operators.operator_gir:GirOperator",
        sources=(*OPERATOR_SOURCES, "bench_engine/kernels/gir/cpu/prelude.h"),
        needs_compiler=True,
    ),
)

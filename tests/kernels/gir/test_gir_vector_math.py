"""The mathematics of generated kernels against float64, in ulp, and at the edges of what floats are."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
import torch

from bench_engine.kernels.gir.backend import toolchain
from bench_engine.kernels.gir.cpu.codegen import unit
from bench_engine.kernels.gir.program.text import parse

# The largest error in ulp that is allowed, which is what docs/memory_compiler.md says.
ULP = {"exp": 1.0, "log": 1.0, "log1p": 1.5, "tanh": 1.5, "erf": 1.1, "sqrt": 0.5}
EXACT = {
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "erf": lambda x: torch.erf(torch.from_numpy(x)).numpy(),
    "sqrt": np.sqrt,
}
DOMAIN = {"log": (1e-38, 3e38), "log1p": (-0.999, 1e30), "sqrt": (0, 3e38), "exp": (-103, 88.7)}
# These are near what they say everywhere, and 0 or 1 far out.
NEAR = {"ndtr": 2e-7}
WIDTHS = sorted({4, 8, toolchain.vector_width()})


def text(op: str) -> str:
    return f"""
kernel k_{op}_all {{
  input x: f32[B]
  output y: f32[B]
  par b < B vec 16 unroll 2 {{
    %0 = load x[b]
    %1 = {op} %0
    store y[b], %1
  }}
}}
"""


@pytest.fixture(scope="module", params=WIDTHS)
def functions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict:
    library = tmp_path_factory.mktemp("math") / "math.so"
    names = [*ULP, *NEAR]
    kernels = [parse(text(op).replace("vec 16", f"vec {request.param}")) for op in names]
    toolchain.compile_unit(unit(kernels, request.param), Path(library))
    return dict(zip(names, toolchain.load(library, [kernel.name for kernel in kernels]), strict=True))


def run(function: ctypes._CFuncPtr, x: np.ndarray) -> np.ndarray:
    source, target = torch.from_numpy(x), torch.empty(len(x))
    assert function(toolchain.pointers([source, target]), len(x), 1) == 0
    return target.numpy()


def points(op: str) -> np.ndarray:
    random = np.random.default_rng(7)
    low, high = DOMAIN.get(op, (-20, 20))
    bits = random.integers(0, 1 << 32, 200_000, dtype=np.uint32).view(np.float32)
    bits = bits[np.isfinite(bits) & (bits >= low) & (bits <= high)]
    near = random.uniform(max(low, -12), min(high, 12), 300_000).astype(np.float32)
    small = (random.uniform(-1, 1, 100_000) * 10.0 ** random.uniform(-8, 0, 100_000)).astype(np.float32)
    small = small[(small >= low) & (small <= high)]
    return np.concatenate([bits, near, small, small + np.float32(1)])


@pytest.mark.parametrize("op", ULP)
def test_errors_in_ulp(op: str, functions: dict) -> None:
    x = points(op)
    exact = EXACT[op](x.astype(np.float64))
    found = run(functions[op], x).astype(np.float64)
    step = np.spacing(np.maximum(np.abs(exact), np.finfo(np.float32).tiny).astype(np.float32)).astype(np.float64)
    error = np.abs(found - exact) / step
    worst = int(error.argmax())
    assert error[worst] <= ULP[op], f"{op}({x[worst]!r}) is {error[worst]:.2f} ulp off"


@pytest.mark.parametrize("op", ULP)
def test_edges_are_those_of_ieee(op: str, functions: dict) -> None:
    tiny = np.float32(1e-45)
    x = np.array(
        [0, -0.0, np.inf, -np.inf, np.nan, tiny, -tiny, 1e-39, 1, -1, 3.4e38, -3.4e38, 89, -104, -95], np.float32
    )
    x = np.concatenate([x, np.repeat(x, 32)])  # beside others, and a vector of each
    with np.errstate(all="ignore"):
        exact = EXACT[op](x.astype(np.float64)).astype(np.float32)
    found = run(functions[op], x)
    assert np.array_equal(np.isnan(found), np.isnan(exact)), (x, found, exact)
    assert np.array_equal(np.isinf(found), np.isinf(exact)), (x, found, exact)
    assert np.allclose(found, exact, rtol=1e-6, atol=2e-45, equal_nan=True), (x, found, exact)


def test_the_normal_distribution_is_near_everywhere_and_makes_a_gelu(functions: dict) -> None:
    x = points("ndtr")
    exact = torch.special.ndtr(torch.from_numpy(x).double()).numpy()
    found = run(functions["ndtr"], x)
    assert np.abs(found - exact).max() <= NEAR["ndtr"]
    assert ((found >= 0) & (found <= 1 + NEAR["ndtr"])).all()
    assert not found[x < -5.5].any()  # or a gelu far out would be as large as what it is of
    gelu = found * x
    assert np.abs(gelu - x.astype(np.float64) * exact)[np.abs(x) < 6].max() <= 1.1e-6
    edges = np.array([0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-45], np.float32)
    assert np.allclose(run(functions["ndtr"], edges), [0.5, 0.5, 1, 0, np.nan, 1, 0, 0.5], atol=2e-7, equal_nan=True)

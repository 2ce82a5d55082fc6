"""Shows what a call of a compiled region costs, by layers: python -m tests.shows.gir_entry [ROUNDS]

One thread, without gradients, outputs fresh, the layers in turns in one process: the function as it is, the generated
kernel on memory that is ready (through ctypes, less what ctypes takes for a copy of no bytes), `gir.compile` entered in
C++ and in Python, and `torch.compile(backend="gir")`. Times are lower deciles of µs; what is above the kernel is the
median over rounds. Exits with 1 where the C++ is further above a kernel than it should be.
"""

import ctypes
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.kernels import gir
from bench_engine.kernels.gir.backend import toolchain
from bench_engine.kernels.native import extension

CALLS, WARM_UP, TABLES = 10, 300, 26
TARGET_US = 5.0  # above the kernel
LAYERS = ("eager", "kernel", "C++", "Python", "torch.compile")


def operators() -> dict[str, tuple[Callable[..., Any], list[Tensor]]]:
    """Each with its inputs; the last is a kernel beside an op that is none."""
    torch.manual_seed(0)
    tables = [torch.randn(10_000, 16) for _ in range(TABLES)]
    ids = [torch.randint(0, 10_000, (16, 1)) for _ in range(TABLES)]

    def bags(*ids: Tensor) -> Tensor:
        return torch.cat([F.embedding_bag(i, w, mode="sum") for i, w in zip(ids, tables, strict=True)], 1)

    return {
        "softmax 4 x 64": (lambda x: x.softmax(-1), [torch.randn(4, 64)]),
        "softmax 64 x 832": (lambda x: x.softmax(-1), [torch.randn(64, 832)]),
        "layer norm 16 x 256": (nn.LayerNorm(256), [torch.randn(16, 256)]),
        "26 bags 16 x 1": (bags, ids),
        "mlp 16 x 256": (nn.Sequential(nn.Linear(256, 64), nn.LayerNorm(64), nn.GELU()), [torch.randn(16, 256)]),
    }


def kernel(fast: gir.Compiled, inputs: list[Tensor]) -> list[Callable[[], Any]]:
    """The kernel of what was compiled, on memory of its own, and what ctypes takes; nothing where it is not alone."""
    (graph,) = fast.graphs.values()
    decisions = [decision for region in graph.regions.values() for decision in region.decisions.values()]
    if graph.places is None or decisions[0].kernel is None:
        return []
    address, made = decisions[0].told
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)
    batch = decisions[0].batch
    tensors = [inputs[place] if place >= 0 else graph.constants[~place] for place in graph.places]
    for dtype, *layout in made:
        tensors.append(torch.empty_strided(*([b * batch + c for b, c in part] for part in layout), dtype=dtype))
    pointers = toolchain.pointers(tensors)
    copy = ctypes.CDLL(None).memcpy
    copy.argtypes, copy.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t), ctypes.c_void_p
    # The tensors live as long as the call.
    return [lambda tensors=tensors: function(pointers, batch, 1), lambda: copy(pointers, pointers, 0)]


def layers(fn: Callable[..., Any], inputs: list[Tensor]) -> dict[str, Callable[[], Any]]:
    """The same call by each layer."""
    torch._dynamo.reset()
    dynamo = torch.compile(fn, backend="gir", dynamic=False)
    dynamo(*inputs)  # leaves marks on a module, after which that is captured anew
    fast = gir.compile(fn, inputs)
    real, extension.python_module_if_built = extension.python_module_if_built, lambda: None
    slow = gir.compile(fn, inputs)
    extension.python_module_if_built = real
    ways = {"eager": fn, "C++": fast, "Python": slow, "torch.compile": dynamo}
    expected = fn(*inputs)
    for way in ways.values():
        torch.testing.assert_close(way(*inputs), expected, rtol=1e-4, atol=1e-5)
    found = {name: (lambda way=way: way(*inputs)) for name, way in ways.items()}
    return {**found, **dict(zip(("kernel", "ctypes"), kernel(fast, inputs), strict=False))}


def measured(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, np.ndarray]:
    """Way -> µs of a call, of each round."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for call in ways.values():
        for _ in range(WARM_UP):
            call()
    for _ in range(rounds):
        for name, call in ways.items():
            start = perf_counter_ns()
            for _ in range(CALLS):
                call()
            taken[name].append((perf_counter_ns() - start) / 1e3 / CALLS)
    return {name: np.array(times) for name, times in taken.items()}


def main(rounds: int) -> None:
    """Prints a table; exits with 1 where an entry takes longer than it should."""
    torch.set_num_threads(1)
    late = False
    print("| call | " + " | ".join(LAYERS) + " | C++ above the kernel |\n|" + "---|" * (len(LAYERS) + 2))
    with torch.no_grad():
        for name, (fn, inputs) in operators().items():
            found = measured(layers(fn, inputs), rounds)
            if "kernel" in found:
                found["kernel"] = found["kernel"] - np.quantile(found.pop("ctypes"), 0.1)
            above = np.median(found["C++"] - found["kernel"]) if "kernel" in found else float("nan")
            late = late or above > TARGET_US
            told = [f"{np.quantile(found[way], 0.1):.1f}" if way in found else "-" for way in LAYERS]
            print(f"| {name} | " + " | ".join(told) + f" | {above:.1f} |", flush=True)
    print(f"at most {TARGET_US:.0f} µs above the kernel wanted")
    sys.exit(int(late))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

"""The memory-first compiler, after IntelliGen: memory-bound parts of a PyTorch program become one kernel each.

torch.compile(model, backend="gir")
fast = compile(fn, example_inputs)
print(explain(fn, example_inputs))
"""

from bench_engine.kernels.gir.compiling import compile, explain, gir
from bench_engine.kernels.native.calling import Compiled

__all__ = ["Compiled", "compile", "explain", "gir"]

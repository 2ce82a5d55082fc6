"""The memory-first compiler, after IntelliGen: memory-bound parts of a PyTorch program become one kernel each.

torch.compile(model, backend="gir")
fast = compile(fn, example_inputs)
print(explain(fn, example_inputs))
"""

from bench_engine.kernels.gir.compiling import Compiled, compile, explain, gir

__all__ = ["Compiled", "compile", "explain", "gir"]

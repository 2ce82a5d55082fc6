"""All methods, those of rivals among them."""

from bench_engine.methods.grouped import GROUPED
from bench_engine.methods.method import Method, by_name
from bench_engine.methods.operators import OPERATORS
from bench_engine.methods.own import BAGS, PLAIN, QUANTIZED, SELF_CHECK, STEPS, TRAINED
from bench_engine.methods.readers import READERS
from bench_engine.methods.rivals import OPERATOR_RIVALS, RIVALS
from bench_engine.registry.names import find

_OWN = {**BAGS, **PLAIN, **QUANTIZED, **TRAINED, **STEPS}
METHODS: dict[str, Method] = {**_OWN, **GROUPED, **by_name(*RIVALS), **READERS}
SELF_CHECK_METHODS = SELF_CHECK
# Benchmarks that run something else than others under the same names.
OF_BENCHMARK: dict[str, dict[str, Method]] = {"memory_ops": {**OPERATORS, **by_name(*OPERATOR_RIVALS)}}


def method(name: str, benchmark: str = "") -> Method:
    """A registered method as a benchmark runs it, or one of the engine's self-check. Raises UnknownNameError."""
    own = OF_BENCHMARK.get(benchmark, {}).get(name)
    return own or SELF_CHECK_METHODS.get(name) or find(name, METHODS, "method")

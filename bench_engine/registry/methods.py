"""All methods, those of rivals among them."""

from bench_engine.methods.grouped import GROUPED
from bench_engine.methods.method import Method, by_name
from bench_engine.methods.own import BAGS, QUANTIZED, SELF_CHECK, STEPS, TRAINED
from bench_engine.methods.readers import READERS
from bench_engine.methods.rivals import RIVALS
from bench_engine.registry.names import find

METHODS: dict[str, Method] = {**BAGS, **QUANTIZED, **TRAINED, **STEPS, **GROUPED, **by_name(*RIVALS), **READERS}
SELF_CHECK_METHODS = SELF_CHECK


def method(name: str) -> Method:
    """A registered method, or one of the engine's self-check. Raises UnknownNameError."""
    return SELF_CHECK_METHODS.get(name) or find(name, METHODS, "method")

"""Memory-bound operators of each rival that is installed are right, in a process of its own; its options are known."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
import torch
from torch._inductor import config

from bench_engine import registry
from bench_engine.benchmarks.memory_ops import output_error
from bench_engine.methods.operators.memory_operators import OPERATORS
from bench_engine.methods.rivals import OPERATOR_RIVALS
from bench_engine.methods.rivals.operator_inductor import InductorCpp, InductorFreezing, InductorOperator
from bench_engine.registry.readiness import SkipReasons


def errors(rival: str) -> dict[str, float]:
    """Operator -> largest difference from float64, on inputs that the method was made for and on others."""
    torch.set_num_threads(1)
    kind = registry.method(rival, "memory_ops").load()
    found = {}
    with torch.no_grad():
        for name, operator in OPERATORS.items():
            method = kind(operator, operator.inputs("in_l2", 0))
            found[name] = max(output_error(method, operator.inputs("in_l2", seed)) for seed in (0, 1))
    return found


@pytest.mark.parametrize("rival", [m.name for m in OPERATOR_RIVALS if m.packages])
def test_all_operators_are_right(rival: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := SkipReasons().of(rival, {}, "memory_ops"):
        pytest.skip(reason)
    for name, value in registry.method(rival, "memory_ops").environ(1).items():
        monkeypatch.setenv(name, value)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        found = process.submit(errors, rival).result()
    assert set(found) == set(OPERATORS)
    assert max(found.values()) < 1e-4


def test_inductor_knows_the_options() -> None:
    kinds: tuple[type[InductorOperator], ...] = (InductorFreezing, InductorCpp)
    assert [list(kind.options) for kind in kinds] == [["freezing"], ["cpp_wrapper"]]
    for kind in kinds:
        assert all(hasattr(config, option) for option in kind.options)
        kind(OPERATORS["softmax"], [])  # torch.compile refuses options that it does not know


@pytest.mark.parametrize("name", [m.name for m in OPERATOR_RIVALS if m.supports])
def test_what_they_cannot_run_is_said(name: str) -> None:
    reason = registry.method(name, "memory_ops").refusal({"direction": "forward_backward"})
    assert reason == f"{name} has no direction forward_backward: it runs forward only."

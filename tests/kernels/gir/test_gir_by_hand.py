"""The parallel op beside a generated kernel for look-ups: measured, said, and taken where it is faster."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bench_engine.kernels import gir
from bench_engine.kernels.gir.backend import toolchain, tuning
from bench_engine.kernels.gir.region import PARALLEL_OP, Region
from bench_engine.kernels.native import extension
from bench_engine.kernels.parallel_op.graph import report

pytestmark = pytest.mark.skipif(extension.python_module_if_built() is None, reason="the kernels are not built")


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions of the test's own; the folder is the one where the kernels are built."""
    real = toolchain.key
    monkeypatch.setattr(toolchain, "key", lambda *parts: real(*parts, str(tmp_path)))
    monkeypatch.setattr(tuning, "MEASURED", 2)


def bags(a: Tensor, b: Tensor, v: Tensor, w: Tensor) -> Tensor:
    return torch.cat([F.embedding_bag(a, v, mode="sum"), F.embedding_bag(b, w, mode="sum")], 1)


def inputs(batch: int = 64) -> list[Tensor]:
    return [*(torch.randint(0, 50, (batch, 5)) for _ in range(2)), *(torch.randn(50, 8) for _ in range(2))]


def region_of(compiled: gir.Compiled) -> Region:
    (graph,) = compiled.graphs.values()
    (region,) = graph.regions.values()
    return region


def ordered(monkeypatch: pytest.MonkeyPatch, last: list[float]) -> None:
    """Measuring that gives each kernel 50 µs, and these to the parallel op and the original."""
    monkeypatch.setattr(tuning, "measure", lambda calls, *_, **__: [50.0] * (len(calls) - len(last)) + last)


def used(monkeypatch: pytest.MonkeyPatch, region: Region) -> list[str]:
    """What is called of the two that are no kernels."""
    calls: list[str] = []

    def told(name: str, call: Callable) -> Callable:
        return lambda *args: calls.append(name) or call(*args)

    monkeypatch.setattr(region, "original", told("original", region.original))
    for decision in region.decisions.values():
        if decision.winner == PARALLEL_OP:
            decision.call = told(PARALLEL_OP, decision.call)
    return calls


def test_it_is_taken_where_it_is_faster_also_by_the_next_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ordered(monkeypatch, [10.0, 20.0])
    for _ in range(2):  # measured, and kept
        compiled = gir.compile(bags, inputs())
        region = region_of(compiled)
        (decision,) = region.decisions.values()
        assert (decision.winner, decision.parallel_op_us) == (PARALLEL_OP, 10.0)
        assert decision.kernel is None
        calls = used(monkeypatch, region)
        given = inputs()
        assert torch.allclose(compiled(*given), bags(*given), atol=1e-5)
        assert calls == [PARALLEL_OP]
        monkeypatch.setattr(tuning, "measure", None)  # what is kept is not measured again


@pytest.mark.parametrize(("others", "winner"), [([60.0, 70.0], "stored"), ([20.0, 10.0], None)])
def test_it_is_left_where_it_is_not(monkeypatch: pytest.MonkeyPatch, others: list[float], winner: str | None) -> None:
    ordered(monkeypatch, others)
    compiled = gir.compile(bags, inputs())
    (decision,) = region_of(compiled).decisions.values()
    assert (decision.winner or "").startswith(winner or "")
    assert (decision.winner is None) == (winner is None)
    assert decision.parallel_op_us == others[0]
    given = inputs()
    assert torch.allclose(compiled(*given), bags(*given), atol=1e-5)


def test_explain_says_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = report.reports()
    assert "\nparallel op: " in gir.explain(bags, inputs())
    assert report.reports() == before  # no model was changed
    assert "parallel op" not in gir.explain(lambda x: x.softmax(-1), [torch.randn(8, 9)])


def test_an_id_out_of_range_is_an_error_there_too(monkeypatch: pytest.MonkeyPatch) -> None:
    ordered(monkeypatch, [10.0, 20.0])
    compiled = gir.compile(bags, inputs())
    wrong = inputs()
    wrong[0][3, 3] = 50
    with pytest.raises((IndexError, RuntimeError)):
        compiled(*wrong)

"""Parallel OP, gir and each rival that is installed are right in what they support, each in a process of its own."""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest
import torch
from alone import alone
from rival_process import asked_of

from bench_engine import registry
from bench_engine.benchmarks import grouped_lookup
from bench_engine.benchmarks.grouped_lookup import exact_head, gradient_error, output_error, side_by_side
from bench_engine.methods.grouped_methods import GroupedMethod
from bench_engine.methods.grouped_models import GroupedModel, Request, Shape, requests
from bench_engine.methods.rivals import GROUPED_RIVALS
from bench_engine.registry.readiness import SkipReasons
from bench_engine.trial import Stop, Trial

THREADS = 2
OURS = (
    "parallel_op",
    "parallel_op_settled",
    "parallel_op_backend",
    "parallel_op_inductor",
    "grouped_embedding",
    "gir",
)
CONFIG = {a.name: a.default for a in registry.BENCHMARKS["grouped_lookup"].axes} | {
    "num_tables": 3, "num_rows": 200, "embedding_dim": 8, "batch_size": 5, "bag_size": 3, "threads": THREADS,
}  # fmt: skip
CASES: tuple[dict[str, object], ...] = (
    {"structure": "interleaved"},
    {},
    {"structure": "split_in"},
    {"structure": "concat_out"},
    {"bag_sizes": "mlperf", "bag_size": 1},
    {"bag_sizes": "mlperf", "bag_size": 1, "structure": "split_in"},
    {"pooling_mode": "mean"},
    {"pooling_mode": "max"},
    {"model": "wide_and_deep"},
    {"model": "dlrm", "structure": "split_in"},
)
# Of those that compile, which takes seconds, one case: zentorch packs the weights of linear layers where they lie.
ONE_CASE: dict[str, dict[str, object]] = {
    "gir": {"structure": "concat_out"},
    "inductor_model": {"structure": "interleaved"},
    "parallel_op_inductor": {"structure": "interleaved"},
    "parallel_op_settled": {"structure": "concat_out"},
    "zentorch_compile": {"model": "wide_and_deep"},
}

Ask = Callable[..., Any]


# Some rivals differ in a variable alone.
@pytest.fixture(scope="module", params=[*OURS, *{m.implementation: m.name for m in reversed(GROUPED_RIVALS)}.values()])
def rival(request: pytest.FixtureRequest) -> str:
    if request.param in OURS:
        request.getfixturevalue("built_kernels")
    if reason := SkipReasons().of(request.param, {}):
        pytest.skip(reason)
    return request.param


@pytest.fixture(scope="module")
def ask(rival: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Calls a function of this module with the rival's name, in a process that is set up as its worker would be."""
    with pytest.MonkeyPatch.context() as patch:
        variables = {**registry.METHODS[rival].environ(THREADS), "OMP_NUM_THREADS": str(THREADS)}
        variables["OMP_WAIT_POLICY"] = "PASSIVE"
        variables["MIRROR_PARALLEL_OP_CACHE"] = str(tmp_path_factory.mktemp("choices"))
        variables["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path_factory.mktemp("inductor"))
        variables["TORCHINDUCTOR_VEC_ISA_OK"] = "1"  # Inductor would spend ten seconds on trying the instruction set
        for name, value in variables.items():
            patch.setenv(name, value)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            process.submit(torch.set_num_threads, THREADS).result()
            yield asked_of(rival, process)


# -- in the rival's process ----------------------------------------------------------------------------------------


def make(name: str, config: dict[str, object]) -> tuple[GroupedMethod, torch.nn.Module | None, Request]:
    shape = Shape.of({**CONFIG, **config})
    torch.manual_seed(0)
    model = GroupedModel(shape)
    exact = exact_head(model)
    return registry.METHODS[name].load()(model), exact, requests(shape, 1.05, 0, 1)[0]


def errors(name: str, config: dict[str, object]) -> float:
    """Largest error of the output, and of the gradients where they are asked for."""
    method, exact, request = make(name, config)
    prepared = method.prepare(request)
    if config.get("direction") != "forward_backward":
        with torch.no_grad():
            return output_error(method, exact, request, prepared)
    gradient = torch.randn_like(side_by_side(method(prepared)))
    return gradient_error(method, exact, request, prepared, gradient)


def tables_and_megabytes(name: str) -> tuple[bool, float]:
    """Whether its tables are those of the model that it was made of, and what it keeps."""
    method, _, _ = make(name, {})
    untouched, _, _ = make("eager", {})
    same = all(map(torch.equal, method.tables(), untouched.tables()))
    return same, sum(tensor.nbytes for tensor in method.kept())


def measured(name: str, wrong: bool) -> tuple[str, str | None]:
    kind = registry.METHODS[name].load()
    prepare = kind.prepare

    def neighbours(self: GroupedMethod, request: Request) -> object:
        return prepare(self, Request(tuple(ids.roll(1, 0) for ids in request.ids), None, None))

    trial = Trial("grouped_lookup", name, CONFIG, stop=Stop(min_samples=3, max_seconds=0.005, noise_target=0.5))
    with pytest.MonkeyPatch.context() as patch:
        if wrong:
            patch.setattr(kind, "prepare", neighbours)
        result = alone(grouped_lookup.run(trial))
    return result.status, result.error


# -- what it must say ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["forward", "forward_backward"])
def test_it_gives_what_the_float64_reference_gives(rival, ask, direction):
    method = registry.METHODS[rival]
    cases = [ONE_CASE[rival]] if rival in ONE_CASE else CASES
    can = [c for case in cases if not method.refusal(c := {**case, "direction": direction})]
    if not can:
        pytest.skip(method.refusal({"direction": direction}))
    for case in can:
        assert ask(errors, case) < 1e-5, case


def test_it_has_the_weights_of_the_model_and_no_second_copy(ask):
    same, size = ask(tables_and_megabytes)
    assert same
    assert size == pytest.approx(3 * 200 * 8 * 4, abs=300)  # FBGEMM has some numbers on its tables besides


def test_the_benchmark_measures_it_and_fails_a_wrong_one(ask):
    assert ask(measured, False) == ("ok", None)
    status, error = ask(measured, True)
    assert status == "failed"
    assert "its output differs from the float64 reference" in str(error)

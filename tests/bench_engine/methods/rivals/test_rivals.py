"""Each rival that is installed is right in all that it supports, in a process of its own; a wrong one fails."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from alone import alone
from rival_process import asked_of

from bench_engine.benchmarks import lookup
from bench_engine.benchmarks.lookup import gradient_error
from bench_engine.kernels.bags import EmbeddingBagMethod, initial_bound
from bench_engine.kernels.compressed.dense import DenseEmbeddingBag
from bench_engine.methods.rivals import LOOKUP_RIVALS
from bench_engine.registry import METHODS
from bench_engine.registry.readiness import SkipReasons
from bench_engine.trial import Stop, Trial

THREADS = 2
ROWS, DIM = 300, 12
MODES = ("sum", "mean", "max")
# A few ids per bag, only one, and more than an unrolled loop takes at once.
SHAPES = ((7, 3), (1, 1), (5, 37))
CONFIG = {
    "num_rows": 1000, "embedding_dim": 8, "compression": 1.0, "pooling_mode": "sum", "bag_size": 3, "batch_size": 16,
    "direction": "forward", "zipf_s": 1.05, "cache": "warm", "output": "fresh", "threads": THREADS, "seed": 0,
}  # fmt: skip

Ask = Callable[..., Any]


@pytest.fixture(scope="module", params=[m.name for m in LOOKUP_RIVALS])
def rival(request: pytest.FixtureRequest) -> str:
    if reason := SkipReasons().of(request.param, {}):
        pytest.skip(reason)
    return request.param


@pytest.fixture(scope="module")
def ask(rival: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Calls a function of this module with the rival's name, in a process that is set up as its worker would be."""
    with pytest.MonkeyPatch.context() as patch:
        variables = {**METHODS[rival].environ(THREADS), "OMP_NUM_THREADS": str(THREADS), "OMP_WAIT_POLICY": "PASSIVE"}
        variables["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path_factory.mktemp("inductor"))
        variables["TORCHINDUCTOR_VEC_ISA_OK"] = "1"  # Inductor would spend ten seconds on trying the instruction set
        for name, value in variables.items():
            patch.setenv(name, value)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            process.submit(torch.set_num_threads, THREADS).result()
            yield asked_of(rival, process)


# -- in the rival's process ----------------------------------------------------------------------------------------


def make(name: str, mode: str = "sum", **options: object) -> EmbeddingBagMethod:
    torch.manual_seed(0)
    return METHODS[name].load()(ROWS, DIM, mode=mode, **options)


def outputs(name: str, mode: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The rival's output and that of a float64 embedding bag over its rows, for each of SHAPES and both types of id."""
    module = make(name, mode)
    found = []
    cases = [(shape, index) for shape in SHAPES for index in (torch.int64, torch.int32)]
    with torch.no_grad():
        for shape, index in cases[:1] if name == "inductor" else cases:  # Inductor compiles for each
            ids = torch.randint(0, ROWS, shape, dtype=index)
            expected = F.embedding_bag(ids.long(), module.materialize().double(), mode=mode)
            found.append((module(ids).clone(), expected))
    return found


def prepared_outputs(name: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """What a prepared request gives, and what its ids give; two requests in turns, as a benchmark rotates them."""
    module = make(name)
    batches = [torch.randint(0, ROWS, (6, 4)) for _ in range(2)]
    requests = [module.prepare(batch) for batch in batches]
    with torch.no_grad():
        outs = [module(requests[i % 2]) for i in range(4)]
        as_tensor = getattr(module, "as_tensor", lambda output: output)
        return [(as_tensor(out).clone(), module(batches[i % 2]).clone()) for i, out in enumerate(outs)]


def table(name: str) -> tuple[torch.Tensor, torch.Tensor, int]:
    """All rows, some of them asked for by id, and the bytes that the module keeps."""
    module = make(name)
    kept = sum(t.nbytes for t in (*module.parameters(), *module.buffers()))
    return module.materialize(), module.materialize([5, 0, 5]), kept


def gradient(name: str, mode: str) -> float:
    return gradient_error(make(name, mode), torch.randint(0, ROWS, (9, 5)), torch.randn(9, DIM), mode)


def complaints(name: str) -> list[str]:
    said = []
    for options in ({"compression": 0.5}, {"mode": "most"}):
        try:
            make(name, **options)  # type: ignore[arg-type]
        except ValueError as error:
            said.append(str(error))
    return said


def measured(name: str, **config: object) -> tuple[str, str | None]:
    stop = Stop(min_samples=3, max_seconds=0.005, noise_target=0.5)
    result = alone(lookup.run(Trial("lookup", name, {**CONFIG, **config}, stop=stop)))
    return result.status, result.error


def measured_wrong(name: str) -> tuple[str, str | None]:
    """The benchmark's word on the rival when it takes the neighbour of every id."""
    kind = METHODS[name].load()
    taken = "forward" if name == "inductor" else "prepare"  # where ids go in
    right = getattr(kind, taken)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, taken, lambda self, ids: right(self, (ids + 1) % self.num_embeddings))
        return measured(name)


def threads(name: str) -> int:
    """Threads that the rival computes with."""
    module = make(name)
    module(torch.zeros(1, 1, dtype=torch.int64))
    if name == "onnxruntime":
        return module._session.get_session_options().intra_op_num_threads
    if name == "jax":
        tasks = [f"/proc/self/task/{task}/comm" for task in os.listdir("/proc/self/task")]
        return sum(open(task).read().startswith("tf_XLAEigen") for task in tasks)
    return torch.get_num_threads()


# -- what it must say ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_forward_is_the_float64_embedding_bag(rival, ask, mode):
    if reason := METHODS[rival].refusal({"pooling_mode": mode}):
        pytest.skip(reason)
    if rival == "inductor" and mode != "sum":
        pytest.skip("it compiles for every mode, and has torch's own kernel for all")
    for actual, expected in ask(outputs, mode):
        torch.testing.assert_close(actual, expected.float(), rtol=1e-5, atol=1e-6)


def test_a_prepared_request_gives_the_same(ask):
    for actual, expected in ask(prepared_outputs):
        assert torch.equal(actual, expected)


def test_the_table_is_that_of_dense(ask):
    rows, some, kept = ask(table)
    assert torch.equal(some, rows[[5, 0, 5]])
    assert rows.dtype == torch.float32
    assert kept == pytest.approx(ROWS * DIM * 4, abs=100)  # FBGEMM has some numbers on its tables besides
    bound = initial_bound(ROWS)
    assert rows.abs().max() <= bound
    assert rows.std() == pytest.approx(DenseEmbeddingBag(ROWS, DIM).weight.std().item(), rel=0.05)
    assert rows.mean().abs() < 0.05 * bound


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_are_those_of_the_float64_reference(rival, ask, mode):
    if reason := METHODS[rival].refusal({"direction": "forward_backward", "pooling_mode": mode}):
        pytest.skip(reason)
    assert ask(gradient, mode) < 1e-5


def test_what_it_cannot_be_is_a_sentence(ask):
    compression, mode = ask(complaints)
    assert compression == "a dense table keeps everything: compression must be 1, not 0.5"
    assert mode == "mode must be sum, mean or max, not 'most'"


def test_the_benchmark_measures_it_and_fails_a_wrong_one(ask):
    assert ask(measured) == ("ok", None)
    status, error = ask(measured_wrong)
    assert status == "failed"
    assert "differs from the float64 reference" in str(error)


def test_it_has_the_threads_of_the_trial(ask):
    assert ask(threads) == THREADS

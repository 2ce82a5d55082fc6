"""The ways in, what is decided and kept, and what happens when something is missing or broken."""

import copy
import json
import os
import pickle
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bench_engine.kernels import gir
from bench_engine.kernels.gir import compiling
from bench_engine.kernels.gir.backend import toolchain, tuning
from bench_engine.kernels.gir.cpu.cpp import Cpp
from bench_engine.kernels.native.extension import CompileError
from tests.kernels.gir.children import holds_in_a_child

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own, and few candidates, measured shortly."""
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tuning, "MEASURED", 2)
    monkeypatch.setattr(compiling, "_said", set())


def softmax(x: torch.Tensor) -> torch.Tensor:
    return x.softmax(-1)


def entries(tmp_path: Path) -> list[Path]:
    found = [json.loads(path.read_text()) for path in tmp_path.glob("cache/gir/*/entry.json")]
    return [tmp_path / "cache" / "gir" / said["key"] for said in found if "winner" in said]


def region_of(compiled: gir.Compiled) -> object:
    (graph,) = compiled.graphs.values()
    (region,) = graph.regions.values()
    return region


def always(monkeypatch: pytest.MonkeyPatch, kernel: bool) -> None:
    """Measuring that lets the kernels win, or the original."""
    real = tuning.measure
    monkeypatch.setattr(
        "bench_engine.kernels.gir.backend.tuning.measure",
        lambda calls: [t if kernel else 1e9 for t in real(calls, 0.01)[:-1]] + [1e8],
    )


def test_torch_compile_trains_as_eager_does(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, kernel=True)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(24, 40), nn.LayerNorm(40), nn.GELU(), nn.Linear(40, 16), nn.Softmax(-1))
    x = torch.randn(12, 24)
    fast = torch.compile(model, backend="gir")

    def gradients(of: Callable) -> list[torch.Tensor]:
        model.zero_grad()
        of(x).square().sum().backward()
        return [parameter.grad.clone() for parameter in model.parameters()]

    for one, other in zip(gradients(fast), gradients(model), strict=True):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_backend_takes_no_options() -> None:
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="no options"):
        torch.compile(softmax, backend=gir.gir, options={"fast": True})(torch.randn(2, 3))


def test_one_kernel_serves_a_bucket_of_batch_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, kernel=True)
    compiled = gir.compile(softmax, [torch.randn(64, 33)])
    region = region_of(compiled)
    for batch in (20, 33, 64, 65, 200, 256):
        x = torch.randn(batch, 33)
        assert torch.allclose(compiled(x), softmax(x), atol=1e-6)
    assert len(compiled.graphs) == 1
    assert sorted(bucket for bucket, _ in region.decisions) == [2, 3]


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_small_batches(batch: int) -> None:
    compiled = gir.compile(softmax, [torch.randn(5, 7)])
    x = torch.randn(batch, 7)
    assert torch.allclose(compiled(x), softmax(x), atol=1e-6)


def test_other_inputs_are_captured_again_or_run_as_they_are() -> None:
    compiled = gir.compile(softmax, [torch.randn(6, 8)])
    for x in (
        torch.randn(6, 9), torch.randn(8, 6).t(), torch.randn(6, 16)[:, ::2], torch.randn(3, 6, 8),
        torch.randn(6, 8).double(), torch.randn(6, 8).bfloat16(),
    ):  # fmt: skip
        assert torch.allclose(compiled(x), softmax(x), rtol=1e-2 if x.dtype == torch.bfloat16 else 1e-5, atol=1e-6)


def test_overlapping_inputs_and_views_of_results(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, kernel=True)
    base = torch.randn(4)
    wide = base.expand(6, 4)
    compiled = gir.compile(lambda a: a.tanh() + a, [wide])
    assert torch.allclose(compiled(wide), wide.tanh() + wide, atol=1e-6)
    both = gir.compile(lambda a: (a.tanh(), a.tanh().t(), a), [torch.randn(5, 3)])
    x = torch.randn(5, 3)
    one, two, three = both(x)
    assert three is x or three.data_ptr() == x.data_ptr()
    assert torch.allclose(two, x.tanh().t(), atol=1e-6)
    assert two.stride() == x.tanh().t().stride()
    assert torch.allclose(one, x.tanh(), atol=1e-6)


def test_in_place_programs_do_what_they_did() -> None:
    def update(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a.add_(b.sigmoid())
        return a.softmax(-1)

    first, second = torch.randn(4, 5), torch.randn(4, 5)
    wanted = first.clone()
    result = update(wanted, second)
    for fast in (torch.compile(update, backend=gir.gir), gir.compile(update, [first.clone(), second])):
        own = first.clone()
        assert torch.allclose(fast(own, second), result, atol=1e-6)
        assert torch.allclose(own, wanted, atol=1e-6)


def test_gradients_are_recorded_where_they_are_asked_for() -> None:
    compiled = gir.compile(softmax, [torch.randn(4, 5)])
    x = torch.randn(4, 5, requires_grad=True)
    compiled(x).square().sum().backward()
    assert x.grad is not None


def test_what_is_not_covered_runs_as_it_is_and_is_said() -> None:
    said = gir.explain(lambda x: torch.cumsum(x, 1).softmax(-1), [torch.randn(9, 8)])
    assert "aten.cumsum.default is not compiled" in said
    assert "region_0" in said


def test_explain_shows_bytes_candidates_and_source(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, kernel=True)
    said = gir.explain(softmax, [torch.randn(300, 64)])
    for part in ("bytes before: L1", "bytes after:  L1", "predicted", "measured", "kernel region_0", 'extern "C"'):
        assert part in said


def test_the_original_stays_where_it_is_faster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    always(monkeypatch, kernel=False)
    compiled = gir.compile(softmax, [torch.randn(64, 33)])
    (decision,) = region_of(compiled).decisions.values()
    assert decision.winner is None
    assert "the original is faster" in region_of(compiled).report()
    (entry,) = entries(tmp_path)
    assert not (entry / "kernels.so").exists()
    again = region_of(gir.compile(softmax, [torch.randn(64, 33)]))
    assert [d.reason for d in again.decisions.values()] == ["kept from before"]


def bags_of_tables_first(v: torch.Tensor, w: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
    return torch.cat([F.embedding_bag(j, w, mode="sum"), F.embedding_bag(i, v, mode="sum")], 1)


@pytest.mark.parametrize("kernel", [True, False])
def test_a_region_that_takes_arguments_in_another_order_stands_beside_the_function(
    monkeypatch: pytest.MonkeyPatch, kernel: bool
) -> None:
    always(monkeypatch, kernel)
    called: list[int] = []

    def fn(*given: torch.Tensor) -> torch.Tensor:
        called.append(len(given))
        return bags_of_tables_first(*given)

    tables = torch.randn(20, 8), torch.randn(30, 4)
    compiled = gir.compile(fn, [*tables, torch.randint(20, (6, 3)), torch.randint(30, (6, 3))])
    (graph,) = compiled.graphs.values()
    assert graph.places is not None
    assert sorted(graph.places) == [0, 1, 2, 3] != [*graph.places]
    called.clear()
    for _ in range(3):
        given = (*tables, torch.randint(20, (6, 3)), torch.randint(30, (6, 3)))
        assert torch.allclose(compiled(*given), bags_of_tables_first(*given), atol=1e-5)
    assert len(called) == (0 if kernel else 3)
    with pytest.raises((IndexError, RuntimeError)):
        compiled(*tables, torch.full((6, 3), 20), torch.zeros(6, 3, dtype=torch.int64))


def test_a_tensor_made_of_sizes_is_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, kernel=True)

    def fn(x: torch.Tensor) -> torch.Tensor:
        return x.exp() + torch.logspace(0, 1, x.shape[0]).unsqueeze(1)

    compiled = gir.compile(fn, [torch.randn(6, 5)])
    for batch in (6, 9):
        x = torch.randn(batch, 5)
        assert torch.allclose(compiled(x), fn(x), rtol=1e-5)


def test_a_candidate_that_writes_nothing_is_never_served(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, kernel=True)
    real = Cpp.build
    monkeypatch.setattr(Cpp, "build", lambda *given: [lambda *_: 0, *real(*given)[1:]])
    x = torch.randn(64, 33)
    softmax(x)  # whose memory is free now, and holds what is wanted
    compiled = gir.compile(softmax, [x])
    (decision,) = compiled.decisions()
    assert len(decision.wrong) == 1
    assert decision.winner not in decision.wrong
    assert torch.allclose(compiled(x), softmax(x), atol=1e-6)


def test_a_second_time_nothing_is_tuned_and_nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, kernel=True)
    gir.compile(softmax, [torch.randn(64, 33)])

    def fail(*_: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr(toolchain, "compile_unit", fail)
    x = torch.randn(64, 33)
    compiled = gir.compile(softmax, [x])
    assert [d.reason for d in region_of(compiled).decisions.values()] == ["kept from before"]
    assert torch.allclose(compiled(x), softmax(x), atol=1e-6)


@pytest.mark.parametrize("harm", ["text", "library", "key", "compiler", "format"])
def test_a_corrupt_or_foreign_entry_is_built_anew(
    harm: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # fmt: skip
    always(monkeypatch, kernel=True)
    x = torch.randn(64, 33)
    gir.compile(softmax, [x])
    (entry,) = entries(tmp_path)
    said = json.loads((entry / "entry.json").read_text())
    if harm == "text":
        (entry / "entry.json").write_text("{")
    elif harm == "library":
        (entry / "kernels.so").unlink()
        (entry / "kernels.so").write_bytes(b"no library")
    else:
        said[harm] = "another" if harm != "format" else 99
        (entry / "entry.json").write_text(json.dumps(said))
    compiled = gir.compile(softmax, [x])
    assert [d.reason for d in region_of(compiled).decisions.values()] == ["measured faster than the original"]
    assert torch.allclose(compiled(x), softmax(x), atol=1e-6)
    assert toolchain.find(entry.name) is not None


def test_without_a_compiler_one_line_and_what_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:  # fmt: skip
    always(monkeypatch, kernel=True)
    x = torch.randn(64, 33)
    gir.compile(softmax, [x])
    monkeypatch.setenv("CXX", "")
    monkeypatch.setenv("PATH", "/nowhere")
    toolchain.compiler_name.cache_clear()
    try:
        kept = gir.compile(softmax, [x])
        other = gir.compile(lambda a: a.tanh() * 2, [x])
        assert torch.allclose(other(x), x.tanh() * 2)
        assert region_of(kept).decisions[2, torch.get_num_threads()].winner
        assert "No C++ compiler" in next(iter(region_of(other).decisions.values())).reason
    finally:
        toolchain.compiler_name.cache_clear()
    assert capsys.readouterr().err.count("no C++ compiler was found") == 1


def test_a_compiler_that_fails_or_hangs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="did not compile"):
        toolchain.compile_unit("this is no C++", tmp_path / "x.so")
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nsleep 100\n")
    slow.chmod(0o755)
    monkeypatch.setenv("CXX", str(slow))
    with pytest.raises(CompileError, match=r"in 0\.2 s"):
        toolchain.compile_unit("int x;", tmp_path / "x.so", limit_s=0.2)


def test_a_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    always(monkeypatch, kernel=True)
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(folder))
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    x = torch.randn(64, 33)
    compiled = gir.compile(softmax, [x])
    assert torch.allclose(compiled(x), softmax(x), atol=1e-6)
    assert list(folder.iterdir()) == []


SCRIPT = """
import torch
from bench_engine.kernels import gir
from bench_engine.kernels.gir.backend import tuning
tuning.MEASURED = 2
x = torch.randn(64, 33, generator=torch.Generator().manual_seed(1))
f = gir.compile(lambda x: x.softmax(-1), [x])
assert torch.allclose(f(x), x.softmax(-1), atol=1e-6)
print([d.winner is not None for g in f.graphs.values() for r in g.regions.values() for d in r.decisions.values()])
"""


def test_two_processes_at_once() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert said[0] == said[1]


def test_a_child_and_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, kernel=True)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    x = torch.randn(3000, 64)
    compiled = gir.compile(softmax, [x])
    wanted = softmax(x)
    found: list[bool] = []
    threads = [
        threading.Thread(target=lambda: found.append(torch.allclose(compiled(x), wanted, atol=1e-6))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4

    def inherits() -> bool:
        rows = compiled(x)[-2:]  # few, for torch's own loops may not use threads here
        said = [decision.reason for decision in region_of(compiled).decisions.values()]
        return torch.allclose(rows, wanted[-2:], atol=1e-6) and said[1:] == ["decided before the process forked"]

    assert holds_in_a_child(inherits)
    torch.set_num_threads(before)


def test_parameters_are_read_when_they_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, kernel=True)
    norm = nn.LayerNorm(16)
    x = torch.randn(40, 16)
    compiled = gir.compile(norm, [x])
    with torch.no_grad():
        norm.weight.mul_(2)
        assert torch.allclose(compiled(x), F.layer_norm(x, (16,), norm.weight, norm.bias), atol=1e-5)


def test_types_and_truth_values(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, kernel=True)
    x = torch.randn(24, 33)
    ids = torch.randint(0, 5, (24, 33))
    programs = [
        lambda a, i: (a % 2.0).tanh(),
        lambda a, i: a.bool().float() + (a > 0).float(),
        lambda a, i: ((a > 0) + (a > 1)).float() * a,
        lambda a, i: i.float() * a,
        lambda a, i: (a > 0) * a + (a > 0).logical_not() * 2,
        lambda a, i: a[i[:, 0] > 2].tanh(),
        lambda a, i: (i * 3 % 7 - 2).float() + a.long().float(),
    ]
    for program in programs:
        compiled = gir.compile(program, [x, ids])
        assert torch.allclose(compiled(x, ids), program(x, ids), atol=1e-6)


def test_example_inputs_are_tensors() -> None:
    for wrong in ([3], torch.rand(1, 4), torch.tensor(3.0)):
        with pytest.raises(TypeError, match="are tensors"):
            gir.compile(softmax, wrong)


@pytest.mark.parametrize("first", [True, False])
def test_training_and_evaluation_are_told_apart(first: bool) -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.Softmax(-1)).train(first)
    x = torch.randn(8, 16)
    fast = gir.compile(model, [x])
    model.train(not first)
    with torch.no_grad():
        torch.manual_seed(0)
        found = fast(x)
        torch.manual_seed(0)
        torch.testing.assert_close(found, model(x))


def test_statistics_of_a_module_in_training_are_kept_once_a_call() -> None:
    model = nn.Sequential(nn.BatchNorm1d(16), nn.Sigmoid()).train()
    fast = gir.compile(model, [torch.randn(8, 16)])
    with torch.no_grad():
        fast(torch.randn(8, 16))
    assert model[0].num_batches_tracked == 2


def test_an_argument_that_is_no_tensor_goes_to_the_function() -> None:
    fast = gir.compile(lambda a, b: (a * b).sigmoid(), [torch.ones(4), torch.ones(4)])
    torch.testing.assert_close(fast(torch.ones(4), 3), torch.full((4,), 3.0).sigmoid())


def test_a_size_that_grows_with_the_square_of_the_batch() -> None:
    x = torch.randn(8, 4)
    fast = gir.compile(lambda x: (x @ x.T).softmax(-1), [x])
    torch.testing.assert_close(fast(x), (x @ x.T).softmax(-1))


def test_a_survey_has_candidates_of_the_whole_space_from_the_best_to_the_worst() -> None:
    x = torch.randn(64, 96)
    fast = gir.compile(softmax, [x])
    (region,) = next(iter(fast.graphs.values())).regions.values()
    threads = toolchain.threads(torch.get_num_threads())
    space = region.backend.space(region.kernel, 64, threads)
    assert any(candidate.name.startswith("after_0_of_") for candidate in space)
    assert {c.kernel.name for c in region.backend.candidates(region.kernel, 64, threads)} < {
        c.kernel.name for c in space
    }
    surveyed = region.survey(x, most=4)
    assert [one["predicted_us"] for one in surveyed] == sorted(one["predicted_us"] for one in surveyed)
    assert (surveyed[0]["candidate"], surveyed[-1]["candidate"]) == (space[0].name, space[-1].name)
    assert all(one["measured_us"] > 0 for one in surveyed)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.bool])
def test_a_sum_of_another_type_converts_first(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return x.sum(-1, dtype=dtype).float() * 0.5

    always(monkeypatch, kernel=True)
    fast, x = gir.compile(fn, [torch.zeros(64, 33)]), torch.full((64, 33), 0.6)
    assert torch.equal(fast(x), fn(x))


def test_a_graph_module_is_compiled() -> None:
    model, x = torch.fx.symbolic_trace(nn.Sequential(nn.Softmax(-1))), torch.randn(8, 16)
    torch.testing.assert_close(gir.compile(model, [x])(x), x.softmax(-1))


def test_an_error_without_words_stays_that_error() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        if x.dim() != 2:
            raise NotImplementedError
        return x.exp()

    fast = gir.compile(fn, [torch.rand(3, 4)])
    with pytest.raises(NotImplementedError):
        fast(torch.rand(2, 3, 4))
    x = torch.rand(6, 4)
    torch.testing.assert_close(gir.compile(lambda x: x.var(dim=[]) * 2, [x])(x), x.var() * 2)


def test_what_was_compiled_is_copied_with_its_model() -> None:
    model, x = nn.Sequential(nn.LayerNorm(16), nn.Softmax(-1)).eval(), torch.randn(8, 16)
    compiled = gir.compile(model, [x])
    for twin in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert twin.fn is not model
        with torch.no_grad():
            torch.testing.assert_close(twin(x), model(x))


def test_a_folder_without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(toolchain.fcntl, "flock", no_locks)
    with toolchain.one_at_a_time():
        pass


def test_an_interrupted_compiler_ends_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ended = []

    def kill(pid: int, number: int) -> None:
        ended.append(pid)
        os.kill(pid, number)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 100\n")
    slow.chmod(0o755)
    monkeypatch.setenv("CXX", str(slow))
    monkeypatch.setattr(toolchain.os, "killpg", kill)
    monkeypatch.setattr(toolchain.subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        toolchain.compile_unit("int x;", tmp_path / "x.so")
    assert ended


def test_where_two_measurements_contradict_one_another_a_third_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter([1.0, 3.0, 1.0])  # of the kernel in each; the original takes 2
    monkeypatch.setattr(
        "bench_engine.kernels.gir.backend.tuning.measure", lambda calls: [next(told)] * (len(calls) - 1) + [2.0]
    )
    (decision,) = gir.compile(softmax, [torch.randn(64, 32)]).decisions()
    assert decision.kernel is not None
    assert next(told, None) is None

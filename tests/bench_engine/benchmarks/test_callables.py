"""Anything callable: right functions and commands are measured, those that cheat or break are never stored as ok."""

import contextlib
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from alone import alone

from bench_engine import plugin, registry
from bench_engine.benchmarks import watch
from bench_engine.machine import bandwidth
from bench_engine.measure import measure
from bench_engine.plugin import PluginError, command, implements, operation
from bench_engine.run import worker
from bench_engine.sweep.part import SweepError
from bench_engine.sweep.sweep import expand, parse
from bench_engine.trial import Stop, Trial, TrialResult

pytestmark = pytest.mark.usefixtures("one_thread")

LATER = 60  # calls; the checks before the clock starts and the warm-up are fewer
STOP = Stop(min_samples=130, max_seconds=0.02, noise_target=0.5)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check in every turn, a warm-up that is over at once, and declarations of one test alone."""
    monkeypatch.setattr(measure, "PROBE_CHANCE", 1.0)
    monkeypatch.setattr(watch, "PROBING_SHARE", 1.0)
    monkeypatch.setattr(measure, "WARM_UP_NS", 100_000)
    monkeypatch.setattr(measure, "LEAST_NS", 0)
    for module, name in (
        ("declared.known", "declared"),
        ("declared.known", "itself"),
        ("callable_operations", "_operations"),
        ("callable_operations", "_implementations"),
    ):
        monkeypatch.setattr(f"bench_engine.plugin.{module}.{name}", {})
    monkeypatch.setattr(registry, "METHODS", dict(registry.METHODS))
    monkeypatch.setattr("bench_engine.registry.methods.METHODS", registry.METHODS)
    monkeypatch.setattr(registry, "BENCHMARKS", dict(registry.BENCHMARKS))
    monkeypatch.setattr("bench_engine.registry.benchmarks.BENCHMARKS", registry.BENCHMARKS)


def reference(x):
    return torch.softmax(x, -1)


def softmax(x):
    return torch.softmax(x, -1)


def run(
    function, of=reference, takes="torch", prepare=None, made=None, exact=True, tolerance=None, flops=None, **axes
) -> TrialResult:
    operation("row_softmax", inputs=made, exact=exact, tolerance=tolerance, flops=flops)(of)
    implements(of, "mine", prepare=prepare, takes=takes)(function)
    return measured(**axes)


def measured(**axes) -> TrialResult:
    plugin.load(registry.METHODS, registry.BENCHMARKS, registry.bring)
    config = {a.name: a.default for a in registry.BENCHMARKS["callable"].axes} | {"shape": "16x24"}
    return alone(worker.run(Trial("callable", "mine", {**config, **axes}, stop=STOP)))


def later(change):
    """A function that is right for LATER calls."""
    calls = [0]

    def function(x):
        calls[0] += 1
        return softmax(x) if calls[0] <= LATER else change(x)

    return function


def test_flops_that_are_declared_are_kept_with_what_the_machine_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    given = bandwidth.Bandwidth(1, 8.0, 2.0, 3.0, 100.0, 1e3, "", 0.0)
    monkeypatch.setattr(bandwidth, "kept", lambda threads: given)
    environment = run(softmax, flops=lambda shapes: 5 * shapes[0][0] * shapes[0][1]).environment
    told = {name: environment.get(name) for name in ("flops", "copy_gb_s", "peak_gflops", "gather_gb_s")}
    assert told == {"flops": 5 * 16 * 24, "copy_gb_s": 8.0, "peak_gflops": 100.0, "gather_gb_s": None}
    assert "flops" not in run(softmax).environment
    failed = run(softmax, flops=lambda shapes: -1)
    assert (failed.status, failed.error) == (
        "failed",
        "The flops of row_softmax are -1: give a number of 0 or more.",
    )


def test_a_right_function_is_measured() -> None:
    result = run(softmax)
    assert (result.status, result.error) == ("ok", None)
    assert result.metrics["latency_us"] > 0
    assert result.metrics["bytes_moved"] == 2 * 16 * 24 * 4
    assert result.metrics["max_abs_error"] < 1e-6
    assert result.environment["checks_in_turns"] >= 1


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_of_every_number_type(dtype: str) -> None:
    assert run(softmax, dtype=dtype).error is None


def test_whole_numbers_must_be_exact() -> None:
    result = run(lambda x: x.flip(-1).contiguous(), of=lambda x: x.flip(-1), dtype="int32", shape="7")
    assert (result.status, result.metrics.get("max_abs_error")) == ("ok", 0.0)
    assert "differs from the reference by 1" in run(lambda x: x + 1, of=lambda x: x.clone(), dtype="int64").error


def test_several_inputs_and_outputs_of_numpy_with_a_set_up() -> None:
    def wanted(a, b):
        return a @ b, a.sum()

    def own(a, packed):
        return a @ packed.T, np.float32(a.sum())

    result = run(own, of=wanted, takes="numpy", prepare=lambda a, b: (a, b.T.copy()), shape="8x12+12x5")
    assert (result.status, result.error) == ("ok", None)


def test_inputs_of_its_own() -> None:
    def made(shapes, dtype, generator):
        ids = torch.randint(10, shapes[1], generator=generator)
        return torch.randn(shapes[0], generator=generator, dtype=dtype), ids

    def rows(table, ids):
        return table[ids]

    assert run(rows, of=rows, made=made, shape="10x4+6").error is None


class Cached:
    def __init__(self, key, given=torch.clone) -> None:
        self.key, self.given, self.known = key, given, {}

    def __call__(self, x):
        if (key := self.key(x)) not in self.known:
            time.sleep(3e-4)
            self.known[key] = softmax(x)
        return self.given(self.known[key])


BUFFER = torch.empty(16, 24)
TURNED = torch.empty(24, 16)
IN_TURN = r"mine is wrong: its output in turn \d+, after \d+ calls,"


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda x: softmax(x) * 1.01, "mine is wrong: its output differs from the reference by"),
        (lambda x: softmax(x)[:-1], r"its output has shape \(15, 24\), not \(16, 24\)"),
        (lambda x: (softmax(x), x), r"its output has shape \(16, 24\) and \(16, 24\), not \(16, 24\)"),
        (lambda x: "text", "its output is a str, not a tensor or array on cpu"),
        (lambda x: None, "its output is None"),
        (lambda x: softmax(x).to("meta"), "its output is a Tensor on meta"),
        (lambda x: x.copy_(softmax(x)), "lies in the memory of its inputs"),
        (lambda x: softmax(x) * (1 + 0.1 * torch.rand(())), "differs from the reference"),
        (lambda x: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda x, y: x, "TypeError"),
        (later(lambda x: softmax(x) * float("nan")), IN_TURN),
        (later(lambda x: softmax(x) * 1.01), IN_TURN + " differs"),
        (later(lambda x: softmax(x)[:, :-1]), IN_TURN + " has shape"),
        (later(lambda x: None), IN_TURN + " is None"),
        (later(lambda x: softmax(x) * 2 if torch.rand(()) < 0.5 else softmax(x)), "its output"),
        (later(lambda x: softmax(x).add_(x.fill_(0))), "writes into its request|its output"),
        (lambda x: BUFFER.copy_(softmax(x)), "gives its outputs in a buffer that later calls change"),
        (lambda x: TURNED.copy_(softmax(x).T).T, "gives its outputs in a buffer that later calls change"),
        (Cached(lambda x: x.data_ptr()), "its output in turn"),
        (Cached(lambda x: x.data_ptr(), lambda y: y), "gives them again|later calls change|its output"),
        (Cached(lambda x: x.numpy().tobytes()), r"remembers outputs by their requests: .* \d+\.\d times as long"),
    ],
)
def test_none_is_ok(function, told: str) -> None:
    result = run(function)
    assert result.status == "failed"
    assert re.search(told, result.error), result.error
    assert len(result.error.splitlines()) == 1


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda x: torch.log(x), "The reference of row_softmax gives numbers that are not finite"),
        (
            lambda x: torch.softmax(x, -1) + torch.rand(()),
            "The reference of row_softmax gives something else for the same",
        ),
        (lambda x: x.mul_(2), "The reference of row_softmax writes into its inputs"),
        (lambda x: {"a": x}, "The reference of row_softmax gives no tensors but a dict"),
        (lambda x: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_a_reference_that_cannot_be_relied_on_is_said(wrong, told: str) -> None:
    result = run(softmax, of=wrong)
    assert result.status == "failed"
    assert told in result.error


def test_inputs_that_cannot_be_drawn_again_are_said() -> None:
    assert "differ from draw to draw" in run(softmax, made=lambda shapes, dtype, _: torch.randn(shapes[0])).error
    assert "The inputs of row_softmax are no tensors but a str" in run(softmax, made=lambda *_: "x").error


PROGRAM = f"""
import sys
sys.path += {sys.path!r}
import numpy as np
x = np.load(sys.argv[1])
powers = np.exp(x - x.max(-1, keepdims=True))
powers /= powers.sum(-1, keepdims=True)
"""


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("np.save(sys.argv[2], powers)", ""),
        ("np.save(sys.argv[2], powers * 2)", "its output differs from the reference"),
        ("open(sys.argv[2], 'w').write('x')", "that is no .npy file"),
        ("", "ended with 0 and wrote no output.npy"),
        ("sys.exit('out of luck')", "mine ended with exit status 1: out of luck"),
    ],
)
def test_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, told: str) -> None:
    monkeypatch.setattr(callable_benchmark(), "BATCHES", 2)
    monkeypatch.setattr(watch, "LEAST_PAIRS", 1)
    (tmp_path / "tool.py").write_text(PROGRAM + end)
    operation("row_softmax")(reference)
    words = [sys.executable, "-S", str(tmp_path / "tool.py"), "{inputs}", "{output}"]
    command(reference, "mine", "a process", words)
    plugin.load(registry.METHODS, registry.BENCHMARKS, registry.bring)
    config = {a.name: a.default for a in registry.BENCHMARKS["callable"].axes} | {"shape": "4x4"}
    stop = Stop(min_samples=2, max_seconds=0.01, noise_target=10)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = alone(worker.run(Trial("callable", "mine", config, stop=stop)))
    assert not list(tmp_path.glob("mirror_command_*"))
    assert str(tmp_path / "tool.py") in registry.METHODS["mine"].sources
    assert (result.status, result.error or "") == (("ok", "") if not told else ("failed", result.error))
    assert told in (result.error or "")


def test_arguments_are_part_of_a_command() -> None:
    operation("row_softmax")(reference)
    kernels = set()
    for flag in ("--fast", "--exact"):
        command(reference, "mine", "", [sys.executable, "{inputs}", "{output}", flag])
        kernels.add(plugin.declared.known.declared["mine"].entry.kernel())
    assert len(kernels) == 2


def test_files_of_killed_commands_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "mirror_command_left"
    left.mkdir()
    (left / "held").touch()
    with contextlib.ExitStack() as first, contextlib.ExitStack() as second:
        of_first = callable_benchmark()._folder_for_files(first)
        assert not left.exists()
        of_second = callable_benchmark()._folder_for_files(second)
        assert of_first.exists()
        assert of_second.exists()
    assert not list(tmp_path.iterdir())


def callable_benchmark():
    return registry.benchmark("callable").load()


def test_what_cannot_be_declared_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    operation("row_softmax")(reference)
    for declare, told in (
        (lambda: operation("a b")(reference), "needs another name"),
        (lambda: operation("a", tolerance=-1)(reference), "must be a share of 0 or more"),
        (lambda: implements("nothing", "mine"), "mine implements nothing, which is no operation"),
        (lambda: implements(reference, "mine", takes="jax"), "mine takes torch or numpy"),
        (lambda: command(reference, "mine", "", ["true"]), "must be a list of words with {output} among them"),
        (
            lambda: command(reference, "mine", "", ["no_such_tool", "{output}"]),
            "needs no_such_tool, which is not there",
        ),
    ):
        with pytest.raises(PluginError, match=re.escape(told)):
            (declare() or softmax)(softmax)
    monkeypatch.setattr(plugin.declared.known, "loading", "another.py")
    with pytest.raises(PluginError, match="Two plug-ins declare an operation row_softmax"):
        operation("row_softmax")(lambda x: x + 1)


def test_shapes_that_cannot_be_read_are_said_by_the_sweep() -> None:
    operation("row_softmax")(reference)
    implements(reference, "mine")(softmax)
    plugin.load(registry.METHODS, registry.BENCHMARKS, registry.bring)
    text = "benchmark: callable\nmethods: [mine]\nparameters: {{shape: {{value: {shape}}}}}\n"
    assert parse(text.format(shape=7), "own").parts[0].values["shape"] == ("7",)
    (trial,) = expand(parse(text.format(shape="3x4+5"), "own"))
    assert (trial.config["shape"], trial.config["operator"]) == ("3x4+5", "row_softmax")
    for shape in ("3x", "x3", "3*4", "0x4x5", "a", "-1"):
        with pytest.raises(SweepError, match="axis shape takes shapes of the inputs, such as 512x1024"):
            parse(text.format(shape=shape), "own")


def test_the_imaginary_part_is_looked_at() -> None:
    assert run(lambda x: torch.fft.fft(x), of=lambda x: torch.fft.fft(x)).error is None
    result = run(lambda x: torch.fft.fft(x).real.to(torch.complex64), of=lambda x: torch.fft.fft(x))
    assert "differs from the reference" in result.error


def test_each_of_several_outputs_has_a_tolerance_of_its_own() -> None:
    def of(x):
        return torch.softmax(x, -1), torch.full((3,), 1_000_000)

    assert run(lambda x: (softmax(x), torch.full((3,), 1_000_000)), of=of).error is None
    assert "differs from the reference" in run(lambda x: (0 * x, torch.full((3,), 1_000_000)), of=of).error
    assert "differs from the reference" in run(lambda x: (softmax(x), torch.full((3,), 1_000_001)), of=of).error
    assert run(lambda x: (softmax(x), torch.full((3,), 70_000)), of=lambda x: (softmax(x), torch.full((3,), 70_000)),
               dtype="float16").error is None  # fmt: skip


def test_bytes_have_no_rare_value() -> None:
    assert run(torch.bitwise_not, of=torch.bitwise_not, dtype="uint8").error is None


def test_arguments_of_other_layouts_are_taken() -> None:
    made = run(lambda x: x.to_dense(), of=lambda x: x.clone(), prepare=lambda x: x.to_sparse_csr())
    assert made.error is None
    assert run(lambda x: x.copy(), of=lambda x: x.flip(0), takes="numpy", prepare=lambda x: x[::-1]).error is None


def large(shapes, dtype, generator):
    return [torch.randint(2**60, 2**61, shapes[0], generator=generator)]


def test_whole_numbers_beyond_float64_are_told_apart() -> None:
    wrong = run(lambda x: (x.double() + 1).long(), of=lambda x: x + 1, made=large, dtype="int64")
    assert wrong.status == "failed"
    assert "differs from the reference" in wrong.error


def test_whole_numbers_that_are_right_beyond_float64_are_ok() -> None:
    assert run(lambda x: x + 1, of=lambda x: x + 1, made=large, dtype="int64").status == "ok"


def test_every_value_of_sixteen_bits_may_be_right() -> None:
    def turned(x):
        return x.bitwise_xor(32767)

    assert run(turned, of=turned, dtype="int16", shape="64x64").status == "ok"


def test_what_is_prepared_may_be_an_object_beside_an_array() -> None:
    def prepare(a, x):
        return a.to_sparse_csr(), x

    found = run(lambda a, x: a @ x, of=lambda a, x: a @ x, prepare=prepare, shape="16x16+16x4")
    assert (found.status, found.error) == ("ok", None)


def test_inputs_may_be_nan() -> None:
    def made(shapes, dtype, generator):
        drawn = torch.randn(shapes[0], generator=generator)
        return [drawn.masked_fill(drawn > 1, float("nan"))]

    assert run(lambda x: x.nansum(-1), of=lambda x: x.nansum(-1), made=made).status == "ok"


def test_outputs_whose_shape_is_their_inputs_are_told() -> None:
    found = run(lambda x: x[x > 0], of=lambda x: x[x > 0])
    assert found.status == "failed"
    assert "have other shapes for other inputs, and cannot be compared: pad them to one shape" in found.error


WIDE = np.empty((16, 48), np.float32)


def into_wide(x):
    WIDE[:, :24] = x
    return WIDE[:, :24]


@pytest.mark.parametrize(
    ("own", "of", "told"),
    [
        (lambda x: x.T, lambda x: x.T, "lies in the memory of its inputs"),
        (lambda x: x[:, ::-1], lambda x: x.flip(1), "lies in the memory of its inputs"),
        (into_wide, lambda x: x.clone(), "gives its outputs in a buffer that later calls change"),
    ],
)
def test_views_of_arrays_are_no_outputs(own, of, told) -> None:
    result = run(own, of=of, takes="numpy")
    assert result.status == "failed"
    assert told in result.error


def test_what_is_prepared_may_be_of_another_type_for_other_inputs() -> None:
    def made(shapes, dtype, generator):
        most = 100 if torch.rand((), generator=generator) < 0.5 else 60_000
        return [torch.randint(most, shapes[0], generator=generator)]

    found = run(
        lambda x: x.astype(np.int64) * 2,
        of=lambda x: x * 2,
        takes="numpy",
        made=made,
        dtype="int64",
        prepare=lambda x: x.astype(np.min_scalar_type(int(x.max()))),
    )
    assert found.error is None


def test_a_type_that_numpy_does_not_know_is_said() -> None:
    found = run(lambda x: x, takes="numpy", dtype="bfloat16")
    assert found.error == "There are no arrays or .npy files of bfloat16: take another dtype, or tensors of torch."

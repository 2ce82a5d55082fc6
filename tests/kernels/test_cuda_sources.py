"""csrc/*/cuda: it compiles, and what its threads compute is right, also where there is no GPU.

The binding and the body of every kernel are compiled for the host too, where loops take the place of the launches
(cuda_host_launches.cpp). On a machine with a GPU the same cases run on it.
"""

import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch import Tensor

from bench_engine.kernels.native import cuda_toolkit, extension
from bench_engine.kernels.parallel_op import ops
from tests.kernels import cuda_on_host

SOURCES = cuda_on_host.SOURCES
HOST = Path(__file__).with_name("cuda_host_launches.cpp")
DEVICE_SOURCES = sorted(path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.cu"))
CPU_CUDA = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)


@pytest.fixture(scope="module")
def device_objects(toolkit, tmp_path_factory) -> dict[str, Future]:
    """The kernels by file, compiled by nvcc beside the other tests of this module."""
    folder = tmp_path_factory.mktemp("device")

    def compile_kernels(name: str) -> Path:
        target = folder / f"{name.replace('/', '_')}.o"
        command = extension.compile_command(extension.compiler(), toolkit, SOURCES / name, str(target))
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return target

    pool = ThreadPoolExecutor(1)
    try:
        return {name: pool.submit(compile_kernels, name) for name in DEVICE_SOURCES}
    finally:
        pool.shutdown(wait=False)


@pytest.fixture(scope="module")
def host_library(built_kernels, toolkit, device_objects, tmp_path_factory) -> None:
    """The CUDA kernels of the ops, run on the host; `redispatch` finds them with CPU tensors."""
    ops.load()
    sources = [SOURCES / "grouped/cuda/embedding_cuda.cpp", HOST]
    torch.ops.load_library(cuda_on_host.library(sources, toolkit, tmp_path_factory.mktemp("host")))


@pytest.fixture(params=["host", "gpu"])
def on_device(request):
    """Calls one of the ops as on a GPU, with CPU tensors in and out."""
    if request.param == "gpu":
        if not torch.cuda.is_available():
            pytest.skip("no GPU")
        request.getfixturevalue("built_kernels")
        ops.load()
        return call_on_gpu
    request.getfixturevalue("host_library")
    return lambda op, *arguments: op.redispatch(CPU_CUDA, *arguments)


def call_on_gpu(op, *arguments):
    moved = [[x.cuda() for x in a] if isinstance(a, list) and a and isinstance(a[0], Tensor) else a for a in arguments]
    return [x.cpu() for x in op(*moved)]


def forward():
    return torch.ops.mirror.grouped_embedding.default


def backward():
    return torch.ops.mirror.grouped_embedding_backward.default


class Call:
    """Arguments of one call, table by table."""

    def __init__(self, seed: int = 0) -> None:
        self.random = torch.Generator().manual_seed(seed)
        self.weights: list[Tensor] = []
        self.ids: list[Tensor] = []
        self.offsets: list[Tensor] = []
        self.samples: list[Tensor] = []
        self.lines: list[str] = []

    def table(
        self,
        mode: str,
        bags: int = 9,
        size: int | None = 5,
        dim: int = 16,
        rows: int = 40,
        dtype: torch.dtype = torch.float32,
        ids_dtype: torch.dtype = torch.int64,
        padding: int | None = None,
        last: bool = False,
        samples: bool = False,
        sparse: bool = False,
    ) -> "Call":
        """`size` ids per bag, or bags of many sizes, some of them empty."""
        shape = (bags, size) if size is not None else (int(3.5 * bags),)
        ids = torch.randint(0, rows, shape, generator=self.random).to(ids_dtype)
        fields = {"ids": f"{len(self.ids)}", "offsets": "-", "weights": "-"}
        self.ids.append(ids)
        self.weights.append(torch.randn(rows, dim, generator=self.random).to(dtype))
        if size is None:
            fields["offsets"] = f"{len(self.offsets)}"
            offsets = torch.randint(0, shape[0] + 1, (bags + last,), generator=self.random).sort().values
            offsets[0] = 0
            self.offsets.append(offsets.to(ids_dtype))
        if samples:
            fields["weights"] = f"{len(self.samples)}"
            self.samples.append(torch.randn(shape, generator=self.random).to(dtype))
        number = len(self.lines)
        self.lines.append(
            f"table t{number} "
            + " ".join(f"{key}={value}" for key, value in fields.items())
            + f" mode={mode} padding={'-' if padding is None else padding} last={last:d} sparse={sparse:d}"
        )
        return self

    def forward_arguments(self, outputs: list[str] | None = None, extras: list[Tensor] | None = None) -> tuple:
        outputs = outputs or [f"out {t}" for t in range(len(self.lines))]
        plan = "\n".join([*self.lines, *outputs]) + "\n"
        return self.weights, self.ids, self.offsets, self.samples, extras or [], plan

    def backward_arguments(self) -> tuple:
        outputs = forward()(*self.forward_arguments())
        grads = [torch.randn(y.shape, generator=self.random).to(y.dtype) for y in outputs]
        rows = [w.size(0) for w in self.weights]
        _, ids, offsets, samples, _, plan = self.forward_arguments()
        wanted = [True] * (len(rows) + len(samples))
        return grads, self.weights, rows, ids, offsets, samples, plan, wanted


CASES = {
    "sum": Call().table("sum"),
    "mean": Call().table("mean"),
    "max": Call().table("max", rows=6),
    "row": Call().table("row"),
    "one id": Call().table("sum", size=1, bags=200),
    "no id": Call().table("sum", size=0).table("max", size=0).table("mean"),
    "no bag": Call().table("sum", bags=0).table("sum", bags=0, size=None, last=True).table("sum"),
    "offsets": Call().table("sum", size=None).table("mean", size=None).table("max", size=None, rows=5),
    "last offset": Call().table("sum", size=None, last=True).table("mean", size=None, last=True),
    "padding": Call()
    .table("sum", padding=1, rows=4)
    .table("mean", padding=0, rows=3)
    .table("max", padding=2, rows=3)
    .table("row", padding=3, rows=6),
    "per_sample_weights": Call()
    .table("sum", samples=True)
    .table("sum", samples=True, size=None, padding=2, rows=7)
    .table("sum"),
    "dims": Call().table("sum", dim=1).table("mean", dim=3).table("max", dim=130).table("row", dim=64),
    "types": Call()
    .table("sum", dtype=torch.float64)
    .table("mean", dtype=torch.bfloat16, ids_dtype=torch.int32)
    .table("max", dtype=torch.float16, dim=24, size=None, ids_dtype=torch.int32)
    .table("row", dtype=torch.float64, ids_dtype=torch.int32)
    .table("sum", dtype=torch.float16, dim=5, samples=True),
    "a row that all ask for": Call()
    .table("sum", bags=150, size=4, rows=1)
    .table("mean", bags=40, size=5, rows=2, dtype=torch.float64)
    .table("sum", bags=64, size=1, rows=1)
    .table("max", bags=30, rows=2, dim=5),
}
many = Call()
for number in range(140):
    many.table(("sum", "mean", "row", "max")[number % 4], bags=number % 5, size=3, dim=4 + number % 9, rows=8)
CASES["more tables than one launch takes"] = many


def close(got, want) -> None:
    for one, other in zip(got, want, strict=True):
        one, other = (x.to_dense() if x.is_sparse else x for x in (one, other))
        half = one.dtype in (torch.bfloat16, torch.float16)
        torch.testing.assert_close(one, other, atol=0.1 if half else 1e-4, rtol=0.02 if half else 1e-4)


@pytest.mark.parametrize("name", CASES)
def test_forward_is_that_of_the_cpu(name, on_device):
    arguments = CASES[name].forward_arguments()
    close(on_device(forward(), *arguments), forward()(*arguments))


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_cpu(name, on_device):
    arguments = CASES[name].backward_arguments()
    close(on_device(backward(), *arguments), backward()(*arguments))


def test_outputs_are_written_in_place_of_a_concatenation(on_device):
    call = Call().table("sum").table("mean", dim=8).table("row", size=1, bags=9).table("sum", dim=8).table("sum", dim=8)
    call.lines[2] = call.lines[2].replace("ids=2", "ids=2@1:0")
    extras = [torch.randn(9, 3)]
    arguments = call.forward_arguments(["cat 0 x0 1", "out 2", "stack 3 4"], extras)
    close(on_device(forward(), *arguments), forward()(*arguments))


def test_ids_may_be_slices_of_one_tensor(on_device):
    call = Call().table("sum").table("mean").table("row")
    call.ids = [torch.randint(0, 40, (12, 9)).t()]
    call.lines = [line.replace(f"ids={t}", f"ids=0@1:{4 * t}:4") for t, line in enumerate(call.lines)]
    arguments = call.forward_arguments()
    close(on_device(forward(), *arguments), forward()(*arguments))
    arguments = call.backward_arguments()
    close(on_device(backward(), *arguments), backward()(*arguments))


def test_sparse_gradients(on_device):
    call = Call().table("sum", sparse=True, samples=True).table("mean", sparse=True, padding=2, size=None)
    call.table("row", sparse=True, padding=1).table("sum").table("sum", sparse=True, bags=0)
    arguments = call.backward_arguments()
    got = on_device(backward(), *arguments)
    assert [g.is_sparse for g in got] == [True, True, True, False, True, False]
    close(got, backward()(*arguments))


def test_only_wanted_gradients_come_back(on_device):
    call = Call().table("sum", samples=True).table("mean").table("sum", samples=True)
    *arguments, _ = call.backward_arguments()
    for wanted in ([False, True, False, False, True], [True, False, False, False, False], [False] * 5):
        close(on_device(backward(), *arguments, wanted), backward()(*arguments, wanted))


def test_gradients_are_the_same_bits_every_time(on_device):
    arguments = CASES["a row that all ask for"].backward_arguments()
    first = on_device(backward(), *arguments)
    assert all(torch.equal(a, b) for a, b in zip(first, on_device(backward(), *arguments), strict=True))


@pytest.mark.parametrize("index", [-1, 40, 2**40])
@pytest.mark.usefixtures("host_library")
def test_an_id_out_of_range_is_met_before_anything_is_read(index):
    """On a GPU it ends in an assertion, as with torch's own ops, and no later call of that process works."""
    call = Call().table("mean").table("sum")
    arguments = call.backward_arguments()
    call.ids[1][3, 2] = index
    for op, given in ((forward(), call.forward_arguments()), (backward(), arguments)):
        with pytest.raises(IndexError, match=f"table 1: index {index} at position 17"):
            op.redispatch(CPU_CUDA, *given)


@pytest.mark.parametrize("offsets", [[1, 2, 3], [0, 3, 2], [0, 1, 99], [0, -1, 3]])
@pytest.mark.usefixtures("host_library")
def test_wrong_offsets_are_met(offsets):
    call = Call().table("sum", bags=3, size=None)
    call.offsets = [torch.tensor(offsets)]
    with pytest.raises(IndexError, match="table 0: offsets must start at 0, never fall and not pass the 10 ids: bag"):
        forward().redispatch(CPU_CUDA, *call.forward_arguments())


@pytest.mark.parametrize("name", DEVICE_SOURCES)
def test_nvcc_compiles_the_kernels(name, device_objects):
    assert b"sm_90" in device_objects[name].result().read_bytes()


# --- the build --------------------------------------------------------------------------------------------------------

COMPILER = """#!/bin/sh
echo "$0 $@" >> {log}
case "$*" in *--version*) echo "release {release}, V{release}.1"; exit;; esac
while [ "$1" != -o ]; do shift; done
echo made > "$2"
"""


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    """A source tree with a CUDA part, and compilers that only note their calls; torch is one with CUDA 13."""
    for name in ("one.cpp", "cuda/two.cpp", "cuda/three.cu", "cuda/four.cuh"):
        (tmp_path / "csrc" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "csrc" / name).write_text("")
    (tmp_path / "toolkit/include").mkdir(parents=True)
    (tmp_path / "toolkit/include/cuda_runtime_api.h").write_text("")
    compiler(tmp_path, "c++")
    compiler(tmp_path, "toolkit/bin/nvcc")
    monkeypatch.setenv("CXX", str(tmp_path / "c++"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setattr(extension, "_SOURCES", tmp_path / "csrc")
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(tmp_path / "build"))
    monkeypatch.setattr(cuda_toolkit, "torch_cuda", lambda: "13.0")
    return tmp_path


def compiler(folder: Path, name: str, release: str = "13.0") -> None:
    script = folder / name
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(COMPILER.format(log=folder / "log", release=release))
    script.chmod(0o755)


def calls(folder: Path) -> list[str]:
    lines = (folder / "log").read_text().splitlines()
    (folder / "log").write_text("")
    return [line for line in lines if "--version" not in line and "-print-file-name" not in line]


def test_with_cuda_its_sources_are_compiled_and_linked(workshop):
    extension.build()
    *compiled, linked = calls(workshop)
    assert sorted(line.split(" -c ")[1].split()[0].rsplit("/", 1)[1] for line in compiled) == [
        "one.cpp",
        "three.cu",
        "two.cpp",
    ]
    (device,) = (line for line in compiled if "three.cu " in line)
    assert device.startswith(str(workshop / "toolkit/bin/nvcc"))
    assert "arch=compute_90,code=sm_90" in device
    assert all(f"-isystem {workshop}/toolkit/include" in line for line in compiled if line != device)
    assert all(f" {option} " in linked for option in ("-lc10_cuda", "-ltorch_cuda", "-lcudart"))


@pytest.mark.parametrize("why", ["torch without CUDA", "another CUDA", "no nvcc"])
def test_without_cuda_its_sources_are_left_out(workshop, monkeypatch, why):
    if why == "torch without CUDA":
        monkeypatch.setattr(cuda_toolkit, "torch_cuda", lambda: None)
    elif why == "another CUDA":
        compiler(workshop, "toolkit/bin/nvcc", "12.4")
    else:
        monkeypatch.setattr(cuda_toolkit, "installed", lambda: None)
    extension.build()
    compiled, linked = calls(workshop)
    assert "one.cpp" in compiled
    assert "-lcudart" not in linked


@pytest.mark.parametrize("broken", ["three.cu", "two.cpp", "-lcudart"])
def test_where_cuda_does_not_compile_the_rest_is_built_and_a_line_says_so(workshop, capfd, broken):
    for name in ("c++", "toolkit/bin/nvcc"):
        compiler(workshop, name)
        script = (workshop / name).read_text()
        refuse = f'case "$*" in *{broken}*) echo "{broken}: error: no" >&2; exit 3;; esac\n'
        (workshop / name).write_text(script.replace("while", refuse + "while"))
    library = extension.build()
    assert {path.name for path in library.parent.iterdir()} == {"mirror_kernels.so", "compiler.txt"}
    linked = calls(workshop)[-1]
    assert "one.cpp" in linked
    assert not any(part in linked for part in ("two.cpp", "three.cu", "-lcudart"))
    _, line = capfd.readouterr().err.splitlines()
    assert line.startswith("Built for the CPU only. For CUDA: The kernels did not compile")
    assert line.endswith(f"{broken}: error: no")
    assert "without the part for CUDA" in (library.parent / "compiler.txt").read_text()
    assert extension.build() == library
    assert calls(workshop) == []


def test_nvcc_gets_the_compiler_behind_a_launcher(workshop):
    toolkit = cuda_toolkit.for_torch()
    command = extension.compile_command(["/usr/bin/ccache", str(workshop / "c++")], toolkit, Path("a.cu"), "a.o")
    assert f"--compiler-bindir={workshop / 'c++'}" in command


def test_a_toolkit_that_is_too_old_is_none(workshop, monkeypatch):
    monkeypatch.setattr(cuda_toolkit, "torch_cuda", lambda: "12.0")
    for release, fits in (("12.0", False), ("12.1", True), ("12.10", True)):
        compiler(workshop, "toolkit/bin/nvcc", release)
        assert (cuda_toolkit.for_torch() is not None) is fits


def test_cuda_is_in_the_key_only_where_it_is_built(workshop, monkeypatch):
    def rebuilt() -> bool:
        before = set(workshop.glob("build/*/*.so"))
        return extension.build() not in before

    assert rebuilt()
    assert not rebuilt()
    (workshop / "csrc/cuda/four.cuh").write_text("// changed")
    assert rebuilt()
    compiler(workshop, "toolkit/bin/nvcc", "13.1")
    assert rebuilt()
    monkeypatch.setattr(cuda_toolkit, "torch_cuda", lambda: None)
    assert rebuilt()
    (workshop / "csrc/cuda/four.cuh").write_text("// changed again")
    compiler(workshop, "toolkit/bin/nvcc", "13.2")
    assert not rebuilt()


@pytest.mark.parametrize(
    ("text", "version"),
    [("cuda: Optional[str] = '13.0'\n", "13.0"), ("cuda = '12.8'\n", "12.8"), ("cuda: Optional[str] = None\n", None)],
)
def test_the_cuda_of_torch_is_read_without_importing_it(tmp_path, monkeypatch, text, version):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("raise AssertionError")
    (tmp_path / "torch/version.py").write_text("__version__ = '2.11.0'\n" + text)
    spec = torch.__spec__.__class__("torch", None, origin=str(tmp_path / "torch/__init__.py"))
    monkeypatch.setattr(cuda_toolkit, "find_spec", lambda name: spec)
    assert cuda_toolkit.torch_cuda() == version

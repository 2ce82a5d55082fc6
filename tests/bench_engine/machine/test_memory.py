"""Memory of a process: what runs into its limit fails in a way that can be told; the peak is that since the reset."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench_engine.machine import cgroup, memory
from db.installation import ROOT

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory limits and resets are Linux's")

_LIMITED = """
import resource, sys
from bench_engine.machine import memory
{imports}
def spare(mb):
    memory.limit(memory._status_bytes("VmData") + mb * 2**20)
{body}
"""


def run(body: str, imports: str = "") -> subprocess.CompletedProcess[str]:
    """What Python says and how it ends when it runs `body`, in which `spare(mb)` limits what it may still take."""
    return subprocess.run(
        [sys.executable, "-c", _LIMITED.format(imports=imports, body=body)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )


@linux
@pytest.mark.parametrize(
    ("body", "imports"),
    [
        ("x = [0] * 2**28", ""),
        ("x = [str(i) * 50 for i in range(10**8)]", ""),
        ("x = bytearray(2**30)", ""),
        ("x = numpy.ones(2**28)", "import numpy"),
    ],
)
def test_too_much_is_an_exception_of_python(body: str, imports: str) -> None:
    done = run(f"spare(60)\ntry:\n    {body}\nexcept MemoryError:\n    print('caught')", imports)
    assert (done.stdout, done.returncode) == ("caught\n", 0), done.stderr


@linux
def test_torch_s_exceptions_tell_of_memory_and_its_threads_start() -> None:
    body = """
torch.set_num_threads(2)
spare(100)
assert torch.ones(2**20).add(1).sum() == 2**21
assert torch.get_num_threads() == 2
try:
    torch.ones(2**30)
except RuntimeError as error:
    print(memory.ran_out(str(error)))
"""
    done = run(body, "import torch")
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


@linux
def test_threads_start_within_the_limit_and_beyond_it_say_why() -> None:
    body = """
spare(100)
def start(count):
    done = threading.Event()
    for _ in range(count):
        threading.Thread(target=done.wait, daemon=True).start()
    done.set()
start(4)
try:
    start(200)
except RuntimeError as error:
    print(memory.ran_out(str(error)))
"""
    done = run(body, "import threading")
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


@pytest.fixture(scope="session")
def takes_memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A C++ library that takes memory: caught, uncaught, in a thread team."""
    compiler = shutil.which("g++") or pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("takes_memory")
    (folder / "it.cpp").write_text(
        "#include <new>\n#include <vector>\n"
        'extern "C" int dies(long n) { std::vector<char> v(n, 1); return v[n / 2]; }\n'
        'extern "C" int catches(long n) { try { return dies(n); } catch (std::bad_alloc&) { return -1; } }\n'
        'extern "C" int team() {\n  int s = 0;\n'
        "#pragma omp parallel num_threads(64) reduction(+ : s)\n  s += 1;\n  return s;\n}\n"
    )
    library = folder / "it.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-fopenmp", str(folder / "it.cpp"), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


@linux
@pytest.mark.parametrize(
    ("call", "out", "dies"),
    [("catches(ctypes.c_long(2**30))", "-1\n", False), ("dies(ctypes.c_long(2**30))", "", True), ("team()", "", True)],
)
def test_cpp_returns_or_dies_with_a_word_of_memory(takes_memory: Path, call: str, out: str, dies: bool) -> None:
    done = run(f"it = ctypes.CDLL({str(takes_memory)!r})\nspare(60)\nprint(it.{call})", "import ctypes")
    assert done.stdout == out
    assert (done.returncode != 0) is dies
    assert memory.ran_out(done.stderr) is dies


@linux
def test_a_limit_below_what_is_there_is_refused_in_a_sentence() -> None:
    done = run("memory.limit(2**20)")
    assert "MemoryError: This process has 0.0" in done.stderr
    assert done.stderr.rstrip().endswith("and may have 0.00 GB: raise the memory limit.")


@linux
def test_a_limit_never_rises_above_the_one_given_from_outside() -> None:
    body = """
resource.setrlimit(resource.RLIMIT_DATA, (10**9, 10**9))
memory.limit(2 * 10**9)
print(resource.getrlimit(resource.RLIMIT_DATA))
"""
    assert run(body).stdout == "(1000000000, 1000000000)\n"


@linux
def test_the_limit_holds_for_what_the_process_starts() -> None:
    child = "print('grew', len(bytearray(2**30)))"
    done = run(
        f"spare(60)\nsys.exit(subprocess.run([sys.executable, '-c', {child!r}]).returncode)", "import subprocess"
    )
    assert done.returncode == 1
    assert "MemoryError" in done.stderr


def test_without_limits_of_linux_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    before = memory.resource.getrlimit(memory.resource.RLIMIT_DATA)
    memory.limit(1)
    assert memory.resource.getrlimit(memory.resource.RLIMIT_DATA) == before


@linux
def test_the_peak_is_that_since_the_reset() -> None:
    body = """
x = bytearray(100 * 10**6)
high = memory.peak_rss_mb()
del x
assert memory.reset_peak()
low = memory.peak_rss_mb()
print(high > 100, low < 60)
"""
    assert run(body).stdout == "True True\n"


@linux
def test_the_peak_is_not_that_of_the_process_that_started_it() -> None:
    body = """
x = bytearray(200 * 10**6)
code = "from bench_engine.machine import memory; print(memory.peak_rss_mb() < 100)"
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
"""
    assert run(body, "import subprocess").stdout.strip() == "True"


@pytest.mark.parametrize("status", ["", "VmHWM:\todd\n"])
def test_without_the_file_the_peak_is_that_since_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    assert not memory.reset_peak()
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "status").write_text(status)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = memory.resource.getrusage(memory.resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    assert memory.peak_rss_mb() == pytest.approx(peak, rel=0.1)


@pytest.mark.parametrize(("room", "available"), [(None, 8000), (3000, 3000), (9000, 8000), (0, 0)])
def test_available_is_the_smaller_of_machine_and_container(
    monkeypatch: pytest.MonkeyPatch, room: int | None, available: int
) -> None:
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: type("", (), {"available": 8000}))
    monkeypatch.setattr(cgroup, "memory_room", lambda: room)
    assert memory.available_bytes() == available


@pytest.mark.parametrize(
    ("text", "memory_is_short"),
    [
        ("CUDA out of memory. Tried to allocate 20.00 GiB.", True),
        ("RESOURCE_EXHAUSTED: Out of memory allocating 1024 bytes", True),
        ("terminate called after throwing an instance of 'std::bad_alloc'", True),
        ("[Errno 12] Cannot allocate memory", True),
        ("libgomp: Thread creation failed: Resource temporarily unavailable", True),
        ("shape mismatch: [2, 3] and [3, 3]", False),
        ("", False),
    ],
)
def test_texts_that_tell_of_memory(text: str, memory_is_short: bool) -> None:
    assert memory.ran_out(text) is memory_is_short

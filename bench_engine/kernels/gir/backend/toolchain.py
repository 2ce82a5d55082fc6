"""Generated C++ becomes functions of this process: compiled with a time limit, loaded, and kept for the next process.

An entry is a folder with `entry.json` and, where a kernel won, `kernels.so`. It is written beside its place and
renamed, so that nobody sees half of one. What is corrupt, or another generator, machine or compiler's, is built anew.
"""

import ctypes
import fcntl
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from bench_engine.kernels.native import cache
from bench_engine.kernels.native.extension import CompileError, CompilerMissingError, compiler, toolchain
from bench_engine.kernels.native.flags import FLAGS

# They give up errno and floating-point exceptions, and let a product and a sum be rounded once; no value changes else.
# Whole numbers wrap around, as torch's do.
OWN_FLAGS = (
    "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fwrapv", "-Wno-psabi", "-Wno-unused-function",
)  # fmt: skip
FORMAT = 1  # of entry.json
COMPILE_LIMIT_S = 60.0

Function = Callable[..., int]

forked = False


def _after_fork() -> None:
    global forked
    forked = True


os.register_at_fork(after_in_child=_after_fork)  # OpenMP's threads do not survive a fork: a child uses one


def threads(wanted: int) -> int:
    """How many threads a kernel may use in this process."""
    return 1 if forked else wanted


def vector_width() -> int:
    """Floats in a vector of this CPU."""
    features = cpu().split()
    return 16 if "avx512f" in features else 8 if "avx" in features else 4


@lru_cache(1)
def cpu() -> str:
    """Model and instruction sets."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    wanted = ("model name", "flags", "Features", "CPU part")
    return " ".join(sorted({line for line in lines if line.partition(":")[0].strip() in wanted}))


@lru_cache(1)
def compiler_name() -> str | None:
    """The compiler with its version; None where there is none."""
    try:
        return toolchain()["compiler"]
    except CompilerMissingError:
        return None


@lru_cache(1)
def generator() -> str:
    """Hash of what generates code: a change of it builds all entries anew."""
    digest = hashlib.sha256()
    for path in sorted(p for p in Path(__file__).parents[1].rglob("*") if p.suffix in (".py", ".h", ".tl")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def key(*parts: object) -> str:
    """Name of the entry for what these parts say, on this CPU, with this generator and this torch."""
    said = json.dumps([FORMAT, generator(), cpu(), FLAGS, OWN_FLAGS, torch.__version__, *map(str, parts)])
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def compile_unit(source: str, target: Path, limit_s: float = COMPILE_LIMIT_S) -> None:
    """Compiles C++ into a shared object. Raises CompilerMissingError, and CompileError also after the time limit."""
    command = [*compiler(), *FLAGS, *OWN_FLAGS, "-shared", "-x", "c++", "-", "-o", str(target)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        _, said = process.communicate(source, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise CompileError(f"A generated kernel did not compile in {limit_s:g} s ({command[0]}).") from None
    finally:
        if process.poll() is None:  # too late, or Ctrl-C, which a session of its own does not hear
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode:
        first = next((line for line in said.splitlines() if "error" in line), said.strip()[-200:])
        raise CompileError(
            f"A generated kernel did not compile ({command[0]} ended with {process.returncode}): {first}"
        )


def load(path: Path, names: Sequence[str]) -> list[Function]:
    """The functions of a shared object. Raises OSError and AttributeError."""
    library = ctypes.CDLL(str(path))
    functions = [getattr(library, name) for name in names]
    for function in functions:
        function.restype = ctypes.c_int64
        function.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return functions


def find(name: str) -> tuple[dict[str, Any], Path] | None:
    """What an entry says, and its folder; None where there is none that is whole and fits this compiler, if any."""
    for place in cache.folders():
        folder = place / "gir" / name
        try:
            said = json.loads((folder / "entry.json").read_text(encoding="utf-8"))
            whole = said["format"] == FORMAT and said["key"] == name
            whole = whole and (said["library"] is None or said["library"] == _hash(folder / "kernels.so"))
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if whole and cache.trusted(place) and compiler_name() in (None, said["compiler"]):
            return said, folder
    return None


def keep(name: str, said: dict[str, Any], library: Path | None) -> None:
    """Writes an entry, in place of one that is there; where no folder can be written, nothing is kept."""
    with suppress(OSError, cache.CacheError):
        place = cache.writable() / "gir"
        place.mkdir(exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=place, prefix="part-"))
        try:
            if library:
                shutil.copyfile(library, part / "kernels.so")
            own = {"format": FORMAT, "key": name, "compiler": compiler_name()}
            own["library"] = _hash(part / "kernels.so") if library else None
            (part / "entry.json").write_text(json.dumps({**said, **own}, indent=1), encoding="utf-8")
            shutil.rmtree(place / name, ignore_errors=True)
            part.rename(place / name)
        finally:
            shutil.rmtree(part, ignore_errors=True)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Held while candidates are measured: two processes that measure at once would measure one another."""
    try:
        place = cache.writable() / "gir"
        place.mkdir(exist_ok=True)
        file = (place / "lock").open("w")
    except (OSError, cache.CacheError):
        yield
        return
    with file:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)  # the system releases it when its holder dies
        yield


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pointers(tensors: Sequence[torch.Tensor]) -> Any:
    """Addresses of the tensors' data, as a generated function takes them."""
    return (ctypes.c_void_p * len(tensors))(*[tensor.data_ptr() for tensor in tensors])

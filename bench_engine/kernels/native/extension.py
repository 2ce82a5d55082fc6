"""Builds the C++ kernels in csrc/ once per machine, and loads what was built.

The first use compiles where nothing was built ahead (`python -m bench_engine build`), except in a process that
measures: no trial is to wait for a compiler, or to share its cores with one.
"""

import fcntl
import hashlib
import importlib.machinery
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

from bench_engine.kernels.native import cache, cuda_toolkit
from bench_engine.kernels.native.cuda_toolkit import Toolkit
from bench_engine.kernels.native.flags import CUDA_FLAGS, FLAGS, INSTRUCTION_SETS

_SOURCES = cache.sources()
_LIBRARY, _COMPILER_NOTE = "mirror_kernels.so", "compiler.txt"
# Python functions over the library's ops: csrc/python/, which needs this interpreter's headers. What it speeds up works
# without it.
_PYTHON_LIBRARY, _PYTHON_MODULE = "mirror_python.so", "mirror_python"
NOT_BUILT = "the compiled kernels are not built for this machine: run `python -m bench_engine build`."
_MESSAGE_LINES = 20
_LAUNCHERS = {"ccache", "distcc", "icecc", "sccache"}  # words that $CXX may have before the compiler

compiles_on_use = True  # a process that measures says no

_loaded: dict[str, str] | None = None
_refused: "KernelsNotBuiltError | None" = None
_python: ModuleType | None = None
_loading = threading.Lock()


class KernelsNotBuiltError(RuntimeError):
    """No library was built for this machine, torch version and source."""


class CompilerMissingError(KernelsNotBuiltError):
    """There is no C++ compiler."""


class CompileError(KernelsNotBuiltError):
    """The compiler refused, and the message ends with the tail of what it said; or there is nothing to compile."""


class _CudaCompileError(CompileError):
    """What failed is needed for CUDA alone."""


def built() -> bool:
    """Whether `load` would find a library. Quick: torch, slow to import, is only imported where it is used."""
    return bool(_found())


def load() -> None:
    """Load the library into this process, once; its ops are then under `torch.ops.mirror`.

    Where several compilers were used, the build asked for last is taken. Raises KernelsNotBuiltError, of which
    CompilerMissingError and CompileError are kinds.
    """
    global _loaded, _python
    with _loading:
        if _loaded:
            return
        found = _found()
        library = found[-1] if found else _on_first_use()
        import torch

        folder = library.parent
        compiler = (folder / _COMPILER_NOTE).read_text(encoding="utf-8")
        try:
            torch.ops.load_library(library)
        except OSError as error:
            raise KernelsNotBuiltError(
                f"{library} cannot be loaded here ({error}): delete {folder} and run `python -m bench_engine build`."
            ) from error
        _python = _python_module(folder / _PYTHON_LIBRARY)
        _loaded = {"kernels_build": folder.name, "compiler": compiler, "compiler_flags": " ".join(FLAGS)}


def _on_first_use() -> Path:
    """Builds; where that failed in this process before, says so again at once."""
    global _refused
    if not compiles_on_use:
        raise KernelsNotBuiltError(NOT_BUILT[0].upper() + NOT_BUILT[1:])
    if _refused is None:
        try:
            return build()
        except KernelsNotBuiltError as error:
            _refused = error
    raise _refused


def python_module() -> ModuleType | None:
    """The Python functions of csrc/python/ over the loaded ops; None where they could not be built."""
    return _python


def python_module_if_built() -> ModuleType | None:
    """As python_module, of what was built ahead: for whoever can do without, and does not wait for a compiler."""
    if not _loaded and built():
        with suppress(KernelsNotBuiltError, OSError):
            load()
    return _python


def _python_module(path: Path) -> ModuleType | None:
    if not path.exists():
        return None
    loader = importlib.machinery.ExtensionFileLoader(_PYTHON_MODULE, str(path))
    spec = importlib.util.spec_from_loader(_PYTHON_MODULE, loader)
    assert spec is not None
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        print(f"Without the short way from Python to the compiled kernels: {error}", file=sys.stderr)
        return None
    return module


def provenance() -> dict[str, str]:
    """Build key of the library that this process loaded, the compiler that built it and its flags; else nothing."""
    return dict(_loaded or {})


def _found() -> list[Path]:
    """Libraries that fit this machine, the one built last at the end; none where torch or csrc/ is not there."""
    try:
        key = _machine_key()
    except PackageNotFoundError:
        return []
    places = [folder for folder in cache.folders() if cache.trusted(folder)] if _units(with_cuda=False) else []
    return sorted((p for place in places for p in place.glob(f"{key}-*/{_LIBRARY}")), key=lambda p: p.stat().st_mtime)


def build() -> Path:
    """Compile the kernels unless that is done already, and return the library's path.

    Any number of processes may build at once: one compiles, the others wait and find its result. A build that is
    killed leaves nothing that a later one could stumble over. One line on stderr says that it compiles, or waits;
    where the part for CUDA cannot be built, another does, and the library is that for the CPU.

    Raises CompilerMissingError and CompileError.
    """
    command = compiler()
    if not _units(with_cuda=False):
        raise CompileError(f"There are no sources of kernels in {_SOURCES}: install the package, or clone it, anew.")
    try:
        key = _machine_key()
    except PackageNotFoundError:
        raise CompileError("The kernels are compiled against torch: install it, then build again.") from None
    toolkit = cuda_toolkit.for_torch()
    said = _version_of(command) + (f"; nvcc {toolkit.release}" if toolkit else "")
    name = f"{key}-{hashlib.sha256(said.encode()).hexdigest()[:8]}"
    for library in _found():
        if library.parent.name == name:
            with suppress(OSError):  # whoever may only read them takes the one built last
                library.touch()
            return library
    try:
        builds = cache.writable()
    except cache.CacheError as error:
        raise CompileError(str(error)) from None
    target = builds / name
    library = target / _LIBRARY
    with _lock(builds / "lock"):
        if library.exists():
            return library
        for leftover in (target, *builds.glob("part-*")):
            shutil.rmtree(leftover, ignore_errors=True)
        part = Path(tempfile.mkdtemp(dir=builds, prefix="part-"))
        print(f"Compiling Mirror's kernels for this machine, which is done once, into {target}.", file=sys.stderr)
        try:
            try:
                _compile(command, toolkit, part)
            except _CudaCompileError as error:
                said += "; without the part for CUDA, which did not compile"
                print(f"Built for the CPU only. For CUDA: {_reason(error)}", file=sys.stderr)
                _compile(command, None, part)
            if _python_units() and not (part / _PYTHON_LIBRARY).exists():
                said += "; without csrc/python, which did not compile"
            (part / _COMPILER_NOTE).write_text(said, encoding="utf-8")
            part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return library


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """An exclusive lock that the system releases when its holder dies."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for another process that compiles Mirror's kernels.", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _reason(error: CompileError) -> str:
    """One line: who failed, and the first error of what he said."""
    first, *said = str(error).splitlines()
    return " ".join([first, *[line.strip() for line in said if "error" in line.lower()][:1]])


def _compile(compiler: list[str], toolkit: Toolkit | None, folder: Path) -> None:
    sources = _units(with_cuda=toolkit is not None)
    objects = [str(folder / f"{source.relative_to(_SOURCES)}.o".replace("/", "_")) for source in sources]
    # Longest first: nvcc takes longer than the others.
    jobs = sorted(zip(sources, objects, strict=True), key=lambda job: job[0].suffix != ".cu")
    commands = [compile_command(compiler, toolkit, source, target) for source, target in jobs]
    kinds = [_CudaCompileError if source.parent.name == "cuda" else CompileError for source, _ in jobs]
    units = [] if (folder / _PYTHON_LIBRARY).exists() else _python_units()  # there, where CUDA did not compile
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        native = pool.map(_run, commands, kinds)
        python = [pool.submit(_run, _python_command(compiler, unit, folder), CompileError) for unit in units]
        list(native)
    if units:
        _link_python(compiler, folder, units, python)
    libraries = [*_torch_libraries(), *_standard_library(compiler)]
    if toolkit:
        libraries += [f"-L{toolkit.home / 'lib64'}", "-lc10_cuda", "-ltorch_cuda", "-lcudart"]
    link = [*compiler, *FLAGS, "-shared", *objects, *libraries, "-o", str(folder / _LIBRARY)]
    _run(link, _CudaCompileError if toolkit else CompileError)
    for path in folder.glob("*.o"):  # also those of a build with CUDA that failed
        path.unlink()


def _python_command(compiler: list[str], unit: Path, folder: Path) -> list[str]:
    headers = [f"-I{_SOURCES}", *_torch_headers(), "-isystem", sysconfig.get_path("include")]
    return [*compiler, *FLAGS, *headers, "-c", str(unit), "-o", _python_object(unit, folder)]


def _python_object(unit: Path, folder: Path) -> str:
    return str(folder / f"python_{unit.name}.o")


def _link_python(compiler: list[str], folder: Path, units: list[Path], compiled: list[Future[None]]) -> None:
    """The library of csrc/python; a line that says why where one of its files did not compile."""
    libraries = [*_torch_libraries(), "-ltorch_python", *_standard_library(compiler)]
    objects = [_python_object(unit, folder) for unit in units]
    try:
        for unit in compiled:
            unit.result()
        _run([*compiler, *FLAGS, "-shared", *objects, *libraries, "-o", str(folder / _PYTHON_LIBRARY)], CompileError)
    except CompileError as error:
        print(
            f"Built without the short way from Python, which needs its headers: {_reason(error)} "
            f"To try again, delete {folder.parent}.",
            file=sys.stderr,
        )


def _standard_library(compiler: list[str]) -> list[str]:
    """The C++ library that torch runs with, named for a machine whose compiler would otherwise take a copy of its own.

    Where only libstdc++.a is found, it ends up in the kernels' library, and two of them in one process crash when an
    error is worded.
    """
    asked = [*compiler, "-print-file-name=libstdc++.so"]
    done = subprocess.run(asked, capture_output=True, text=True, errors="replace", check=False)
    alone = done.returncode == 0 and done.stdout.strip() == "libstdc++.so"  # its own name back: there is none
    return ["-l:libstdc++.so.6"] if alone else []


def _torch_libraries() -> list[str]:
    return [f"-L{_torch_home() / 'lib'}", "-lc10", "-ltorch_cpu", "-ltorch"]


def compile_command(compiler: list[str], toolkit: Toolkit | None, source: Path, target: str) -> list[str]:
    """The command that compiles one file of csrc/; a toolkit is needed for those of its folders cuda/."""
    headers = [f"-I{_SOURCES}", *_torch_headers()]
    if toolkit and source.suffix == ".cu":
        host = next((word for word in compiler if Path(word).name not in _LAUNCHERS), compiler[0])
        start = [str(toolkit.nvcc), f"--compiler-bindir={shutil.which(host)}", *CUDA_FLAGS]
    else:
        start = [*compiler, *FLAGS, *_instruction_set(source)]
        headers += ["-isystem", str(toolkit.home / "include")] if toolkit else []
    return [*start, *headers, "-c", str(source), "-o", target]


def _instruction_set(source: Path) -> list[str]:
    if platform.machine() != "x86_64":
        return []
    return [flag for ending, flag in INSTRUCTION_SETS.items() if source.stem.endswith(ending)]


def _torch_headers() -> list[str]:
    import torch

    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    include = _torch_home() / "include"
    return [abi, "-isystem", str(include), "-isystem", str(include / "torch/csrc/api/include")]


def _torch_home() -> Path:
    import torch

    return Path(torch.__file__).parent


def _run(command: list[str], error: type[CompileError]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        tail = "\n".join(done.stderr.splitlines()[-_MESSAGE_LINES:])
        raise error(f"The kernels did not compile ({command[0]} ended with {done.returncode}):\n{tail}")


def _units(with_cuda: bool) -> list[Path]:
    apart = {"python"} if with_cuda else {"python", "cuda"}
    return sorted(p for p in _SOURCES.rglob("*.c*") if p.suffix in (".cpp", ".cu") and p.parent.name not in apart)


def _python_units() -> list[Path]:
    return sorted(_SOURCES.glob("python/*.cpp"))


def _machine_key() -> str:
    """Hash of the versions of torch and Python, flags, sources, CPU and files of a build: what a library must agree
    with to be loaded."""
    digest = hashlib.sha256()
    cuda = cuda_toolkit.torch_cuda()
    python = str(sysconfig.get_config_var("SOABI"))
    flags = (*FLAGS, *INSTRUCTION_SETS.values(), *((cuda, *CUDA_FLAGS) if cuda else ()))
    for part in (version("torch"), python, _cpu(), _COMPILER_NOTE, *flags):
        digest.update(part.encode() + b"\0")
    sources = [*_units(with_cuda=cuda is not None), *_python_units(), *_SOURCES.rglob("*.h"), *_SOURCES.rglob("*.cuh")]
    for path in sorted(path for path in sources if cuda or path.parent.name != "cuda"):
        digest.update(path.relative_to(_SOURCES).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _cpu() -> str:
    """Model and instruction sets of the CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    facts = {
        line for line in lines if line.partition(":")[0].strip() in ("model name", "flags", "Features", "CPU part")
    }
    return platform.machine() + "\n".join(sorted(facts))


def compiler() -> list[str]:
    """The command of the first compiler that is there; $CXX may hold arguments too."""
    for candidate in (os.environ.get("CXX", ""), "g++", "clang++"):
        command = shlex.split(candidate)
        if command and shutil.which(command[0]):
            return command
    raise CompilerMissingError(
        "No C++ compiler was found (looked for $CXX, g++, clang++): install one, e.g. `apt-get install g++`; "
        "methods that need no compiled kernels still run."
    )


def toolchain() -> dict[str, str]:
    """The compiler that a build takes, with its version, and the flags. Raises CompilerMissingError."""
    return {"compiler": _version_of(compiler()), "compiler_flags": " ".join(FLAGS)}


def _version_of(compiler: list[str]) -> str:
    """The compiler's command and the first line of what it says about itself."""
    said = subprocess.run(
        [*compiler, "--version"], capture_output=True, text=True, errors="replace", check=False
    ).stdout
    return f"{shlex.join(compiler)}: {said.strip().partition(chr(10))[0]}"

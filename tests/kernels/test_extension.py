"""Building and loading the compiled kernels."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import torch

from bench_engine.kernels.native import extension
from bench_engine.registry.readiness import SkipReasons

COMPILER = """#!/bin/sh
echo "$@" >> {log}
{before}
exec g++ "$@"
"""


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    """A source tree of one tiny file, an empty build folder, and a compiler that notes its calls in `log`."""
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc/tiny.cpp").write_text('extern "C" int tiny() { return 1; }\n')
    monkeypatch.setattr(extension, "_SOURCES", tmp_path / "csrc")
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(tmp_path / "build"))
    monkeypatch.setattr(extension, "_loaded", None)
    monkeypatch.setattr(extension, "_refused", None)
    monkeypatch.setattr(extension, "_python", None)
    use_compiler(tmp_path, monkeypatch)
    return tmp_path


def use_compiler(folder: Path, monkeypatch, before: str = "") -> None:
    script = folder / "compiler"
    script.write_text(COMPILER.format(log=folder / "log", before=before))
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))


def compiled(folder: Path) -> int:
    """How many files were compiled so far."""
    return sum(" -c " in line for line in (folder / "log").read_text().splitlines())


def in_process() -> multiprocessing.Process:
    process = multiprocessing.get_context("fork").Process(target=extension.build)
    process.start()
    return process


@pytest.mark.usefixtures("built_kernels")
def test_parallel_for_uses_the_threads_torch_was_given():
    extension.load()
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            assert torch.ops.mirror.parallel_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_build_compiles_once_and_leaves_the_library_and_its_compiler(workshop):
    library = extension.build()
    assert {p.name for p in library.parent.iterdir()} == {"mirror_kernels.so", "compiler.txt"}
    assert extension.build() == library
    assert compiled(workshop) == 1


def test_a_changed_source_or_compiler_is_built_anew(workshop, monkeypatch):
    first = extension.build()
    (workshop / "csrc/cpu").mkdir()
    (workshop / "csrc/cpu/more.cpp").write_text('#include "../n.h"\nextern "C" int more() { return N; }\n')
    (workshop / "csrc/n.h").write_text("#define N 1\n")
    second = extension.build()
    (workshop / "csrc/n.h").write_text("#define N 2\n")
    third = extension.build()
    monkeypatch.setenv("CXX", "g++ -DOTHER")
    fourth = extension.build()
    assert len({first, second, third, fourth}) == 4


def test_two_processes_compile_once(workshop, monkeypatch):
    use_compiler(workshop, monkeypatch, "sleep 0.3")
    processes = [in_process() for _ in range(3)]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert compiled(workshop) == 1


def test_a_killed_build_does_not_block_the_next(workshop, monkeypatch):
    use_compiler(workshop, monkeypatch, 'case "$*" in *" -c "*) sleep 2;; esac')
    process = in_process()
    while not list((workshop / "build").glob("part-*")):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.join(60)
    use_compiler(workshop, monkeypatch)
    assert extension.build().exists()
    assert not list((workshop / "build").glob("part-*"))


def test_a_library_taken_away_is_built_again(workshop):
    library = extension.build()
    library.unlink()
    assert extension.build() == library
    assert library.exists()


def test_a_failed_compile_says_what_the_compiler_said_and_leaves_nothing(workshop):
    (workshop / "csrc/tiny.cpp").write_text("int broken( { return 1; }\n")
    with pytest.raises(
        extension.CompileError, match=r"^The kernels did not compile .*\n(.*\n)*.*tiny\.cpp:1:\d+: error"
    ):
        extension.build()
    assert [p.name for p in (workshop / "build").iterdir()] == ["lock"]


def test_without_a_compiler_one_line_says_what_to_do(workshop, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setenv("PATH", str(workshop))
    with pytest.raises(extension.CompilerMissingError) as error:
        extension.build()
    assert str(error.value) == (
        "No C++ compiler was found (looked for $CXX, g++, clang++): install one, e.g. `apt-get install g++`; "
        "methods that need no compiled kernels still run."
    )


def test_the_first_use_compiles_with_one_line_and_the_next_does_not(workshop, monkeypatch, capsys):
    loaded = []
    monkeypatch.setattr(torch.ops, "load_library", loaded.append)
    extension.load()
    assert compiled(workshop) == 1
    assert loaded == list((workshop / "build").glob("*/mirror_kernels.so"))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Compiling Mirror's kernels for this machine, which is done once, into ")
    monkeypatch.setattr(extension, "_loaded", None)
    extension.load()
    assert compiled(workshop) == 1
    assert capsys.readouterr().err == ""


def test_what_cannot_be_compiled_is_tried_once_in_a_process(workshop):
    (workshop / "csrc/tiny.cpp").write_text("int broken( { return 1; }\n")
    for _ in range(2):
        with pytest.raises(extension.KernelsNotBuiltError, match=r"^The kernels did not compile"):
            extension.load()
    assert compiled(workshop) == 1


def test_without_sources_nothing_counts_as_built(workshop, monkeypatch):
    extension.build()
    monkeypatch.setattr(extension, "_SOURCES", workshop / "elsewhere")
    assert not extension.built()
    with pytest.raises(extension.CompileError, match=r"^There are no sources of kernels in \S+: install the package"):
        extension.build()


def test_another_torch_is_built_for_anew(workshop, monkeypatch):
    loaded = []
    monkeypatch.setattr(torch.ops, "load_library", loaded.append)
    first = extension.build()
    monkeypatch.setattr(extension, "version", lambda name: "9.9.9+cpu")
    assert not extension.built()
    extension.load()
    assert loaded != [first]
    assert compiled(workshop) == 2


def test_a_process_that_waits_for_another_says_so(workshop, monkeypatch, capfd):
    use_compiler(workshop, monkeypatch, "sleep 0.3")
    processes = [in_process() for _ in range(2)]
    for process in processes:
        process.join(60)
    said = capfd.readouterr().err.splitlines()
    assert sorted(line.split()[0] for line in said) == ["Compiling", "Waiting"]


def test_a_folder_that_cannot_be_written_is_one_sentence_and_what_is_in_it_is_still_loaded(workshop, monkeypatch):
    monkeypatch.setattr(torch.ops, "load_library", lambda path: None)
    library = extension.build()
    monkeypatch.setattr(extension.cache, "writable", lambda: pytest.fail("nothing is to be written"))
    assert extension.build() == library
    monkeypatch.undo()
    (workshop / "file").write_text("")
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(workshop / "file" / "cache"))
    with pytest.raises(extension.CompileError, match=r"cannot be written: name another folder .* MIRROR_CACHE_DIR\.$"):
        extension.build()


def test_a_process_that_measures_never_compiles(workshop, monkeypatch):
    monkeypatch.setattr(extension, "compiles_on_use", False)
    with pytest.raises(
        extension.KernelsNotBuiltError, match=r"not built for this machine: run `python -m bench_engine"
    ):
        extension.load()
    assert not (workshop / "build").exists()


def test_load_takes_the_build_asked_for_last_and_needs_no_compiler(workshop, monkeypatch):
    loaded = []
    monkeypatch.setattr(torch.ops, "load_library", loaded.append)
    first = extension.build()
    script = os.environ["CXX"]
    monkeypatch.setenv("CXX", "g++ -DOTHER")
    second = extension.build()
    os.utime(first, (1, 1))
    os.utime(second, (2, 2))
    monkeypatch.setenv("CXX", script)
    extension.build()
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX")
    extension.load()
    extension.load()
    assert loaded == [first]


def test_the_part_for_python_is_built_and_loaded_beside_the_library(workshop, monkeypatch):
    monkeypatch.setattr(torch.ops, "load_library", lambda path: None)
    (workshop / "csrc/python").mkdir()
    (workshop / "csrc/python/tiny.cpp").write_text(
        "#include <Python.h>\n"
        'static PyModuleDef tiny = {PyModuleDef_HEAD_INIT, "mirror_python", "tiny", -1, nullptr,\n'
        "                           nullptr, nullptr, nullptr, nullptr};\n"
        "PyMODINIT_FUNC PyInit_mirror_python() { return PyModule_Create(&tiny); }\n"
    )
    extension.build()
    extension.load()
    module = extension.python_module()
    assert module is not None
    assert module.__doc__ == "tiny"
    monkeypatch.setattr(extension.sysconfig, "get_config_var", lambda name: "cpython-399")
    assert not extension.built()


def test_without_the_part_for_python_the_library_is_built_all_the_same(workshop, monkeypatch, capsys):
    monkeypatch.setattr(torch.ops, "load_library", lambda path: None)
    (workshop / "csrc/python").mkdir()
    (workshop / "csrc/python/tiny.cpp").write_text("#include <no_such_header.h>\n")
    extension.build()
    extension.load()
    assert extension.python_module() is None
    _, said = capsys.readouterr().err.splitlines()
    assert said.startswith("Built without the short way from Python, which needs its headers: The kernels did not")
    assert "no_such_header.h" in said
    assert extension.provenance()["compiler"].endswith("; without csrc/python, which did not compile")


def test_a_part_for_python_that_cannot_be_loaded_is_a_line(workshop, monkeypatch, capsys):
    monkeypatch.setattr(torch.ops, "load_library", lambda path: None)
    (workshop / "csrc/python").mkdir()
    (workshop / "csrc/python/tiny.cpp").write_text('extern "C" int not_a_module() { return 1; }\n')
    extension.build()
    extension.load()
    assert extension.python_module() is None
    assert "Without the short way from Python to the compiled kernels: " in capsys.readouterr().err


def test_changed_flags_are_built_anew(workshop, monkeypatch):
    first = extension.build()
    monkeypatch.setattr(extension, "FLAGS", (*extension.FLAGS, "-DOTHER"))
    assert not extension.built()
    assert extension.build() != first


def test_provenance_is_that_of_the_library_that_was_loaded(workshop, monkeypatch):
    monkeypatch.setattr(torch.ops, "load_library", lambda path: None)
    assert extension.provenance() == {}
    library = extension.build()
    assert extension.provenance() == {}
    extension.load()
    found = extension.provenance()
    assert found["kernels_build"] == library.parent.name
    assert found["compiler"].startswith(f"{os.environ['CXX']}: g++")
    assert "-fopenmp" in found["compiler_flags"]


def test_without_torch_nothing_is_built_and_a_build_says_why(workshop, monkeypatch):
    def absent(name):
        raise PackageNotFoundError(name)

    extension.build()
    monkeypatch.setattr(extension, "version", absent)
    assert not extension.built()
    assert SkipReasons().of("hashed", {}) == f"hashed cannot run: {extension.NOT_BUILT}"
    with pytest.raises(extension.KernelsNotBuiltError, match="compiled against torch: install it, then build again"):
        extension.load()
    with pytest.raises(extension.CompileError, match="compiled against torch: install it, then build again"):
        extension.build()


@pytest.mark.usefixtures("built_kernels")
def test_modules_that_need_no_kernels_run_where_none_can_be_built(tmp_path):
    script = (
        "import torch\n"
        "from bench_engine.kernels import HashedEmbeddingBag, HashedEmbeddingBagReference\n"
        "HashedEmbeddingBagReference(9, 4, 1)(torch.zeros(1, 1, dtype=torch.int64))\n"
        "HashedEmbeddingBag(9, 4, 1)\n"
    )
    root = Path(__file__).parents[2]
    environment = {**os.environ, "MIRROR_CACHE_DIR": str(tmp_path), "CXX": "", "PATH": str(tmp_path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith(
        "bench_engine.kernels.native.extension.CompilerMissingError: No C++ compiler"
    )

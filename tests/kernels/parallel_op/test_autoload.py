"""What `import torch` meets at its end."""

import importlib.metadata
import sys

import pytest
import torch

from bench_engine.kernels.native import extension
from bench_engine.kernels.parallel_op import autoload
from bench_engine.kernels.parallel_op.entry import switching
from bench_engine.kernels.parallel_op.settings import Settings, active_settings
from tests.kernels.parallel_op.processes import run

LOADED = """
import sys, torch
slow = ("torch._dynamo", "torch._inductor", "sympy", "bench_engine.kernels.parallel_op.graph.graph_pass")
print([name for name in slow if name in sys.modules])
print("bench_engine.kernels.parallel_op.settings" in sys.modules)
print(bool(torch.nn.modules.module._has_any_global_hook()))
"""


@pytest.fixture
def off():
    """Switched off again afterwards."""
    yield
    switching.disable()


def test_both_entry_points_are_registered():
    torch_backends = {point.name: point.value for point in importlib.metadata.entry_points(group="torch.backends")}
    assert torch_backends["mirror_parallel_op"] == "bench_engine.kernels.parallel_op.autoload:autoload"
    assert "parallel_op" in {point.name for point in importlib.metadata.entry_points(group="torch_dynamo_backends")}


def test_import_torch_stays_as_it_was_while_the_variable_is_not_set():
    done = run(LOADED)
    assert done.stdout.split("\n")[:3] == ["[]", "False", "False"]
    assert done.stderr == ""


@pytest.mark.usefixtures("built_kernels")
def test_import_torch_stays_light_when_it_is_set(tmp_path):
    done = run(LOADED, MIRROR_PARALLEL_OP="1", MIRROR_PARALLEL_OP_CACHE=str(tmp_path))
    assert done.stdout.split("\n")[:3] == ["[]", "True", "False"]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({"MIRROR_PARALLEL_OP": "yes"}, "MIRROR_PARALLEL_OP=yes is neither on"),
        ({"MIRROR_PARALLEL_OP": "1", "MIRROR_PARALLEL_OP_SCHEDULE": "x"}, "known: auto, table, batch, flat"),
    ],
)
def test_what_is_wrong_is_one_line_and_torch_works(monkeypatch, capsys, variables, line):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    autoload.autoload()
    said = capsys.readouterr().err
    assert said.startswith("Parallel OP is off: ")
    assert line in said
    assert said.count("\n") == 1
    assert active_settings() is None


def test_off_by_word_says_nothing(monkeypatch, capsys):
    monkeypatch.setenv("MIRROR_PARALLEL_OP", "off")
    autoload.autoload()
    assert capsys.readouterr().err == ""
    assert active_settings() is None


def test_kernels_that_are_not_built_and_cannot_be(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("MIRROR_PARALLEL_OP", "1")
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(extension, "_loaded", None)
    monkeypatch.setattr(extension, "_refused", None)
    autoload.autoload()
    said = capsys.readouterr().err
    assert said.startswith("Parallel OP is off: No C++ compiler was found")
    assert said.count("\n") == 1
    assert active_settings() is None


def test_a_torch_that_is_too_old(monkeypatch, capsys):
    monkeypatch.setenv("MIRROR_PARALLEL_OP", "1")
    monkeypatch.setattr(torch, "__version__", "2.9.1+cpu")
    autoload.autoload()
    assert capsys.readouterr().err == "Parallel OP is off: it needs torch 2.11 or newer, and this is torch 2.9.1+cpu.\n"


def test_never_raises(monkeypatch, capsys):
    def broken(*_: object) -> None:
        raise OSError("the disk\nis gone")

    monkeypatch.setenv("MIRROR_PARALLEL_OP", "1")
    monkeypatch.setattr(switching, "enable", broken)
    autoload.autoload()
    assert capsys.readouterr().err == "Parallel OP is off: OSError: the disk is gone\n"


@pytest.mark.usefixtures("built_kernels", "off")
def test_on_and_off_from_python():
    settings = Settings(min_group=5)
    switching.enable(settings)
    assert active_settings() == settings
    switching.disable()
    assert active_settings() is None
    assert not any(type(finder).__module__.startswith("bench_engine") for finder in sys.meta_path)

"""A cache of its own for every test run, so that no test finds what another version has left; calls in C++."""

import pytest

from bench_engine.kernels.native import extension


@pytest.fixture(scope="session", autouse=True)
def compiled_for_python(built_kernels: None) -> None:
    """The compiled functions and types of csrc/python, before tests name another folder for what is compiled."""
    extension.load()


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "gir-cache"))

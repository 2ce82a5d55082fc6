"""A cache of its own for every test run, so that no test finds what another version has left."""

import pytest


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "gir-cache"))

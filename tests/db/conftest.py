"""A journal and a store of a test."""

from pathlib import Path

import pytest

from db.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "x.duckdb"), lock_wait_s=0.3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "x.journal"
    path.mkdir()
    return path

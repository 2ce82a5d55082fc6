"""Where files are, in a clone and where the project is installed."""

from pathlib import Path

import pytest

from db import installation, settings


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """As in an environment whose packages lie in the folder given."""
    for module in (installation, settings):
        monkeypatch.setattr(module, "INSTALLED", True)
        monkeypatch.setattr(module, "ROOT", tmp_path / "site")
    for name in ("XDG_DATA_HOME", "MIRROR_DB", "MIRROR_JOURNAL", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    settings._secrets.cache_clear()
    return tmp_path


def test_in_a_clone_all_is_at_its_root() -> None:
    root = installation.ROOT
    assert not installation.INSTALLED
    assert all(installation.path(name) == root / name and (root / name).exists() for name in installation.INSIDE)
    assert settings.home() == root / "db"
    assert installation.python_path().split(":")[0] == str(root)


def test_installed_all_is_inside_the_packages(installed: Path) -> None:
    assert installation.path("csrc/hash.h") == installed / "site/bench_engine/csrc/hash.h"
    assert installation.path("db/columns.py") == installed / "site/mirror_db/columns.py"
    assert installation.path("sweeps") == installed / "site/mirror_db/sweeps"
    assert installation.path("mirror/chart/choose.py") == installed / "site/mirror/chart/choose.py"
    assert installation.python_path() == ""


def test_installed_results_and_secrets_are_the_users(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.db_url() == f"duckdb:///{installed}/home/.local/share/mirror/mirror.duckdb"
    assert settings.home().is_dir()
    monkeypatch.setenv("XDG_DATA_HOME", str(installed / "data"))
    assert settings.home() == installed / "data/mirror"
    (installed / "home/.streamlit").mkdir()
    (installed / "home/.streamlit/secrets.toml").write_text("MIRROR_DB = 'theirs.duckdb'")
    settings._secrets.cache_clear()
    assert settings.setting("MIRROR_DB") == "theirs.duckdb"


def test_without_a_home_folder_results_need_a_name(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(settings.SettingsError, match=r"^There is no home folder .* MIRROR_DB\.$"):
        settings.db_url()
    monkeypatch.setenv("MIRROR_DB", "x.duckdb")
    assert settings.db_url().endswith("/x.duckdb")


def test_what_is_missing_is_said_and_what_is_ours_is_an_error() -> None:
    assert installation.missing(ModuleNotFoundError(name="yaml.nodes"), "mirror ask", "app") == (
        "mirror ask needs the package yaml, which is not installed: "
        "`pip install 'mirror-bench[app]'` brings all that it needs."
    )
    for ours in ("bench_engine.gone", "db.gone", "mirror", ""):
        with pytest.raises(ModuleNotFoundError):
            installation.missing(ModuleNotFoundError(name=ours), "mirror ask", "app")

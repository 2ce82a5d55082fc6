"""The folder that compiled kernels are kept in: a clone's, the user's, one that is named, one for temporary files."""

import os
import tempfile
from pathlib import Path

import pytest

from bench_engine.kernels.native import cache


@pytest.fixture
def user(tmp_path, monkeypatch) -> Path:
    """An installed package, and a user with a home folder and one for temporary files; gives the folder of all."""
    (tmp_path / "site/bench_engine/csrc").mkdir(parents=True)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(cache, "_PACKAGE", tmp_path / "site/bench_engine")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "MIRROR_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def temporary(user: Path) -> Path:
    return user / "tmp" / f"mirror-cache-{os.getuid()}"


def test_in_a_clone_it_is_build(user):
    (user / "site/bench_engine/csrc").rmdir()
    assert cache.writable() == user / "site/build"
    assert cache.sources() == user / "site/csrc"


def test_installed_it_is_among_the_users_caches_or_where_a_variable_says(user, monkeypatch):
    assert cache.sources() == user / "site/bench_engine/csrc"
    assert cache.writable() == user / "home/.cache/mirror"
    monkeypatch.setenv("XDG_CACHE_HOME", str(user / "xdg"))
    assert cache.writable() == user / "xdg/mirror"
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(user / "mine"))
    assert cache.writable() == user / "mine"


def test_a_home_that_cannot_be_written_is_a_line_and_a_folder_of_this_user_alone(user, capsys):
    (user / "home").write_text("no folder")
    assert cache.writable() == temporary(user)
    assert temporary(user).stat().st_mode & 0o777 == 0o700
    assert capsys.readouterr().err == (
        f"{user}/home/.cache/mirror cannot be written: what is compiled is kept in {temporary(user)}.\n"
    )


def test_without_a_home_folder_it_is_among_temporary_files(user, monkeypatch):
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert cache.folder() == temporary(user)
    assert cache.writable() == temporary(user)


@pytest.mark.parametrize("planted", ["a link", "open to all"])
def test_a_folder_among_temporary_files_that_others_can_write_is_not_used(user, planted):
    (user / "home").write_text("no folder")
    (user / "theirs").mkdir()
    if planted == "a link":
        temporary(user).symlink_to(user / "theirs")
    else:
        temporary(user).mkdir()
        temporary(user).chmod(0o777)
    assert not cache.trusted(temporary(user))
    with pytest.raises(cache.CacheError, match=r"cannot be written: name another folder .* MIRROR_CACHE_DIR\.$"):
        cache.writable()


def test_a_named_folder_that_cannot_be_written_is_one_sentence(user, monkeypatch):
    (user / "file").write_text("")
    monkeypatch.setenv("MIRROR_CACHE_DIR", str(user / "file/cache"))
    with pytest.raises(cache.CacheError) as error:
        cache.writable()
    assert str(error.value) == (
        f"{user}/file/cache cannot be written: name another folder for compiled kernels with MIRROR_CACHE_DIR."
    )

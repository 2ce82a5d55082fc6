"""What is copied to another machine, and by which name."""

import io
import tarfile
from pathlib import Path

import pytest

from bench_engine.machine import machine
from bench_engine.plugin import Named
from bench_engine.run.executors import ExecutorError
from bench_engine.run.far import code_copy, environment_there
from bench_engine.run.far.code_copy import Bundle
from db.installation import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no clone")


def test_the_code_is_the_tracked_files_as_they_are_with_the_commit() -> None:
    files = code_copy.code(app=False).files
    assert files["bench_engine/__main__.py"][0] == (ROOT / "bench_engine" / "__main__.py").read_bytes()
    assert files["COMMIT"][0].decode() == machine.code_version()
    assert {*environment_there.FROM, "README.md", "csrc/python/learnt.cpp"} <= files.keys()
    assert not [name for name in files if name.startswith(("tests/", "db/examples/", ".git", "db/mirror"))]
    assert "mirror/faces/command.py" not in files
    assert "mirror/faces/command.py" in code_copy.code(app=True).files


def test_a_copy_says_the_commit_of_the_original(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "COMMIT").write_text("abc1234+\n")
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    machine.code_version.cache_clear()
    try:
        assert machine.code_version() == "abc1234+"
    finally:
        machine.code_version.cache_clear()


def test_a_bundle_is_named_by_paths_contents_and_modes() -> None:
    same = Bundle("code", {"a": (b"1", False), "b": (b"2", False)})
    assert same.digest == Bundle("code", {"b": (b"2", False), "a": (b"1", False)}).digest
    others = ({"a": (b"1", False)}, {"a": (b"1", True), "b": (b"2", False)}, {"a": (b"2", False), "b": (b"1", False)})
    assert len({same.digest, *(Bundle("code", files).digest for files in others)}) == 4
    with tarfile.open(fileobj=io.BytesIO(Bundle("code", others[1]).packed())) as archive:
        assert {entry.name: entry.mode for entry in archive} == {"a": 0o755, "b": 0o644}


def test_what_is_no_clone_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_copy, "ROOT", tmp_path)
    with pytest.raises(ExecutorError, match="give this command in one"):
        code_copy.code(app=False)


def test_plugins_go_with_what_lies_beside_them(tmp_path: Path) -> None:
    (tmp_path / "my_bag.py").write_text("import helper\n")
    (tmp_path / "helper.py").write_text("x = 1\n")
    (tmp_path / "other.py").write_text("x = 2\n")
    (tmp_path / "kernel.cu").write_text("// code\n")
    named = [Named(str(tmp_path / "my_bag.py"), "MyBag", "mine"), Named("a_module")]
    bundle, texts = code_copy.plugins(named, [str(tmp_path / "kernel.cu"), "/elsewhere/x.py"])
    assert sorted(bundle.files) == ["0/helper.py", "0/kernel.cu", "0/my_bag.py"]
    assert texts == ["mine={}/0/my_bag.py#MyBag", "a_module"]

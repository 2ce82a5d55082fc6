"""Facts about the machine: there on a usual one, absent without a fuss elsewhere."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from bench_engine import machine
from db import schema


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system where no file below /proc and /sys can be read."""
    monkeypatch.setattr(machine, "_text", lambda _path: "")
    monkeypatch.setattr(machine, "_CPU", Path("/nowhere"))


def test_machine_has_the_columns_of_its_table() -> None:
    assert set(machine.machine()) == {c.name for c in schema.machines.c}


def test_id_lasts_and_hides_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.socket, "gethostname", lambda: "secret-host")
    first = machine.machine()
    assert first == machine.machine()
    assert "secret-host" not in json.dumps(first)
    monkeypatch.setattr(machine.socket, "gethostname", lambda: "other-host")
    assert machine.machine()["machine_id"] != first["machine_id"]


def test_name_is_the_setting_or_made_of_cpu_and_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIRROR_MACHINE", raising=False)
    found = machine.machine()
    assert found["name"] == f"{found['cpu']}, {found['cores']} cores ({found['machine_id'][:4]})"
    monkeypatch.setenv("MIRROR_MACHINE", "lab 7")
    assert machine.machine()["name"] == "lab 7"
    assert machine.machine()["machine_id"] == found["machine_id"]


@pytest.mark.usefixtures("bare")
def test_nothing_readable_is_no_error() -> None:
    found = machine.machine()
    assert (found["l2_kb"], found["l3_kb"], found["gpu"]) == (None, None, None)
    assert found["cpu"]
    assert machine.governor() is None
    assert machine.turbo() is None


@pytest.mark.parametrize(
    ("files", "level", "kb"),
    [
        ({"level": "2", "type": "Unified", "size": "1024K"}, 2, 1048),
        ({"level": "3", "type": "Unified", "size": "32M"}, 3, 33554),
        ({"level": "1", "type": "Instruction", "size": "32K"}, 1, None),
        ({"level": "2", "type": "Unified", "size": "odd"}, 2, None),
        ({"level": "2", "type": "Unified"}, 2, None),
    ],
)
def test_cache_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], level: int, kb: int | None
) -> None:
    folder = tmp_path / "cpu0" / "cache" / "index0"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text + "\n")
    monkeypatch.setattr(machine, "_CPU", tmp_path)
    assert machine.cache_kb(level) == kb


def test_warnings_are_sentences_that_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 2)
    monkeypatch.setattr(machine, "load_now", lambda: 3.2)
    monkeypatch.setattr(machine, "governor", lambda: "powersave")
    monkeypatch.setattr(machine, "memory_free_gb", lambda: 0.5)
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 8)
    found = machine.warnings()
    assert found[0] == "The load is 3.2 on 2 cores: close other work, or expect noise."
    assert len(found) == 4


def test_a_quiet_machine_has_no_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "load_now", lambda: 0.0)
    monkeypatch.setattr(machine, "governor", lambda: "performance")
    monkeypatch.setattr(machine, "memory_free_gb", lambda: 64.0)
    monkeypatch.setattr(machine, "cores", lambda: os.cpu_count())
    assert machine.warnings() == []


def test_code_version_is_the_commit_and_tells_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    monkeypatch.setattr(machine, "ROOT", tmp_path)
    git("init")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-m", "a")
    git("tag", "v1")
    machine.code_version.cache_clear()
    assert re.fullmatch(r"[0-9a-f]{7,}", machine.code_version())
    (tmp_path / "a").write_text("2")
    machine.code_version.cache_clear()
    assert re.fullmatch(r"[0-9a-f]{7,}\+", machine.code_version())
    machine.code_version.cache_clear()


def test_code_version_without_git_is_the_package_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_name: str) -> str:
        raise machine.PackageNotFoundError

    monkeypatch.setattr(machine, "ROOT", tmp_path)
    monkeypatch.setattr(machine, "version", none)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "9.9"\n')
    machine.code_version.cache_clear()
    assert machine.code_version() == "9.9"
    machine.code_version.cache_clear()

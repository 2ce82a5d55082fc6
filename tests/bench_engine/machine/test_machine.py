"""Facts about the machine: there on a usual one, absent without a fuss elsewhere."""

import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest

from bench_engine.machine import cgroup, hardware, machine
from db import tables


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system without a single file below /, /proc and /sys, on whose core 2 this process runs."""
    for module in (machine, hardware):
        monkeypatch.setattr(module, "_PROC", tmp_path / "proc")
        monkeypatch.setattr(module, "_SYS", tmp_path / "sys")
    monkeypatch.setattr(hardware, "_ROOT", tmp_path)
    monkeypatch.setattr(cgroup, "_OWN", tmp_path / "own")
    monkeypatch.setattr(hardware.os, "sched_getaffinity", lambda _pid: {2}, raising=False)
    monkeypatch.delenv("container", raising=False)
    return tmp_path


def write(tree: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


CPU = "sys/devices/system/cpu"
CLOCK = "sys/devices/system/clocksource/clocksource0"


def test_machine_has_the_columns_of_its_table() -> None:
    assert set(machine.machine()) == {c.name for c in tables.machines.c}


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


def test_identity_is_a_hash_of_the_same_facts_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.socket, "gethostname", lambda: "host")
    monkeypatch.setattr(machine, "cores", lambda: 2)
    facts = {"cpu_model": "Chip", "memory_gb": 25.3, "gpu": None}
    for name, value in facts.items():
        monkeypatch.setattr(hardware, name, lambda value=value: value)
    monkeypatch.setattr(hardware, "cache_kb", lambda level: 1000 * level)
    hashed = '{"cores": 2, "cpu": "Chip", "gpu": null, "host": "host", "l2_kb": 2000, "l3_kb": 3000, "memory_gb": 25}'
    assert machine.machine()["machine_id"] == hashlib.sha256(hashed.encode()).hexdigest()[:12]


def test_nothing_readable_is_no_error(tree: Path) -> None:
    found = machine.machine()
    assert (found["l2_kb"], found["l3_kb"], found["gpu"]) == (None, None, None)
    assert found["cpu"]
    assert not {"governor", "turbo", "mhz", "huge_pages", "random_addresses", "clock_source"} & set(machine.state())


def test_rubbish_is_no_error(tree: Path) -> None:
    names = ("cpu2/cpufreq/scaling_cur_freq", "intel_pstate/no_turbo", "cpufreq/boost")
    write(tree, {f"{CPU}/{name}": "odd" for name in names} | {"proc/cpuinfo": "cpu MHz : odd"})
    write(tree, {"sys/kernel/mm/transparent_hugepage/enabled": "odd", "proc/self/personality": "odd"})
    assert not {"turbo", "mhz", "huge_pages", "random_addresses"} & set(machine.state())


def test_state(tree: Path) -> None:
    write(
        tree, {f"{CPU}/cpu2/cpufreq/scaling_governor": "powersave", f"{CPU}/cpu2/cpufreq/scaling_cur_freq": "2100000"}
    )
    write(tree, {f"{CPU}/cpufreq/boost": "1", "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never"})
    write(tree, {"proc/sys/kernel/randomize_va_space": "2", f"{CLOCK}/current_clocksource": "hpet"})
    found = machine.state()
    assert (found["governor"], found["turbo"], found["mhz"], found["affinity"]) == ("powersave", True, 2100, "2")
    assert (found["huge_pages"], found["random_addresses"], found["clock_source"]) == ("madvise", True, "hpet")
    write(tree, {"proc/self/personality": "00040000", f"{CPU}/intel_pstate/no_turbo": "1"})
    assert (machine.random_addresses(), machine.turbo()) == (False, False)


@pytest.mark.parametrize(("cores", "text"), [({0}, "0"), ({0, 1, 2}, "0-2"), ({9, 0, 1, 4, 8}, "0-1,4,8-9")])
def test_affinity_is_ranges(monkeypatch: pytest.MonkeyPatch, cores: set[int], text: str) -> None:
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _pid: cores, raising=False)
    assert machine.affinity() == text


@pytest.mark.parametrize(("plugged", "on_battery"), [(True, False), (False, True), (None, None), ("no battery", None)])
def test_battery(monkeypatch: pytest.MonkeyPatch, plugged: object, on_battery: bool | None) -> None:
    battery = None if plugged == "no battery" else type("", (), {"power_plugged": plugged})
    monkeypatch.setattr(machine.psutil, "sensors_battery", lambda: battery, raising=False)
    assert machine.on_battery() is on_battery


def test_what_every_trial_keeps_is_small_and_json() -> None:
    assert len(json.dumps(machine.state())) < 1500


# -- warnings ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def quiet(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that nothing disturbs."""
    monkeypatch.setattr(machine, "load_now", lambda: 0.0)
    monkeypatch.setattr(machine, "memory_free_gb", lambda: 64.0)
    monkeypatch.setattr(machine, "swap_gb", lambda: 0.0)
    monkeypatch.setattr(machine, "on_battery", lambda: None)
    monkeypatch.setattr(machine, "cores", lambda: 8)
    monkeypatch.setattr(machine.counters, "lacking", str)
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(machine, "sys", type("release", (), {}))
    write(tree, {f"{CPU}/cpu2/cpufreq/scaling_governor": "performance", f"{CPU}/intel_pstate/no_turbo": "1"})
    write(tree, {f"{CLOCK}/current_clocksource": "tsc", f"{CLOCK}/available_clocksource": "tsc hpet"})
    return tree


@pytest.mark.usefixtures("quiet")
def test_a_quiet_machine_has_no_warnings() -> None:
    assert machine.warnings() == []


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("fact", "value", "sentence"),
    [
        ("load_now", 6.5, "The load is 6.5 on 8 cores: close other work, or expect noise."),
        ("cores", 2, "This process may use 2 of 8 cores: trials with more than 2 threads share them."),
        (
            "memory_free_gb",
            0.5,
            "Only 0.5 GB of memory are free: close other programs, or large trials run out of it.",
        ),
        (
            "swap_gb",
            1.2,
            "1.2 GB of memory lie in swap, and programs that fetch them back disturb trials: close what is large, "
            "then `sudo swapoff -a` until the trials are done.",
        ),
        ("on_battery", True, "The machine runs on battery and may slow down to save it: plug it in."),
    ],
)
def test_a_warning_is_a_sentence_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, fact: str, value: object, sentence: str
) -> None:
    monkeypatch.setattr(machine, fact, lambda: value)
    assert machine.warnings() == [sentence]


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (
            {f"{CPU}/cpu2/cpufreq/scaling_governor": "powersave"},
            "The CPU governor is powersave, so the clock changes while trials run: "
            "`sudo cpupower frequency-set -g performance` holds it.",
        ),
        (
            {f"{CPU}/cpu2/cpufreq/scaling_governor": "powersave", ".dockerenv": ""},
            "The CPU governor is powersave, so the clock changes while trials run: "
            "`sudo cpupower frequency-set -g performance` on the host holds it.",
        ),
        (
            {f"{CPU}/intel_pstate/no_turbo": "0"},
            "Turbo is on, so the clock falls as the machine gets warm or more cores work: "
            "`echo 1 | sudo tee ROOT/sys/devices/system/cpu/intel_pstate/no_turbo` holds it.",
        ),
        (
            {f"{CLOCK}/current_clocksource": "hpet"},
            "The clock source is hpet, and reading it may be slow: `echo tsc | sudo tee "
            "ROOT/sys/devices/system/clocksource/clocksource0/current_clocksource` changes to the faster tsc.",
        ),
        # Nothing can be done where the kernel does not offer tsc.
        ({f"{CLOCK}/current_clocksource": "hpet", f"{CLOCK}/available_clocksource": "hpet"}, None),
    ],
)
def test_a_warning_names_the_command_that_mends_it(quiet: Path, files: dict[str, str], sentence: str | None) -> None:
    write(quiet, files)
    assert [w.replace(str(quiet), "ROOT") for w in machine.warnings()] == ([sentence] if sentence else [])


def test_turbo_of_other_drivers_has_another_switch(quiet: Path) -> None:
    (quiet / CPU / "intel_pstate" / "no_turbo").unlink()
    write(quiet, {f"{CPU}/cpufreq/boost": "1"})
    (sentence,) = machine.warnings()
    assert f"`echo 0 | sudo tee {quiet}/{CPU}/cpufreq/boost`" in sentence


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("quota", "end"),
    [
        (1.5, "has used the time of 1.5 of 8 cores: keep threads at 1, or raise the quota."),
        (0.25, "has used the time of 0.25 of 8 cores: raise the quota."),
        (8.0, None),
        (None, None),
    ],
)
def test_a_quota_of_time_is_noticed(monkeypatch: pytest.MonkeyPatch, quota: float | None, end: str | None) -> None:
    monkeypatch.setattr(cgroup, "cpu_quota", lambda: quota)
    found = machine.warnings()
    assert len(found) == (end is not None)
    assert not end or found[0].endswith(end)


@pytest.mark.usefixtures("quiet")
def test_a_debug_build_of_python_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "sys", type("debug", (), {"gettotalrefcount": None}))
    assert machine.warnings()[0].startswith("This Python is a debug build")


# -- code --------------------------------------------------------------------------------------------------------------


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

"""Facts about the hardware: read from files as the kernel shows them, absent without a fuss where those are not."""

import json
from pathlib import Path

import pytest

from bench_engine.machine import cgroup, hardware


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system without a single file below /, /proc and /sys, on whose cores 2 and 3 this process runs."""
    for name, part in (("_ROOT", ""), ("_PROC", "proc"), ("_SYS", "sys")):
        monkeypatch.setattr(hardware, name, tmp_path / part)
    monkeypatch.setattr(cgroup, "_OWN", tmp_path / "own")
    monkeypatch.setattr(hardware.os, "sched_getaffinity", lambda _pid: {2, 3}, raising=False)
    monkeypatch.delenv("container", raising=False)
    return tmp_path


def write(tree: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


CPU = "sys/devices/system/cpu"


def test_nothing_readable_is_no_error(tree: Path) -> None:
    assert set(hardware.details()) == {"memory_limit_gb"}
    assert (hardware.cache_kb(2), hardware.gpu(), hardware.gpu_driver()) == (None, None, None)
    assert hardware.cpu_model()
    assert hardware.cores() == 2


def test_a_file_of_rubbish_is_no_error(tree: Path) -> None:
    names = (
        "smt/active",
        "cpu2/cpufreq/cpuinfo_max_freq",
        "cpu0/cache/index0/size",
        "cpu0/cache/index0/shared_cpu_map",
    )
    write(tree, {f"{CPU}/{name}": "odd" for name in names} | {"proc/cpuinfo": "odd\n: :\n\nodd"})
    write(tree, {f"{CPU}/cpu0/cache/index0/level": "3", f"{CPU}/cpu0/cache/index0/type": "Unified"})
    assert set(hardware.details()) == {"memory_limit_gb"}


@pytest.mark.parametrize(
    ("files", "level", "kb"),
    [
        ({"level": "1", "type": "Data", "size": "48K"}, 1, 49),
        ({"level": "2", "type": "Unified", "size": "1024K"}, 2, 1048),
        ({"level": "3", "type": "Unified", "size": "32M"}, 3, 33554),
        ({"level": "1", "type": "Instruction", "size": "32K"}, 1, None),
        ({"level": "2", "type": "Unified", "size": "odd"}, 2, None),
        ({"level": "2", "type": "Unified"}, 2, None),
    ],
)
def test_cache_sizes(tree: Path, files: dict[str, str], level: int, kb: int | None) -> None:
    write(tree, {f"{CPU}/cpu0/cache/index0/{name}": text for name, text in files.items()})
    assert hardware.cache_kb(level) == kb


@pytest.mark.parametrize(("mask", "cores"), [("00000003", 2), ("ffffffff,0000ffff", 48), ("1", 1)])
def test_cores_that_share_a_cache(tree: Path, mask: str, cores: int) -> None:
    names = {"level": "3", "type": "Unified", "shared_cpu_map": mask}
    write(tree, {f"{CPU}/cpu0/cache/index3/{name}": text for name, text in names.items()})
    assert hardware.cache_shared_by(3) == cores


@pytest.mark.parametrize(("siblings", "cores"), [(("2-3", "2-3"), 1), (("2,18", "3,19"), 2), (("2", ""), None)])
def test_threads_of_one_core_count_once(tree: Path, siblings: tuple[str, str], cores: int | None) -> None:
    for core, text in zip((2, 3), siblings, strict=True):
        write(tree, {f"{CPU}/cpu{core}/topology/thread_siblings_list": text})
    assert hardware.physical_cores() == cores


def test_processor(tree: Path) -> None:
    first = "processor : 0\nmodel name : Chip  9\nflags : fpu avx2 fma hypervisor\n\nprocessor : 1\nflags : avx512f\n"
    write(tree, {"proc/cpuinfo": first, f"{CPU}/smt/active": "1", f"{CPU}/isolated": "2-3"})
    write(tree, {f"{CPU}/cpu0/cpufreq/cpuinfo_max_freq": "1", f"{CPU}/cpu2/cpufreq/cpuinfo_max_freq": "3500000"})
    write(tree, {"sys/devices/system/node/node0/x": "", "sys/devices/system/node/node1/x": ""})
    found = hardware.details()
    assert hardware.cpu_model() == "Chip 9"
    assert (found["cpu_flags"], found["smt"], found["max_mhz"]) == ("fma avx2", True, 3500)
    assert (found["isolated_cpus"], found["numa_nodes"], found["hypervisor"]) == ("2-3", 2, "unknown")


def test_arm_lists_its_features(tree: Path) -> None:
    write(tree, {"proc/cpuinfo": "processor : 0\nFeatures : fp asimd sve bf16\n"})
    assert hardware.cpu_flags() == "asimd sve bf16"
    assert hardware.hypervisor() is None


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"sys/hypervisor/type": "xen"}, "xen"),
        ({"proc/cpuinfo": "flags : hypervisor", "sys/class/dmi/id/sys_vendor": "Amazon EC2"}, "Amazon EC2"),
        ({"proc/cpuinfo": "flags : fpu", "sys/class/dmi/id/sys_vendor": "Dell"}, None),
    ],
)
def test_hypervisor(tree: Path, files: dict[str, str], name: str | None) -> None:
    write(tree, files)
    assert hardware.hypervisor() == name


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"run/systemd/container": "systemd-nspawn", ".dockerenv": ""}, "systemd-nspawn"),
        ({"proc/1/cgroup": "1:cpu:/kubepods/besteffort/pod1"}, "kubepods"),
        ({"proc/1/cgroup": "0::/init.scope"}, None),
    ],
)
def test_container(tree: Path, files: dict[str, str], kind: str | None) -> None:
    write(tree, files)
    assert hardware.container() == kind


@pytest.mark.parametrize(("limit", "gb"), [(None, 64.0), (2_500_000_000, 2.5), (10**12, 64.0)])
def test_memory_that_a_trial_may_really_use(monkeypatch: pytest.MonkeyPatch, limit: int | None, gb: float) -> None:
    monkeypatch.setattr(hardware.psutil, "virtual_memory", lambda: type("", (), {"total": 64 * 10**9}))
    monkeypatch.setattr(cgroup, "memory_limit", lambda: limit)
    assert hardware.memory_limit_gb() == gb
    assert hardware.memory_gb() == 64.0  # a part of the machine's identity: what a container may use changes nothing


def test_gpus_and_their_driver(tree: Path) -> None:
    info = "Model: \t\t NVIDIA H200\nIRQ:   0\nGPU UUID: GPU-1"
    write(tree, {"proc/driver/nvidia/gpus/a/information": info, "proc/driver/nvidia/gpus/b/information": ""})
    write(tree, {"sys/module/nvidia/version": "550.1"})
    assert hardware.gpu() == "NVIDIA H200, NVIDIA GPU"
    assert hardware.gpu_driver() == "550.1"


def test_the_real_one_is_json() -> None:
    assert json.loads(json.dumps(hardware.details()))["memory_limit_gb"] > 0


def test_caches_of_the_cores_that_may_be_used_are_counted(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for core, mask in ((0, "000f000f"), (1, "000f000f"), (4, "00f000f0")):
        names = {"level": "3", "type": "Unified", "shared_cpu_map": mask}
        write(tree, {f"{CPU}/cpu{core}/cache/index3/{name}": text for name, text in names.items()})
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 1, 4})
    assert hardware.caches_in_use(3) == 2

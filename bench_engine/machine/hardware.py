"""What this machine is made of: processors, caches, memory, GPU, and what lies between them and a process.

One function per fact; one that cannot be read is None. Caches are those of core 0, the rate of the clock that of the
first core that this process may use.
"""

import contextlib
import os
import platform
from pathlib import Path
from typing import Any

import psutil

from bench_engine.machine import cgroup
from bench_engine.machine.system_files import fields, number, text

_ROOT = Path("/")
_PROC = Path("/proc")
_SYS = Path("/sys")
_NUMERIC = (
    "sse4_2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16",
    "avx_vnni", "amx_tile", "amx_bf16", "amx_int8", "asimd", "asimddp", "fphp", "sve", "sve2", "bf16", "i8mm",
)  # fmt: skip


def details() -> dict[str, Any]:
    """Facts beside those of the table `machines`; what cannot be read is left out."""
    facts = {
        "cpu_flags": cpu_flags(),
        "physical_cores": physical_cores(),
        "smt": smt(),
        "max_mhz": max_mhz(),
        "l1d_kb": cache_kb(1),
        "l3_shared_by": cache_shared_by(3),
        "numa_nodes": numa_nodes(),
        "cpu_quota": cgroup.cpu_quota(),
        "isolated_cpus": isolated_cpus(),
        "memory_limit_gb": memory_limit_gb(),
        "gpu_driver": gpu_driver(),
        "hypervisor": hypervisor(),
        "container": container(),
    }
    return {name: value for name, value in facts.items() if value is not None}


def cpu_model() -> str:
    """The processor's name as its maker writes it."""
    for line in text(_PROC / "cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model") and value.strip():
            return " ".join(value.split())
    return platform.processor() or platform.machine() or "unknown CPU"


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def physical_cores() -> int | None:
    """Physical cores that this process may use: threads of one core (SMT) count once."""
    if not hasattr(os, "sched_getaffinity"):
        count: int | None = psutil.cpu_count(logical=False)
        return count
    siblings = {text(cpu_folder(i) / "topology/thread_siblings_list") for i in os.sched_getaffinity(0)}
    return None if "" in siblings else len(siblings)


def smt() -> bool | None:
    """Whether two threads may run on one physical core."""
    active = number(_SYS / "devices/system/cpu/smt/active")
    return None if active is None else active == 1


def cache_kb(level: int) -> int | None:
    """Size of the data cache of a level that core 0 sees / 1000 bytes."""
    for folder in _caches(level):
        if size := text(folder / "size"):
            unit = {"K": 2**10, "M": 2**20, "G": 2**30}.get(size[-1], 1)
            with contextlib.suppress(ValueError):
                return int(size.rstrip("KMG")) * unit // 1000
    return None


def cache_shared_by(level: int) -> int | None:
    """Logical cores that share the data cache of a level that core 0 sees."""
    for folder in _caches(level):
        if mask := text(folder / "shared_cpu_map"):  # hexadecimal words, one bit a core
            with contextlib.suppress(ValueError):
                return int(mask.replace(",", ""), 16).bit_count()
    return None


def caches_in_use(level: int) -> int:
    """How many caches of a level the cores have that this process may use; 1 where that cannot be read."""
    if not hasattr(os, "sched_getaffinity"):
        return 1
    folders = (f for core in os.sched_getaffinity(0) for f in (cpu_folder(core) / "cache").glob("index*"))
    return len({text(f / "shared_cpu_map") for f in folders if text(f / "level") == str(level)} - {""}) or 1


def _caches(level: int) -> list[Path]:
    folders = sorted((cpu_folder(0) / "cache").glob("index*"))
    return [f for f in folders if text(f / "level") == str(level) and text(f / "type") != "Instruction"]


def max_mhz() -> int | None:
    """Highest clock rate, turbo included."""
    khz = number(cpu_folder(first_core()) / "cpufreq/cpuinfo_max_freq")
    return khz // 1000 if khz else None


def numa_nodes() -> int | None:
    """How many memory nodes the machine has."""
    return len(list((_SYS / "devices/system/node").glob("node[0-9]*"))) or None


def isolated_cpus() -> str | None:
    """Cores that the scheduler leaves alone (boot option isolcpus)."""
    return text(_SYS / "devices/system/cpu/isolated") or None


def cpu_flags() -> str | None:
    """Those that the CPU lists of the instruction sets that numeric kernels are written for."""
    flags = _flags()
    return " ".join(name for name in _NUMERIC if name in flags) or None


def _installed_bytes() -> int:
    return int(psutil.virtual_memory().total)


def memory_gb() -> float:
    """Main memory / 1e9 bytes."""
    return round(_installed_bytes() / 1e9, 1)


def memory_limit_gb() -> float:
    """Memory that trials may really use, the smaller of main memory and the limit of the container / 1e9 bytes."""
    total = _installed_bytes()
    return round(min(total, cgroup.memory_limit() or total) / 1e9, 1)


def gpu() -> str | None:
    """Models of the NVIDIA GPUs whose driver is loaded."""
    models = []
    for path in sorted((_PROC / "driver/nvidia/gpus").glob("*/information")):
        models.append(fields(path).get("Model", "NVIDIA GPU"))
    return ", ".join(models) or None


def gpu_driver() -> str | None:
    """Version of the NVIDIA driver that is loaded."""
    return text(_SYS / "module/nvidia/version") or None


def hypervisor() -> str | None:
    """Whose virtual machine this is, "unknown" where it does not tell; None on hardware of its own."""
    if kind := text(_SYS / "hypervisor/type"):
        return kind
    if "hypervisor" not in _flags():
        return None
    return text(_SYS / "class/dmi/id/sys_vendor") or "unknown"


def container() -> str | None:
    """Kind of the container that this process runs in."""
    if kind := os.environ.get("container") or text(_ROOT / "run/systemd/container"):  # noqa: SIM112 systemd's name
        return kind
    if (_ROOT / ".dockerenv").exists():
        return "docker"
    if (_ROOT / "run/.containerenv").exists():
        return "podman"
    groups = text(_PROC / "1/cgroup")
    return next((kind for kind in ("kubepods", "docker", "containerd", "lxc") if kind in groups), None)


def cpu_folder(core: int) -> Path:
    """Where the kernel tells about a logical core."""
    return _SYS / "devices/system/cpu" / f"cpu{core}"


def first_core() -> int:
    """The first logical core that this process may use."""
    return min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0


def _flags() -> list[str]:
    first = cpuinfo()
    return first.get("flags", first.get("Features", "")).split()


def cpuinfo() -> dict[str, str]:
    """What /proc/cpuinfo says of the first core; the file is long and slow to read where there are many."""
    found = {}
    with contextlib.suppress(OSError), (_PROC / "cpuinfo").open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            key, _, value = line.partition(":")
            if not key.strip():
                break
            found[key.strip()] = value.strip()
    return found

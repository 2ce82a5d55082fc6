"""What machine this is, its state now, and what makes timings on it unsure. One function per fact.

A fact that cannot be read is None and left out. Governor and clock rate are those of the first core that this process
may use.
"""

import contextlib
import hashlib
import json
import os
import platform
import socket
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import Any

import psutil

from bench_engine.machine import cgroup, counters, hardware, memory
from bench_engine.machine.hardware import cores, cpu_folder, cpuinfo, first_core
from bench_engine.machine.system_files import number, text
from db.installation import ROOT
from db.settings import setting

_PROC = Path("/proc")
_SYS = Path("/sys")
_NO_RANDOM_ADDRESSES = 0x0040000  # ADDR_NO_RANDOMIZE, linux/personality.h: `setarch -R`
COMMIT = "COMMIT"  # file of a copy of the working tree (bench_engine.run.far) that says what the original is
_LITTLE_MEMORY_GB = 2.0
_MUCH_SWAP_GB = 0.1  # a few pages of programs that sleep disturb nobody


def machine() -> dict[str, Any]:
    """The columns of the table `machines`. The id is a hash of hardware and host name; the host name is not kept."""
    facts: dict[str, Any] = {
        "cpu": hardware.cpu_model(),
        "cores": cores(),
        "l2_kb": hardware.cache_kb(2),
        "l3_kb": hardware.cache_kb(3),
        "memory_gb": hardware.memory_gb(),
        "gpu": hardware.gpu(),
    }
    # A kernel update moves the memory it reports by some MB: whole GB make the id last.
    hashed = {**facts, "memory_gb": round(facts["memory_gb"]), "host": socket.gethostname()}
    machine_id = hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()[:12]
    name = setting("MIRROR_MACHINE") or f"{facts['cpu']}, {facts['cores']} cores ({machine_id[:4]})"
    return {"machine_id": machine_id, "name": name, **facts, "os": operating_system()}


def state() -> dict[str, Any]:
    """What every trial keeps of the machine and its state; what cannot be read is left out."""
    return {**conditions(), **software(), **hardware.details()}


def conditions() -> dict[str, Any]:
    """What may be another from trial to trial; what cannot be read is left out."""
    facts = {
        "load": load_now(),
        "governor": governor(),
        "turbo": turbo(),
        "mhz": mhz(),
        "on_battery": on_battery(),
        "affinity": affinity(),
        "memory_free_gb": memory_free_gb(),
        "swap_gb": swap_gb(),
        "huge_pages": huge_pages(),
        "random_addresses": random_addresses(),
        "clock_source": clock_source(),
    }
    return {name: value for name, value in facts.items() if value is not None}


def software() -> dict[str, Any]:
    """Versions of what everything runs on."""
    return {"os": operating_system(), "kernel": platform.release(), "python": platform.python_version()}


def operating_system() -> str:
    """Name and version of the distribution, else of the kernel."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform(terse=True)


# -- state ---------------------------------------------------------------------------------------------------------


def load_now() -> float | None:
    """Processes that want a core, mean of the last minute."""
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None


def governor() -> str | None:
    """What sets the clock of the first core: performance, powersave, ..."""
    return text(cpu_folder(first_core()) / "cpufreq/scaling_governor") or None


def turbo() -> bool | None:
    """Whether the clock may rise above its nominal rate; None where that cannot be read."""
    if (no_turbo := number(_SYS / "devices/system/cpu/intel_pstate/no_turbo")) is not None:
        return no_turbo == 0
    boost = number(_SYS / "devices/system/cpu/cpufreq/boost")
    return None if boost is None else boost == 1


def mhz() -> int | None:
    """Clock rate now."""
    if khz := number(cpu_folder(first_core()) / "cpufreq/scaling_cur_freq"):
        return khz // 1000
    try:
        return round(float(cpuinfo()["cpu MHz"]))
    except (KeyError, ValueError):
        return None


def on_battery() -> bool | None:
    """Whether a machine with a battery runs from it now."""
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    return None if battery is None or battery.power_plugged is None else not battery.power_plugged


def affinity() -> str | None:
    """The cores that this process may use, as `0-3,8`."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    runs = groupby(enumerate(sorted(os.sched_getaffinity(0))), key=lambda pair: pair[1] - pair[0])
    ends = [[core for _, core in run] for _, run in runs]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in ends)


def memory_free_gb() -> float:
    """What a process may still take / 1e9 bytes."""
    return round(memory.available_bytes() / 1e9, 1)


def swap_gb() -> float:
    """Memory that lies in swap now / 1e9 bytes."""
    return round(int(psutil.swap_memory().used) / 1e9, 1)


def huge_pages() -> str | None:
    """Transparent huge pages: always, madvise (where a program asks for them) or never."""
    _, _, chosen = text(_SYS / "kernel/mm/transparent_hugepage/enabled").partition("[")
    return chosen.partition("]")[0] or None


def random_addresses() -> bool | None:
    """Whether the addresses of a process change from run to run (ASLR)."""
    with contextlib.suppress(ValueError):
        if int(text(_PROC / "self/personality"), 16) & _NO_RANDOM_ADDRESSES:
            return False
    level = number(_PROC / "sys/kernel/randomize_va_space")
    return None if level is None else level > 0


def clock_source() -> str | None:
    """What the kernel reads the time from; of those of a PC only tsc and kvm-clock need no slow call into it."""
    return text(_SYS / "devices/system/clocksource/clocksource0/current_clocksource") or None


# -- warnings ------------------------------------------------------------------------------------------------------


def warnings() -> list[str]:
    """What makes timings on this machine unsure now or cannot be told beside them, and what to do about each: whole
    sentences."""
    found = (
        _high_load(), _few_cores(), _little_time(), _changing_clock(), _turbo_on(), _battery_in_use(), _slow_clock(),
        _little_memory(), _swap_in_use(), _debug_build(),
        counters.lacking(),
    )  # fmt: skip
    return [sentence for sentence in found if sentence]


def _high_load() -> str:
    load, count = load_now(), cores()
    if load is None or load <= 0.5 * count:
        return ""
    return f"The load is {load:g} on {count} cores: close other work, or expect noise."


def _few_cores() -> str:
    count, total = cores(), os.cpu_count() or 1
    if count >= total:
        return ""
    return f"This process may use {count} of {total} cores: trials with more than {count} threads share them."


def _little_time() -> str:
    quota, count = cgroup.cpu_quota(), cores()
    if quota is None or quota >= count:
        return ""
    threads = f"keep threads at {int(quota)}, or raise the quota" if quota >= 1 else "raise the quota"
    return f"A quota (cgroup) stops this process when it has used the time of {quota:.3g} of {count} cores: {threads}."


def _changing_clock() -> str:
    if governor() in (None, "performance"):
        return ""
    return (
        f"The CPU governor is {governor()}, so the clock changes while trials run: "
        f"`sudo cpupower frequency-set -g performance`{_where()} holds it."
    )


def _turbo_on() -> str:
    if not turbo():
        return ""
    intel = _SYS / "devices/system/cpu/intel_pstate/no_turbo"
    value, path = (1, intel) if intel.exists() else (0, _SYS / "devices/system/cpu/cpufreq/boost")
    return (
        "Turbo is on, so the clock falls as the machine gets warm or more cores work: "
        f"`echo {value} | sudo tee {path}`{_where()} holds it."
    )


def _battery_in_use() -> str:
    return "The machine runs on battery and may slow down to save it: plug it in." if on_battery() else ""


def _slow_clock() -> str:
    folder = _SYS / "devices/system/clocksource/clocksource0"
    if clock_source() == "tsc" or "tsc" not in text(folder / "available_clocksource").split():
        return ""
    return (
        f"The clock source is {clock_source()}, and reading it may be slow: "
        f"`echo tsc | sudo tee {folder / 'current_clocksource'}`{_where()} changes to the faster tsc."
    )


def _little_memory() -> str:
    if (free := memory_free_gb()) >= _LITTLE_MEMORY_GB:
        return ""
    return f"Only {free:g} GB of memory are free: close other programs, or large trials run out of it."


def _swap_in_use() -> str:
    if (swapped := swap_gb()) < _MUCH_SWAP_GB:
        return ""
    return (
        f"{swapped:g} GB of memory lie in swap, and programs that fetch them back disturb trials: close what is large, "
        f"then `sudo swapoff -a`{_where()} until the trials are done."
    )


def _debug_build() -> str:
    if not hasattr(sys, "gettotalrefcount"):
        return ""
    return "This Python is a debug build, which is several times slower: use a release build."


def _where() -> str:
    return " on the host" if hardware.container() else ""


# -- code ----------------------------------------------------------------------------------------------------------


@cache
def code_version() -> str:
    """Short git commit, with `+` when there are uncommitted changes, of a copy that of the original; the package's
    version where there is no git."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
    if (ROOT / ".git").exists():
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
            return done.stdout.strip()
    return text(ROOT / COMMIT) or package_version()


def package_version() -> str:
    """Of this package."""
    try:
        return version("mirror-bench")
    except PackageNotFoundError:
        project = ROOT / "pyproject.toml"
        return tomllib.loads(project.read_text())["project"]["version"] if project.exists() else "unknown"

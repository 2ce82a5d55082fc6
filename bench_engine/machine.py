"""What machine this is: hardware facts, its state now, and what makes timings unsure. One function per fact."""

import contextlib
import hashlib
import json
import os
import platform
import socket
import subprocess
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from db.settings import ROOT, setting

_CPU = Path("/sys/devices/system/cpu")


def machine() -> dict[str, Any]:
    """The columns of the table `machines`. The id is a hash of hardware and host name; the host name is not kept."""
    facts: dict[str, Any] = {
        "cpu": cpu_model(),
        "cores": cores(),
        "l2_kb": cache_kb(2),
        "l3_kb": cache_kb(3),
        "memory_gb": memory_gb(),
        "gpu": gpu(),
    }
    # A kernel update moves the memory it reports by some MB: whole GB make the id last.
    hashed = {**facts, "memory_gb": round(facts["memory_gb"]), "host": socket.gethostname()}
    machine_id = hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()[:12]
    name = setting("MIRROR_MACHINE") or f"{facts['cpu']}, {facts['cores']} cores ({machine_id[:4]})"
    return {"machine_id": machine_id, "name": name, **facts, "os": operating_system()}


# -- hardware ------------------------------------------------------------------------------------------------------


def cpu_model() -> str:
    for line in _text(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model") and value.strip():
            return " ".join(value.split())
    return platform.processor() or platform.machine() or "unknown CPU"


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cache_kb(level: int) -> int | None:
    """Size of the data cache of a level that core 0 sees / 1000 bytes."""
    for folder in sorted((_CPU / "cpu0" / "cache").glob("index*")):
        size = _text(folder / "size")
        if _text(folder / "level") == str(level) and _text(folder / "type") != "Instruction" and size:
            unit = {"K": 2**10, "M": 2**20, "G": 2**30}.get(size[-1], 1)
            with contextlib.suppress(ValueError):
                return int(size.rstrip("KMG")) * unit // 1000
    return None


def memory_gb() -> float:
    """Main memory / 1e9 bytes."""
    return round(psutil.virtual_memory().total / 1e9, 1)


def gpu() -> str | None:
    """Models of the NVIDIA GPUs whose driver is loaded."""
    models = []
    for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        lines = dict(line.partition(":")[::2] for line in _text(path).splitlines())
        models.append(lines.get("Model", "NVIDIA GPU").strip())
    return ", ".join(models) or None


def gpu_driver() -> str | None:
    return _text(Path("/sys/module/nvidia/version")) or None


def operating_system() -> str:
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
    return _text(_CPU / "cpu0" / "cpufreq" / "scaling_governor") or None


def turbo() -> bool | None:
    """Whether the clock may rise above its nominal rate; None where that cannot be read."""
    if no_turbo := _text(_CPU / "intel_pstate" / "no_turbo"):
        return no_turbo == "0"
    if boost := _text(_CPU / "cpufreq" / "boost"):
        return boost == "1"
    return None


def memory_free_gb() -> float:
    return round(psutil.virtual_memory().available / 1e9, 1)


def state() -> dict[str, Any]:
    """What every trial keeps of the machine's state; what cannot be read is left out."""
    affinity = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    facts = {
        "load": load_now(),
        "governor": governor(),
        "turbo": turbo(),
        "affinity": affinity,
        "memory_free_gb": memory_free_gb(),
        "gpu_driver": gpu_driver(),
        "os": operating_system(),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }
    return {k: v for k, v in facts.items() if v is not None}


def warnings() -> list[str]:
    """What makes timings on this machine unsure now, and what to do about each: whole sentences."""
    found = []
    load, count = load_now(), cores()
    if load is not None and load > 0.5 * count:
        found.append(f"The load is {load:g} on {count} cores: close other work, or expect noise.")
    if governor() not in (None, "performance"):
        found.append(
            f"The CPU governor is {governor()}, so the clock changes while trials run: "
            "`sudo cpupower frequency-set -g performance` holds it."
        )
    total = os.cpu_count() or count
    if count < total:
        found.append(
            f"This process may use {count} of {total} cores: trials with more than {count} threads share them."
        )
    if (free := memory_free_gb()) < 2.0:
        found.append(f"Only {free:g} GB of memory are free: close other programs, or large trials run out of it.")
    return found


# -- code ----------------------------------------------------------------------------------------------------------


@cache
def code_version() -> str:
    """Short git commit, with `+` when there are uncommitted changes; the package's version where there is no git."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
    if (ROOT / ".git").exists():
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
            return done.stdout.strip()
    try:
        return version("mirror-bench")
    except PackageNotFoundError:
        project = ROOT / "pyproject.toml"
        return tomllib.loads(project.read_text())["project"]["version"] if project.exists() else "unknown"


def _text(path: Path) -> str:
    """The file's text without white space around it; empty when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""

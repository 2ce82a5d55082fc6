"""What a container or control group leaves to this process: processor time and memory, in both versions of cgroups.

A group is held to its own limits and to those of every group around it. Inside a container the path of the own group
may be that on the host, of which only the end of the tree is mounted: folders that are not there are passed over.
Files: https://docs.kernel.org/admin-guide/cgroup-v2.html and .../cgroup-v1/.
"""

from pathlib import Path, PurePosixPath

from bench_engine.machine.system_files import fields, number, text

_MOUNT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_UNLIMITED = 2**60  # version 1 writes "no limit" as the largest number of whole pages


def cpu_quota() -> float | None:
    """Cores' worth of time that this process gets, 1.5 for one and a half; None without a limit."""
    quotas = [quota for folder in _folders("cpu") if (quota := _quota(folder)) is not None]
    return min(quotas, default=None)


def memory_limit() -> int | None:
    """Bytes of memory that the group of this process may have; None without a limit."""
    return min((limit for limit, _, _ in _memory()), default=None)


def memory_room() -> int | None:
    """Bytes that the group may still take before its limit; None without one. Cached files can make way and count."""
    return min((max(0, limit - used + cached) for limit, used, cached in _memory()), default=None)


def _folders(controller: str) -> list[Path]:
    """Folders of this process's group and of all around it that may hold limits of a controller."""
    found = []
    for line in text(_OWN).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:  # version 2
            mounts = [_MOUNT, _MOUNT / "unified"]
        elif controller in controllers.split(","):
            mounts = [_MOUNT / controllers, _MOUNT / controller]
        else:
            continue
        group = PurePosixPath(path.lstrip("/"))
        found += [mount / part for mount in mounts for part in (group, *group.parents)]
    return found


def _quota(folder: Path) -> float | None:
    if given := text(folder / "cpu.max"):  # "150000 100000" or "max 100000", in µs
        quota, _, period = given.partition(" ")
        return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else None
    old_quota, old_period = number(folder / "cpu.cfs_quota_us"), number(folder / "cpu.cfs_period_us")
    return old_quota / old_period if old_quota and old_period and old_quota > 0 else None


def _memory() -> list[tuple[int, int, int]]:
    """Limit, use and files that can make way, in bytes, of every group around this process that has a limit."""
    found = []
    for folder in _folders("memory"):
        for limit_file, use_file, cached in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            limit = number(folder / limit_file)
            if limit is not None and limit < _UNLIMITED:
                files = fields(folder / "memory.stat", " ").get(cached, "")
                found.append((limit, number(folder / use_file) or 0, int(files) if files.isdecimal() else 0))
    return found

"""Limits of containers and control groups, in trees of files as the kernel shows them."""

from pathlib import Path

import pytest

from bench_engine.machine import cgroup


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cgroup, "_MOUNT", tmp_path / "cgroup")
    monkeypatch.setattr(cgroup, "_OWN", tmp_path / "own")
    return tmp_path


def write(tree: Path, own: str, files: dict[str, str]) -> None:
    (tree / "own").write_text(own)
    for name, text in files.items():
        path = tree / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


V2 = "0::/slice/box\n"
V1 = "5:memory:/slice/box\n4:cpu,cpuacct:/slice/box\n0::/slice/box\n"


@pytest.mark.parametrize(
    ("own", "files", "quota"),
    [
        (V2, {"slice/box/cpu.max": "150000 100000"}, 1.5),
        (V2, {"slice/box/cpu.max": "max 100000", "slice/cpu.max": "50000 100000"}, 0.5),
        (V2, {"slice/box/cpu.max": "400000 100000", "slice/cpu.max": "200000 100000"}, 2.0),
        (V2, {"slice/box/cpu.max": "max 100000"}, None),
        (V2, {"slice/box/cpu.max": "odd"}, None),
        (V2, {"cpu.max": "300000 100000"}, 3.0),  # the container's own group is mounted as the root
        ("0::/../../other\n", {"cpu.max": "300000 100000"}, 3.0),  # outside of the own namespace
        (V1, {"cpu,cpuacct/slice/box/cpu.cfs_quota_us": "150000",
              "cpu,cpuacct/slice/box/cpu.cfs_period_us": "100000"}, 1.5),
        (V1, {"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, 0.5),
        (V1, {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        (V1, {"unified/slice/cpu.max": "250000 100000"}, 2.5),
        (V2, {}, None),
        ("", {}, None),
        ("rubbish\n:\n\n", {"cpu.max": "1 0"}, None),
    ],
)  # fmt: skip
def test_cpu_quota(tree: Path, own: str, files: dict[str, str], quota: float | None) -> None:
    write(tree, own, files)
    assert cgroup.cpu_quota() == quota


@pytest.mark.parametrize(
    ("own", "files", "limit", "room"),
    [
        (V2, {"slice/box/memory.max": "1000", "slice/box/memory.current": "700",
              "slice/box/memory.stat": "anon 500\ninactive_file 100\nactive_file 50"}, 1000, 400),
        (V2, {"slice/box/memory.max": "max", "slice/memory.max": "2000", "slice/memory.current": "500"}, 2000, 1500),
        # The group around it is fuller than its own: a high limit of its own gives it no room.
        (V2, {"slice/box/memory.max": "1000", "slice/box/memory.current": "100",
              "slice/memory.max": "2000", "slice/memory.current": "1900"}, 1000, 100),
        (V2, {"slice/box/memory.max": "1000", "slice/box/memory.current": "1200"}, 1000, 0),
        (V2, {"slice/box/memory.max": "1000", "slice/box/memory.stat": "inactive_file odd"}, 1000, 1000),
        (V2, {"slice/box/memory.max": "max"}, None, None),
        (V1, {"memory/slice/box/memory.limit_in_bytes": "3000", "memory/slice/box/memory.usage_in_bytes": "1000",
              "memory/slice/box/memory.stat": "inactive_file 5\ntotal_inactive_file 200"}, 3000, 2200),
        (V1, {"memory/memory.limit_in_bytes": "9223372036854771712"}, None, None),
        ("", {}, None, None),
    ],
)  # fmt: skip
def test_memory(tree: Path, own: str, files: dict[str, str], limit: int | None, room: int | None) -> None:
    write(tree, own, files)
    assert cgroup.memory_limit() == limit
    assert cgroup.memory_room() == room


def test_the_real_one_can_be_asked() -> None:
    assert (cgroup.cpu_quota() or 1.0) > 0
    assert (cgroup.memory_limit() or 1) > 0

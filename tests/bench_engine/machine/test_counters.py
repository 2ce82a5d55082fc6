"""Counters against a kernel that the test plays, and against the real one where it counts."""

import errno
import os
import struct

import pytest

from bench_engine.machine import counters, hardware
from bench_engine.machine.counters import EVENTS, Counters

POWER = "intel-rapl:0"


class Kernel:
    """Plays perf_event_open: a counter is a descriptor of its own, whose reading the test sets."""

    def __init__(self, folder):
        self.folder, self.opened, self.refused = folder, {}, {}
        self.value = dict.fromkeys(EVENTS, 0)
        self.share = 1.0  # of the time that a counter has counted

    def perf_event_open(self, kind, event, thread):
        (name,) = [name for name, numbers in EVENTS.items() if numbers == (kind, event)]
        if code := self.refused.get(name, self.refused.get((name, thread))):
            raise OSError(code, os.strerror(code))
        descriptor = os.open(self.folder, os.O_RDONLY)
        self.opened[descriptor] = name, thread
        return descriptor

    def read(self, descriptor):
        return struct.pack(
            "QQQ", int(self.value[self.opened[descriptor][0]] * self.share), 1000, int(1000 * self.share)
        )


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    played, read = Kernel(tmp_path), os.read
    for found in (counters.available, counters.lacking):
        found.cache_clear()
    (tmp_path / "task/7").mkdir(parents=True)
    monkeypatch.setattr(counters, "perf_event_open", played.perf_event_open)
    monkeypatch.setattr(os, "read", lambda fd, size: played.read(fd) if fd in played.opened else read(fd, size))
    for name in ("_TASKS", "_POWERCAP", "_PARANOID"):
        monkeypatch.setattr(counters, name, tmp_path / name[1:].lower().removesuffix("s"))
    monkeypatch.setattr(hardware, "container", lambda: None)
    monkeypatch.setattr(hardware, "hypervisor", lambda: None)
    yield played
    for found in (counters.available, counters.lacking):
        found.cache_clear()


def test_every_event_is_counted_in_every_thread_and_added_up(kernel):
    (kernel.folder / "task/8").mkdir()
    counting = Counters()
    assert list(kernel.opened.values()) == [(name, thread) for name in EVENTS for thread in (7, 8)]
    kernel.value["cycles"] = 500
    assert counting.read()["cycles"] == 1000.0
    counting.close()
    assert not counting
    for descriptor in kernel.opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_what_was_counted_part_of_the_time_is_scaled_up(kernel):
    counting = Counters()
    kernel.value["instructions"], kernel.share = 8000, 0.25
    assert counting.read()["instructions"] == 8000.0
    kernel.share = 0.0
    assert counting.read() == {}
    counting.close()


def test_an_event_that_is_not_there_is_left_out(kernel):
    kernel.refused = {"cycles": errno.ENOENT, "instructions": errno.ESRCH}  # the second: a thread that has ended
    counting = Counters()
    assert set(EVENTS) - set(counting.read()) == {"cycles", "instructions"}
    counting.close()
    assert counters.available() == ("cache_misses", "tlb_misses", "branch_misses", "page_faults")


def test_an_event_that_is_not_counted_in_all_threads_is_left_out(kernel):
    (kernel.folder / "task/8").mkdir()
    kernel.refused = {("cycles", 8): errno.EMFILE}
    counting = Counters()
    assert set(EVENTS) - set(counting.read()) == {"cycles"}
    assert "cycles" not in {name for name, _ in kernel.opened.values()}  # it was closed: another has its descriptor
    counting.close()


SENTENCES = [
    (errno.ENOENT, None, None, "KVM", "this virtual machine has no counters of the processor: give it some"),
    (errno.EOPNOTSUPP, None, None, None, "the kernel knows no counters of this processor"),
    (errno.EACCES, 4, None, None, "is 4, `sudo sysctl kernel.perf_event_paranoid=2` lets them count."),
    (errno.EACCES, 3, "docker", "KVM", "`sudo sysctl kernel.perf_event_paranoid=2` on the host lets them count."),
    (errno.EPERM, 2, "docker", "KVM", "start the container with the capability PERFMON (`--cap-add PERFMON`)"),
    (errno.EPERM, None, None, None, "start the process with the capability PERFMON"),
    (errno.ENOSYS, None, None, None, "measure on a Linux kernel with CONFIG_PERF_EVENTS, not in a sandbox."),
]


@pytest.mark.parametrize(("code", "paranoid", "container", "hypervisor", "said"), SENTENCES)
def test_what_is_forbidden_or_missing_is_one_line(kernel, monkeypatch, code, paranoid, container, hypervisor, said):
    kernel.refused = dict.fromkeys(EVENTS, code)
    if paranoid is not None:
        (kernel.folder / "paranoid").write_text(str(paranoid))
    monkeypatch.setattr(hardware, "container", lambda: container)
    monkeypatch.setattr(hardware, "hypervisor", lambda: hypervisor)
    sentence = counters.lacking()
    assert sentence.startswith("Trials cannot tell instructions, cache misses and energy: ")
    assert said in sentence
    assert "\n" not in sentence
    assert not Counters()


def test_where_all_is_counted_nothing_lacks(kernel):
    assert counters.lacking() == ""
    assert counters.available() == tuple(EVENTS)


# -- energy ------------------------------------------------------------------------------------------------------------


def zone(kernel, name, kind, energy=None):
    folder = kernel.folder / "powercap" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(kind)
    (folder / "max_energy_range_uj").write_text("10000000")
    if energy is not None:
        (folder / "energy_uj").write_text(str(energy))


def test_energy_is_that_of_whole_packages(kernel):
    zone(kernel, POWER, "package-0", 2_000_000)
    zone(kernel, "intel-rapl:0:0", "core", 1)
    zone(kernel, "intel-rapl:1", "psys", 1)
    before = counters.energy_uj()
    assert before == {POWER: 2_000_000}
    zone(kernel, POWER, "package-0", 3_500_000)
    assert counters.energy_between(before, counters.energy_uj()) == 1.5
    zone(kernel, POWER, "package-0", 500_000)  # it was full at 10 J
    assert counters.energy_between(before, counters.energy_uj()) == 8.5
    assert counters.energy_between({}, {}) is None


def test_energy_that_may_not_be_read_is_one_sentence(kernel):
    zone(kernel, POWER, "package-0")
    assert counters.lacking().startswith("Trials cannot tell energy: `sudo chmod a+r ")
    counters.lacking.cache_clear()
    kernel.refused = dict.fromkeys(EVENTS, errno.ENOSYS)
    assert counters.lacking().startswith("Trials cannot tell instructions and cache misses: ")


# -- the real kernel ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif("page_faults" not in counters.available(), reason="this system lets nothing be counted")
def test_the_kernel_counts_the_pages_that_are_touched():
    counting = Counters()
    before = counting.read()
    touched = bytearray(64 * 2**20)
    for place in range(0, len(touched), 2**12):
        touched[place] = 1
    after = counting.read()
    counting.close()
    pages = after["page_faults"] - before["page_faults"]
    assert 30 <= pages <= 64 * 2**20 / 2**12 + 200  # pages may be of 2 MiB

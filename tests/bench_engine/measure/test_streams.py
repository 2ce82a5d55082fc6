"""What memory gives, measured on small tables."""

import pytest
import torch

from bench_engine.machine import machine, memory
from bench_engine.measure import streams
from bench_engine.trial import Stop

MIB = 2**20


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(streams, "_STOP", Stop(3, 0.01, 0.5))


def test_all_rates_are_measured_with_the_threads_that_were_asked_for():
    before = torch.get_num_threads()
    try:
        found = streams.measure(1, 4 * MIB)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    assert found.threads == 1
    assert found.table_mb == pytest.approx(4.194304)
    assert min(found.copy_gb_s, found.gather_64_gb_s, found.gather_128_gb_s, found.peak_gflops) > 0.01


def test_rows_are_named_all_over_the_table(monkeypatch):
    seen = []
    select = torch.index_select
    monkeypatch.setattr(torch, "index_select", lambda t, d, ids, out: seen.append(ids) or select(t, d, ids, out=out))
    monkeypatch.setattr(streams, "CALL_BYTES", MIB)
    rows = torch.ones(4 * MIB // 64, 16)
    streams._gathered_gb_s(rows)
    ids = torch.cat(seen[:4]).unique()
    assert len(seen[0]) * 64 == MIB
    assert len(ids) > 0.6 * len(rows)  # of as many draws as rows 1 - 1 / e
    assert not (seen[0].diff() == 1).float().mean() > 0.01


@pytest.mark.parametrize(
    ("l3_kb", "free_gb", "mib"), [(1000, 100, 64), (200_000, 100, 381), (600_000, 100, 1024), (600_000, 1, 238)]
)
def test_a_table_is_larger_than_the_caches_where_memory_allows_it(monkeypatch, l3_kb, free_gb, mib):
    monkeypatch.setattr(machine, "machine", lambda: {"l3_kb": l3_kb, "l2_kb": None})
    monkeypatch.setattr(memory, "available_bytes", lambda: int(free_gb * 1e9))
    assert streams.table_bytes() // MIB == mib
    assert streams.table_bytes() % 128 == 0

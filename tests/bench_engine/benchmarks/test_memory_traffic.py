"""The bytes that lookups move and touch: counted, declared as they are, and told beside what memory gives."""

import pytest
import torch

from bench_engine import registry
from bench_engine.benchmarks.memory_traffic import facts, metrics, touched_bytes
from bench_engine.benchmarks.modules import build
from bench_engine.machine import bandwidth
from bench_engine.methods.method import Reads
from bench_engine.methods.rivals import LOOKUP_RIVALS
from bench_engine.trial import Trial

GIVEN = bandwidth.Bandwidth(1, 10.0, 2.0, 4.0, 100.0, 1e3, "", 0.0)
CONFIG = {"num_rows": 1000, "embedding_dim": 32, "compression": 0.5, "threads": 1, "seed": 0}
RIVAL_NAMES = {m.name for m in LOOKUP_RIVALS}
DECLARING = [m for m in registry.BENCHMARKS["lookup"].methods if registry.method(m).reads]


def of(method: str, **config) -> Trial:
    own = {a.name: a.default for a in registry.BENCHMARKS["lookup"].axes if a.methods and a.is_of(method)}
    own.pop("padding_idx", None)
    return Trial("lookup", method, {**CONFIG, **own, **config})


@pytest.mark.parametrize(
    ("reads", "line_bytes"),
    [
        (Reads(1, 64), 64),
        (Reads(1, 128), 128),
        (Reads(2, 32), 128),
        (Reads(1, 48), 96),  # 1, 2, 2, 1 lines
        (Reads(16, 4), 1024),
        (Reads(2, 32, grain=4), 2 * 64 * (9 + 7 * 2) / 16),
    ],
)
def test_lines_are_the_mean_over_all_places_where_a_piece_may_lie(reads, line_bytes):
    assert reads.line_bytes == line_bytes
    grain = reads.grain or next(g for g in (64, 32, 16, 8, 4) if reads.size % g == 0)
    counts = [(place + reads.size - 1) // 64 + 1 for place in range(0, 64, grain)]
    assert reads.pieces * 64 * sum(counts) / len(counts) == pytest.approx(line_bytes)


@pytest.mark.usefixtures("built_kernels")
@pytest.mark.parametrize("method", [m for m in DECLARING if m not in RIVAL_NAMES])
def test_a_method_reads_as_many_bytes_as_it_declares(method):
    trial = of(method, compression=1.0 if method in ("dense", "int8") else 0.5)
    reads = registry.method(method).reads(trial.config)
    torch.manual_seed(0)
    module = build(trial, 1000, "sum")
    if not any(p.numel() for p in module.parameters()):  # rows of bytes, no weights of torch
        assert reads.size == module.rows.size(1)
        return
    table = [p for name, p in module.named_parameters() if name != "projection"]
    read = set()
    for _ in range(3):  # an element may be hashed onto another's slot, or have the factor 0
        vector = module.vectors(torch.randint(1000, (1,)))
        grads = torch.autograd.grad((vector * torch.rand_like(vector)).sum(), table)
        read.add(sum(int(g.count_nonzero()) for g in grads) * 4)
    assert max(read) <= reads.pieces * reads.size <= max(read) + 8


def test_bytes_touched_are_lines_ids_and_outputs():
    assert touched_bytes(Reads(1, 64), [(32, 5)], 16) == 160 * (8 + 64) + 32 * 64
    assert touched_bytes(Reads(16, 4), [(32, 5), (32, 1)], 16) == 192 * (8 + 1024) + 64 * 64


def test_a_share_is_told_where_the_machine_s_copy_is_known(monkeypatch):
    monkeypatch.setattr(bandwidth, "kept", lambda threads: GIVEN if threads == 3 else None)
    found = metrics(8000, 2.0, {"threads": 3})
    assert found == {"bytes_moved": 8000, "bandwidth_gb_s": 4.0, "bandwidth_share": 0.4}
    assert "bandwidth_share" not in metrics(8000, 2.0, {"threads": 1})


def test_facts_hold_what_is_declared_and_what_is_known(monkeypatch):
    monkeypatch.setattr(bandwidth, "kept", lambda threads: None)
    assert facts(of("dense", embedding_dim=16), [(32, 5)], 16) == {"flops": 32 * 4 * 16, "touched_bytes": 13568}
    monkeypatch.setattr(bandwidth, "kept", lambda threads: GIVEN)
    found = facts(of("dense", embedding_dim=32), [(32, 5)], 32)
    assert (found["copy_gb_s"], found["gather_gb_s"], found["peak_gflops"]) == (10.0, 4.0, 100.0)
    assert facts(of("hashed", embedding_dim=32), [(32, 5)], 32)["gather_gb_s"] == 2.0  # its pieces are small

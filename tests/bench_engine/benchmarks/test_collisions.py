"""The benchmark collisions: counts against brute force on small tables, and those that are known of large ones."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from alone import alone

from bench_engine import registry
from bench_engine.benchmarks import collisions
from bench_engine.kernels.hashed.hashed_table import HashedTable
from bench_engine.sweep.sweep import expand, parse
from bench_engine.trial import Trial, TrialResult
from db.columns import BY_NAME

pytestmark = pytest.mark.usefixtures("built_kernels")

BENCHMARK = registry.BENCHMARKS["collisions"]
SWEEP = Path(__file__).resolve().parents[3] / "sweeps" / "collisions.yaml"
SLOTTED = ("hashed", "hashed_reference", "hashed_mix64", "hashed_signed", "hashed_block")


def trial(method: str, **config) -> Trial:
    axes = {a.name: a.default for a in BENCHMARK.axes if a.is_of(method)}
    return Trial("collisions", method, {**axes, "num_rows": 300, "embedding_dim": 4, "compression": 0.1, **config})


def run(method: str, **config) -> TrialResult:
    return alone(collisions.run(trial(method, **config)))


def module_of(method: str, **config) -> torch.nn.Module:
    told = trial(method, **config).config
    entry = registry.method(method)
    sizes = int(told["num_rows"]), int(told["embedding_dim"])
    return entry.load()(*sizes, compression=told["compression"], **entry.keywords(told))


# What a method makes of a row decides what rows are alike: slots and signs, the row kept, the two rows kept.
def alike(method: str, module: torch.nn.Module) -> list[object]:
    rows = torch.arange(module.num_embeddings)
    if isinstance(module, HashedTable):
        slots, signs = module.layout.slots(rows), module.layout.factors(rows, torch.int64)
        return [tuple(row) for row in (slots.tolist() if signs is None else ((slots + 1) * signs).tolist())]
    if method == "double_hash":
        return [frozenset(pair) for pair in zip(*(rows.tolist() for rows in module.rows(rows)), strict=True)]
    return (rows % len(module.weight)).tolist()


@pytest.mark.parametrize("compression", [0.005, 0.02, 0.1, 0.5])
@pytest.mark.parametrize("method", [*SLOTTED, "row_modulo", "double_hash"])
def test_duplicate_rows_are_those_that_are_made_alike(method, compression):
    result = run(method, compression=compression)
    made = alike(method, module_of(method, compression=compression))
    assert (result.status, result.metrics["duplicate_rows"]) == ("ok", len(made) - len(set(made)))


def test_some_of_those_tables_have_duplicates_and_some_have_none():
    found = {(m, c): run(m, compression=c).metrics["duplicate_rows"] for m in SLOTTED for c in (0.005, 0.5)}
    assert min(found.values()) == 0 < max(found.values())


@pytest.mark.parametrize("compression", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("method", SLOTTED)
def test_shared_slots_are_counted(method, compression, monkeypatch):
    monkeypatch.setattr(collisions, "_CHUNK_ROWS", 7)  # 300 is no multiple of it
    slots = module_of(method, compression=compression).layout.slots(torch.arange(300)).flatten().tolist()
    held = Counter(slots)
    share = sum(held[slot] > 1 for slot in slots) / len(slots)
    assert run(method, compression=compression).metrics["shared_slots"] == pytest.approx(share)
    assert share > 0


@pytest.mark.parametrize(
    ("table", "duplicates"),
    [
        ([[1.0, 2.0]], 0),
        ([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]], 1),
        ([[0.5, 0.5]] * 5, 4),
        ([[1.0, 1.0], [1.0, math.nextafter(1.0, 2.0)]], 0),
    ],
)
def test_rows_are_alike_where_every_element_is(table, duplicates):
    assert collisions.duplicate_rows(np.array(table)) == duplicates
    assert collisions.duplicate_rows(np.asfortranarray(table)) == duplicates


@pytest.mark.parametrize(
    ("rows", "compression", "slots", "duplicates"),
    [(20_000, 0.03125, 10_000, 3_821), (300_000, 0.001, 4_800, 276_603)],
)
def test_known_counts_of_the_reference_hash(rows, compression, slots, duplicates):
    size = {"num_rows": rows, "embedding_dim": 16, "compression": compression}
    found = run("hashed", **size).metrics
    assert found["duplicate_rows"] == duplicates
    assert found["memory_mb"] == slots * 4 / 1e6
    assert run("hashed_mix64", **size).metrics["duplicate_rows"] == 0


def test_what_has_no_slots_shares_none():
    for method in ("dense", "small_dim", "quotient_remainder", "row_modulo", "double_hash"):
        result = run(method, compression=1.0 if method == "dense" else 0.5)
        assert (result.status, result.metrics["shared_slots"]) == ("ok", None)
    assert run("dense", compression=1.0).metrics["duplicate_rows"] == 0
    assert TrialResult.from_json(result.to_json()).metrics == result.metrics


def test_what_is_reported_are_columns():
    result = run("hashed")
    assert set(result.metrics) <= set(BY_NAME)
    assert (result.stop_reason, result.samples_us) == ("fixed_count", ())


def test_every_seed_counts_the_same_where_the_hash_has_none():
    assert len({run("hashed", compression=0.02, seed=s).metrics["duplicate_rows"] for s in range(4)}) == 1


@pytest.mark.parametrize(
    ("method", "compression", "why"),
    [
        ("row_modulo", 0.001, "leaves no row of 300"),
        ("double_hash", 0.001, "leaves no row of 300"),
        ("hashed", 1e-4, "leaves no slot of 300 x 4 elements"),
        ("small_dim", 0.001, "small_dim cannot be run here: "),
    ],
)
def test_out_of_reach_is_skipped_with_its_sentence(method, compression, why):
    result = run(method, compression=compression)
    assert result.status == "skipped"
    assert why in result.error


def test_ended_before_its_turn_it_has_failed():
    started = collisions.run(trial("hashed"))
    assert next(started) == "more"
    with pytest.raises(StopIteration) as ended:
        started.send(False)
    assert ended.value.value == TrialResult("failed", error="It was ended before anything was counted.")


def test_the_sweep_counts_at_six_settings():
    told = {
        (t.config["num_rows"], t.config["embedding_dim"], t.config["compression"])
        for t in expand(parse(SWEEP.read_text(), "collisions"))
    }
    assert {(rows, dim, int(rows * dim * kept)) for rows, dim, kept in told} == {
        (20_000, 16, 10_000), (100_000, 16, 25_000), (100_000, 16, 16_384), (100_000, 64, 100_000),
        (300_000, 16, 65_536), (300_000, 16, 4_800),
    }  # fmt: skip

"""A small, seeded set of results: two benchmarks, three data sets, failures, ties and NULLs."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bench_engine.trial import Trial
from db.columns import AXES
from db.record import Record
from db.store import Store
from mirror.profile import Profile
from mirror.sandbox import Sandbox

DATASETS = {"frappe": 0.93, "ml-206k": 0.79, "synthetic": 0.75}
COST = {"dense": 0.0, "hashed": 0.02, "quotient_remainder": 0.01, "small_dim": 0.03}
BASE_US = {"dense": 10.0, "hashed": 25.0, "quotient_remainder": 20.0, "small_dim": 15.0}


def records() -> list[Record]:
    """The trials behind every test of an answer."""
    found = []
    start = datetime(2026, 11, 1, 12, 0)

    def add(status: str = "ok", error: str | None = None, **values: object) -> None:
        n = len(found)
        trial = {
            "trial_id": f"{n:012d}-1", "identity": f"{n:012d}", "status": status, "error": error,
            "is_baseline": values["method"] == "dense", "device": "cpu", "dtype": "float32", "machine_id": "m1",
            "started_at": start + timedelta(minutes=n), "duration_s": 1.0, "code_version": "abc", **values,
        }  # fmt: skip
        planned = Trial(values["benchmark"], values["method"], {k: v for k, v in values.items() if k in AXES})
        trial |= {"configuration": planned.configuration(), "comparison": planned.comparison()}
        machine = {"machine_id": "m1", "name": "test machine"}
        found.append(Record(trial, (1.0, 2.0), (("loss", 1, 0.5),), machine, {"sweep_id": "s1", "name": "seeded"}))

    for dataset, best in DATASETS.items():
        for method, cost in COST.items():
            for compression in (1.0,) if method == "dense" else (0.5, 0.1, 0.02):
                for seed in (0, 1, 2):
                    common = {
                        "benchmark": "training", "op": "click_model", "method": method, "dataset": dataset,
                        "embedding_dim": 16, "compression": compression, "batch_size": 1024, "seed": seed,
                        "threads": 2, "num_rows": 50_000, "num_tables": 8, "sweep": "memory_vs_auc",
                    }  # fmt: skip
                    if method == "small_dim" and compression == 0.02:
                        add("skipped", "small_dim cannot keep 0.02 of 16 dims", **common)
                    elif method == "hashed" and compression == 0.02 and seed == 2 and dataset == "frappe":
                        add("failed", "the loss is not finite", **common)
                    else:
                        auc = best - cost * (1 - compression) + 0.0001 * seed
                        memory = 3.2 * compression
                        add(auc=auc, logloss=1 - auc, memory_mb=memory, latency_us=5000.0 + 10 * seed, **common)
    for method, base in BASE_US.items():
        for dim in (16, 64):
            for batch in (64, 512, 2048):
                for direction in ("forward", "forward_backward"):
                    factor = batch / 64 * dim / 16 * (3 if direction == "forward_backward" else 1)
                    add(
                        benchmark="lookup", op="embedding_bag", method=method, embedding_dim=dim, batch_size=batch,
                        direction=direction, compression=1.0 if method == "dense" else 0.1, seed=0, threads=1,
                        num_rows=100_000, num_tables=1, bag_size=10, pooling_mode="sum", zipf_s=1.05, sweep="lookup",
                        latency_us=base * factor, latency_p99_us=base * factor * 2, memory_mb=0.4 * dim,
                        samples_per_s=batch / (base * factor) * 1e6, max_abs_error=0.0,
                    )  # fmt: skip
    return found


@pytest.fixture(scope="session")
def results_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DuckDB file with `records()`; tests must not write to it."""
    path = tmp_path_factory.mktemp("results") / "seeded.duckdb"
    store = Store(str(path))
    store.ensure()
    store.add(records())
    store.checkpoint()
    return path


@pytest.fixture(scope="session")
def box(results_file: Path) -> Iterator[Sandbox]:
    """A sandbox over the seeded results."""
    with Sandbox(str(results_file)) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def profile(box: Sandbox) -> Profile:
    """What the seeded results hold."""
    return box.profile()

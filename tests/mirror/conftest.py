"""A small, seeded set of results: two benchmarks, three data sets, failures, ties and NULLs; and it measured again."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bench_engine.trial import Trial
from db.columns import AXES
from db.record import Record
from db.store import Store
from mirror.answer import readers
from mirror.data.process.sandbox import Sandbox
from mirror.language.neural.results_reader import ResultsReading
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.language.train.data.spec_text import asked_of
from mirror.query.spec import QuerySpec
from mirror.schema.profile import Profile

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


def _again(record: Record, attempt: str, slower: float = 1.0, machine: str = "m1", **changes: object) -> Record:
    """The trial once more, on a machine called "laptop"."""
    trial = {**record.trial, "machine_id": machine, "trial_id": f"{record.trial_id}-{attempt}", **changes}
    for name in ("latency_us", "latency_p99_us"):
        if name in trial:
            trial[name] *= slower
    if "cache" in changes:
        planned = Trial(trial["benchmark"], trial["method"], {k: v for k, v in trial.items() if k in AXES})
        trial |= {"configuration": planned.configuration(), "comparison": planned.comparison()}
    return replace(record, trial=trial, machine={"machine_id": machine, "name": "laptop"})


def records_again() -> list[Record]:
    """The same work on two machines of one name, at several times, with verdicts.

    Machine m1 measured all of it on 1 November, and the lookups again on 12 November: hashed is then 1.5 times slower,
    small_dim 2 times faster, the rest 1.02 times slower, with a noise of 0.05. The later lookups are compared with
    dense: small_dim is faster but unclear at dim 64, the others are slower. Machine m2 takes 0.5 of the time, 0.25 for
    hashed. Dense and hashed were looked up with cold caches too, on m1, in 3 times the time.
    """
    found = []
    later = {"hashed": 1.5, "small_dim": 0.5}
    for record in records():
        trial = record.trial
        if trial["benchmark"] == "training":
            found.append(_again(record, "a"))
            if trial["dataset"] == "frappe":
                found.append(_again(record, "b", 0.5, "m2"))
            continue
        method, dim = trial["method"], trial["embedding_dim"]
        warm = {"cache": "warm", "output": "fresh", "noise": 0.05}
        verdict = {}
        if method != "dense":
            won = method == "small_dim"
            verdict = {"verdict": "slower" if not won else "unclear" if dim == 64 else "faster"}
            verdict |= {"speedup_ci_low": 1.1 if won else 0.3, "speedup_ci_high": 1.5 if won else 0.5}
        day = trial["started_at"] + timedelta(days=11)
        found.append(_again(record, "a", **warm))
        found.append(_again(record, "c", later.get(method, 1.02), started_at=day, **warm, **verdict))
        found.append(_again(record, "b", 0.25 if method == "hashed" else 0.5, "m2", **warm))
        if method in ("dense", "hashed"):
            found.append(_again(record, "d", 3.0, **{**warm, "cache": "cold"}))
    return found


@pytest.fixture(scope="session")
def again(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox over `records_again()`."""
    path = tmp_path_factory.mktemp("again") / "again.duckdb"
    store = Store(str(path))
    store.ensure()
    store.add(records_again())
    store.checkpoint()
    with Sandbox(str(path)) as sandbox:
        yield sandbox


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
    return box.schema()


@pytest.fixture
def likeliest_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The likeliest reading is answered, however likely it is."""
    monkeypatch.setattr(readers, "answered_at_once", lambda found: found[0] if found else None)


@pytest.fixture
def as_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what becomes of a reading: each question of `meant.json` is read as it says there."""
    meant = json.loads(Path(__file__).with_name("meant.json").read_text())
    read = readers.readings_to_decide

    def as_it_is_meant(question: str, sandbox: Sandbox, now: datetime | None) -> list[ResultsCandidate]:
        if question not in meant:
            return read(question, sandbox, now)
        asked = asked_of(meant[question])
        return [ResultsCandidate(asked, asked, ResultsReading(asked, 0.0, ()), chance=1.0)]

    def likeliest(question: str, sandbox: Sandbox, now: datetime | None) -> QuerySpec | None:
        return next((c.asked for c in as_it_is_meant(question, sandbox, now)), None)

    monkeypatch.setattr(readers, "readings_to_decide", as_it_is_meant)
    monkeypatch.setattr(readers, "likeliest", likeliest)

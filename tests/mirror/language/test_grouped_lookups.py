"""Questions on lookups of many tables together: tables, structures and models have words of their own."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from bench_engine.trial import Trial
from db.record import Record
from db.store import Store
from mirror.answer.answering import ask
from mirror.data.process.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("as_meant")  # what becomes of a reading is tested

NOW = datetime(2026, 11, 20)
EAGER_US, SPEEDUP = 10.0, {"eager": 1.0, "parallel_op": 5.0, "fbgemm_tbe_grouped": 3.0}


def records() -> list[Record]:
    """Three methods; eager takes 10 µs per table at batch 1, whole models 100 µs more."""
    found = []
    for tables in (8, 26):
        for batch in (1, 64):
            for structure, model in (("plain", "op"), ("interleaved", "op"), ("plain", "dlrm")):
                for method, times in SPEEDUP.items():
                    if method == "fbgemm_tbe_grouped" and model != "op":
                        continue
                    config = {
                        "num_tables": tables, "num_rows": 1000, "embedding_dim": 16, "pooling_mode": "sum",
                        "bag_sizes": "uniform", "bag_size": 1, "batch_size": batch, "direction": "forward",
                        "structure": structure, "model": model, "zipf_s": 1.05, "threads": 1, "seed": 0,
                    }  # fmt: skip
                    planned = Trial("grouped_lookup", method, config)
                    number = f"{len(found):012d}"
                    eager = EAGER_US * tables * (1 + batch / 64)
                    row = {
                        **config, "benchmark": "grouped_lookup", "op": "grouped_embedding_bag", "method": method,
                        "trial_id": f"{number}-1", "identity": number, "configuration": planned.configuration(),
                        "comparison": planned.comparison(), "is_baseline": method == "eager", "status": "ok",
                        "sweep": "parallel_op", "machine_id": "m1", "started_at": NOW, "device": "cpu",
                        "latency_us": eager / times + (100 if model == "dlrm" else 0), "memory_mb": 1.0,
                    }  # fmt: skip
                    machine = {"machine_id": "m1", "name": "test machine"}
                    found.append(Record(row, (1.0,), (), machine, {"sweep_id": "s1", "name": "parallel_op"}))
    return found


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    path: Path = tmp_path_factory.mktemp("grouped") / "grouped.duckdb"
    store = Store(str(path))
    store.ensure()
    store.add(records())
    store.checkpoint()
    with Sandbox(str(path)) as sandbox:
        yield sandbox


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MIRROR_LLM_BASE_URL", "MIRROR_LLM_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def rows(question: str, box: Sandbox) -> list[dict[str, object]]:
    answer = ask(question, sandbox=box, now=NOW)
    assert answer.status == "answered", answer.summary
    assert answer.table
    return [dict(zip(answer.table.names, row, strict=True)) for row in answer.table.rows]


@pytest.mark.parametrize(
    "question",
    [
        "parallel_op vs eager latency by batch size at 26 tables",
        "latency of parallel op and eager by batch size with 26 tables",
    ],
)
def test_two_methods_by_batch_at_a_number_of_tables(question: str, grouped: Sandbox) -> None:
    found = rows(question, grouped)
    assert {(row["method"], row["batch_size"]) for row in found} == {
        (m, b) for m in ("parallel_op", "eager") for b in (1, 64)
    }
    times = {(row["method"], row["batch_size"]): row["latency_us"] for row in found}
    assert times["eager", 64] == pytest.approx(520)
    assert times["parallel_op", 64] == pytest.approx(104)


def test_speedup_by_number_of_tables(grouped: Sandbox) -> None:
    found = rows("speedup of parallel_op by number of tables", grouped)
    assert {row["num_tables"] for row in found} == {8, 26}
    assert all(row["speedup"] == pytest.approx(5) for row in found)


@pytest.mark.parametrize(
    ("question", "method", "latency"),
    [
        ("latency of untouched dlrm at batch size 64 and 8 tables", "eager", 260),
        ("latency of grouped tbe interleaved at batch size 64 and 8 tables", "fbgemm_tbe_grouped", 160 / 3),
    ],
)
def test_structures_models_and_methods_have_other_names(
    question: str, method: str, latency: float, grouped: Sandbox
) -> None:
    assert [(row["method"], row["latency_us"]) for row in rows(question, grouped)] == [(method, pytest.approx(latency))]

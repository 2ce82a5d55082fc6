"""Questions about embeddings that are pruned while they train: their course, and what is as good as dense."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from bench_engine.trial import Trial
from db.columns import AXES
from db.record import Record
from db.store import Store
from mirror import ask
from mirror.answer.answer import Answer
from mirror.data.process.sandbox import Sandbox
from mirror.query.spec import Filter

pytestmark = pytest.mark.usefixtures("as_meant")  # what becomes of a reading is tested

# method, compression, num_chunks -> (AUC less than dense on planted, on frappe, MB). The smallest that is as good as
# dense is fiited at 0.05 with 4 chunks on planted, hashed at 0.5 on frappe; static_frequency is the smallest of all.
TRIALS = {
    ("dense", 1.0, None): (0.0, 0.0, 64.0),
    ("fiited", 0.1, 4): (0.0002, 0.002, 7.0),
    ("fiited", 0.05, 4): (0.0009, 0.004, 3.9),
    ("fiited", 0.05, 2): (0.0019, 0.004, 3.5),
    ("adaembed", 0.1, None): (0.003, 0.003, 6.8),
    ("hashed", 0.5, None): (0.02, -0.001, 32.0),
    ("static_frequency", 0.02, None): (0.03, 0.03, 1.3),
}
BAYES, SEEDS, STEPS = 0.8, (0, 1), (10, 20, 30)


def records() -> Iterator[Record]:
    for dataset, best in (("planted", 0.79), ("frappe", 0.93)):
        for (method, compression, chunks), (*less, memory) in TRIALS.items():
            for seed in SEEDS:
                yield _record(dataset, method, compression, chunks, seed, best - less[dataset == "frappe"], memory)
    # AUC on another split of the same data is another thing.
    yield _record("planted", "dense", 1.0, None, 0, 0.99, 64.0, split="validation")


def _record(
    dataset: str, method: str, compression: float, chunks: int | None, seed: int, auc: float, memory: float, **more: str
) -> Record:
    axes = {
        "dataset": dataset, "embedding_dim": 16, "compression": compression, "batch_size": 1024, "seed": seed,
        "threads": 2, **({"num_chunks": chunks, "prune_scope": "global"} if chunks else {}), **more,
    }  # fmt: skip
    planned = Trial("training", method, axes)
    identity = planned.identity("", "m1", 3)
    values = {k: v for k, v in axes.items() if k in AXES}
    planted = {"regret": BAYES - auc, "kept_share": 0.9 - 0.1 * (chunks is None)} if dataset == "planted" else {}
    row = {
        "trial_id": f"{identity}-1", "identity": identity, "status": "ok", "benchmark": "training", "op": "click_model",
        "method": method, "is_baseline": method == "dense", "device": "cpu", "sweep": "fiited_quality",
        "machine_id": "m1", "started_at": datetime(2026, 11, 1) + timedelta(minutes=seed), "duration_s": 1.0,
        "code_version": "abc", "configuration": planned.configuration(), "comparison": planned.comparison(),
        "auc": auc, "memory_mb": memory, "metadata_mb": memory / 10, "latency_us": 5000.0, **values, **planted,
    }  # fmt: skip
    curves = [("loss", step, 1 / step) for step in STEPS]
    if method == "fiited":
        curves += [("live_dimensions", step, 4.0 + seed + step / 10 + chunks) for step in STEPS]
    machine, sweep = {"machine_id": "m1", "name": "test machine"}, {"sweep_id": "s1", "name": "fiited_quality"}
    return Record(row, (1.0,), tuple(curves), machine, sweep)


@pytest.fixture(scope="module")
def pruned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    path = tmp_path_factory.mktemp("pruned") / "pruned.duckdb"
    store = Store(str(path))
    store.ensure()
    store.add(list(records()))
    store.checkpoint()
    with Sandbox(str(path)) as sandbox:
        yield sandbox


def answered(question: str, box: Sandbox) -> Answer:
    answer = ask(question, box, use_model=False)
    assert answer.status == "answered", answer.summary
    return answer


def rows(answer: Answer, *columns: str) -> list[tuple]:
    assert answer.table is not None
    return list(zip(*(answer.table.values(c) for c in columns), strict=True))


def test_live_dimensions_over_training_are_lines_along_the_steps_the_mean_over_seeds(pruned: Sandbox) -> None:
    answer = answered("live dimensions over training for fiited on planted", pruned)
    assert (answer.chart.type, answer.chart.x, answer.chart.y) == ("line", "step", "live_dimensions")
    assert "split = test" in answer.read_as
    found = rows(answer, "step", "compression", "num_chunks", "live_dimensions", "n")
    assert len(found) == 3 * len(STEPS)
    assert (20, 0.05, 2, 4.0 + 0.5 + 2 + 2, 2) in found
    assert answer.summary.endswith("Rests on 6 trials in 9 rows.")


def test_data_sets_and_sizes_are_told_apart_in_a_course(pruned: Sandbox) -> None:
    answer = answered("live dimensions over training for fiited", pruned)
    assert {"dataset", "compression", "num_chunks"} <= set(answer.table.names)
    assert "loss" in answered("loss during training at compression 0.1", pruned).table.names


def test_several_courses_have_a_panel_each(pruned: Sandbox) -> None:
    answer = answered("loss and live dimensions by step for fiited on frappe at compression 0.1", pruned)
    assert set(answer.table.values("metric")) == {"loss", "live_dimensions"}
    assert answer.chart.facet == "metric"


@pytest.mark.parametrize(
    "question",
    [
        "which method holds AUC within 0.001 of dense with the least memory?",
        "smallest memory without losing quality",
        "the smallest method at the same accuracy as dense",
    ],
)
def test_the_least_memory_that_is_as_good_as_dense_is_found_for_each_data_set(question: str, pruned: Sandbox) -> None:
    answer = answered(question, pruned)
    found = rows(answer, "dataset", "method", "compression", "num_chunks", "memory_mb")
    assert found == [("frappe", "hashed", 0.5, None, 32.0), ("planted", "fiited", 0.05, 4, 3.9)]
    assert "AUC at most 0.001 below dense at the same work" in answer.read_as
    assert answer.spec.filters[-1] == Filter("split", "=", ("test",))


def test_another_margin_and_a_method_of_ones_own(pruned: Sandbox) -> None:
    looser = answered("which method is within 0.002 of dense with the least memory on planted", pruned)
    assert rows(looser, "method", "num_chunks") == [("fiited", 2)]
    own = answered("smallest memory of adaembed within 0.005 of the baseline on planted", pruned)
    assert rows(own, "method", "memory_mb") == [("adaembed", 6.8)]


def test_a_trade_off_within_a_margin_shows_the_trials_that_hold_it(pruned: Sandbox) -> None:
    answer = answered("memory vs AUC within 0.001 of dense on planted", pruned)
    assert {(m, c) for m, c in rows(answer, "method", "compression")} == {
        ("dense", 1.0),
        ("fiited", 0.1),
        ("fiited", 0.05),
    }
    assert (answer.chart.type, len(answer.table.rows)) == ("scatter", 6)


@pytest.mark.parametrize(
    ("question", "method", "column", "value"),
    [
        ("regret by method at compression 0.1", "adaembed", "regret", 0.013),
        ("kept share by method on planted at compression 0.1", "fiited", "kept_share", 0.9),
        ("metadata of fiited at compression 0.1 on planted", "fiited", "metadata_mb", 0.7),
    ],
)
def test_their_metrics_have_words(question: str, method: str, column: str, value: float, pruned: Sandbox) -> None:
    found = dict(rows(answered(question, pruned), "method", column))
    assert found[method] == pytest.approx(value)


def test_chunks_are_never_averaged_over_and_can_be_asked_for(pruned: Sandbox) -> None:
    by_k = answered("AUC by number of chunks for fiited on planted at compression 0.05", pruned)
    assert [k for k, _ in rows(by_k, "num_chunks", "auc")] == [2, 4]
    best = answered("best AUC for fiited at compression 0.05 on planted", pruned)
    assert rows(best, "num_chunks") == [(4,)]
    asked = answered("AUC of fiited with prune scope global at 4 chunks by compression", pruned)
    assert {f.column for f in asked.spec.filters} >= {"prune_scope", "num_chunks"}


def test_a_question_silent_on_the_split_means_the_test_part(pruned: Sandbox) -> None:
    assert rows(answered("AUC of dense on planted", pruned), "auc") == [(pytest.approx(0.79),)]
    assert rows(answered("AUC of dense on planted with validation", pruned), "auc") == [(0.99,)]

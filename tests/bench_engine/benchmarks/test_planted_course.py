"""What of a planted truth is kept, and when it is kept again after a swap."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from bench_engine.benchmarks import planted_course
from bench_engine.benchmarks.planted_course import PlantedCourse, course
from bench_engine.data.planted import clicks as planted
from bench_engine.data.planted.planted_spec import Spec

SPEC = Spec("small", (200, 100), 4000, 500, swap_at=0.5)
BATCH = 100  # 40 steps, the swap after 20


class Kept(nn.Module):
    """Keeps the first chunks of each row, as many as `chunks` (E,) says, of four in 16 dimensions."""

    embedding_dim = 16

    def __init__(self, chunks: np.ndarray) -> None:
        super().__init__()
        self.chunks = torch.from_numpy(np.asarray(chunks))

    def live_mask(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.arange(4) < self.chunks[rows].unsqueeze(1)


@pytest.fixture(scope="module")
def data():
    return planted.click_data(SPEC)


@pytest.fixture(scope="module")
def truth():
    return planted.truth(SPEC)


def of_four(effective_dim: np.ndarray) -> np.ndarray:
    """Chunks of four dimensions that hold the planted ones."""
    return np.ceil(effective_dim / 4).astype(np.int64)


def test_all_is_kept_of_the_truth_itself_and_nothing_of_nothing(data, truth):
    for chunks, share in ((of_four(truth.effective_dim), 1.0), (0 * truth.effective_dim, 0.0)):
        ((name, step, value), *_) = PlantedCourse(SPEC, data, Kept(chunks), BATCH).points(10)
        assert (name, step, value) == ("kept_share", 10, share)


def test_the_lag_ends_where_what_was_swapped_in_is_kept_as_what_it_took_the_place_of_was(data, truth):
    embedding = Kept(of_four(truth.effective_dim))
    followed = PlantedCourse(SPEC, data, embedding, BATCH)
    assert followed.swap_step == 20
    for step in (10, 20):
        assert [name for name, *_ in followed.points(step)] == ["kept_share"]
    points = {name: value for name, _, value in followed.points(25)}
    assert points["restored_share"] == 0.0
    assert points["kept_share"] < 1.0
    embedding.chunks = torch.from_numpy(of_four(truth.effective_dim_after))
    assert {name: value for name, _, value in followed.points(30)} == {"kept_share": 1.0, "restored_share": 1.0}
    list(followed.points(35))
    assert followed.metrics() == {"kept_share": 1.0, "restoration_lag_steps": 10}


def test_what_is_kept_is_told_often_after_a_swap(data, truth):
    followed = PlantedCourse(SPEC, data, Kept(of_four(truth.effective_dim)), BATCH)
    told = [
        (name, at)
        for step in range(1, 41)
        for name, at, _ in (
            *(followed.points(step) if step == 30 else ()),
            *followed.after_step(step, lambda ids: np.arange(len(ids))),
        )
        if name == "restored_share"
    ]
    assert told == [("restored_share", 30), ("restored_share", 40)]  # 30 once


def test_what_keeps_all_has_a_course_of_its_auc_alone(data):
    followed = PlantedCourse(SPEC, data, nn.Linear(1, 1), BATCH)
    assert list(followed.points(30)) == []
    assert followed.metrics() == {}
    seen = [point for step in range(1, 41) for point in followed.after_step(step, lambda ids: np.arange(len(ids)))]
    assert [step for name, step, _ in seen if name == "probe_auc"] == [2, 6, 10, 14, 18, 22, 26, 30, 34, 38]
    assert all(value > 0 for name, _, value in seen if name == "probe_regret")


def test_only_ids_of_the_training_part_count(data, truth):
    few = dataclasses.replace(data, train_ids=data.train_ids[:20], train_labels=data.train_labels[:20])
    unseen = of_four(truth.effective_dim)
    unseen[np.unique(few.train_ids)] = 0
    assert unseen.any()
    assert [value for *_, value in PlantedCourse(SPEC, few, Kept(unseen), BATCH).points(10)] == [0.0]


def test_without_a_truth_there_is_no_course(data):
    assert course(planted_course, data, nn.Linear(1, 1), BATCH) is None

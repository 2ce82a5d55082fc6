"""The generator: the same everywhere, streamed, and true to what it says was planted."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from bench_engine.data.quality import auc
from bench_engine.data.sets import synthetic


@pytest.fixture(scope="module")
def data():
    return synthetic.load()


def test_sizes(data):
    assert (len(data.train_ids), len(data.test_ids)) == (120_000, 30_000)
    assert data.num_rows == 60_000
    assert data.num_tables == 8


def test_every_load_gives_the_same(data):
    assert np.array_equal(synthetic.load().train_labels, data.train_labels)


def test_the_same_in_another_process():
    code = (
        "import sys; from bench_engine.data.sets import synthetic;"
        "sys.stdout.buffer.write(b''.join(i.tobytes() + l.tobytes() for i, l, _ in synthetic.stream(1, 3000)))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert other.stdout == b"".join(ids.tobytes() + labels.tobytes() for ids, labels, _ in synthetic.stream(1, 3000))


def test_the_first_examples_do_not_depend_on_how_many_are_asked_for():
    few = next(synthetic.stream(1, 100))
    many = next(synthetic.stream(1, 20_000))
    for a, b in zip(few, many, strict=True):
        assert np.array_equal(a, b[:100])


def test_training_and_test_parts_differ(data):
    assert not np.array_equal(data.train_ids[:1000], data.test_ids[:1000])


def test_memory_does_not_grow_with_the_number_of_examples():
    def peak(chunks):
        tracemalloc.start()
        for _ in synthetic.stream(1, chunks * synthetic.CHUNK):
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    synthetic.truth()
    assert peak(12) < 1.3 * peak(2)


def test_probabilities_are_the_planted_formula():
    truth = synthetic.truth()
    ids, _, probabilities = next(synthetic.stream(1, 20))
    for example, probability in zip(ids, probabilities, strict=True):
        logit = synthetic.BIAS + truth.weight[example].sum()
        for f in range(8):
            for g in range(f):
                logit += truth.vector[example[f]] @ truth.vector[example[g]]
        assert probability == pytest.approx(1 / (1 + np.exp(-logit)), rel=1e-9)


def test_labels_follow_the_probabilities():
    _, labels, probabilities = (np.concatenate(x) for x in zip(*synthetic.stream(1, 40_000), strict=True))
    for low in np.arange(0, 1, 0.2):
        part = (probabilities >= low) & (probabilities < low + 0.2)
        spread = np.sqrt((probabilities[part] * (1 - probabilities[part])).sum()) / part.sum()
        assert abs(labels[part].mean() - probabilities[part].mean()) < 5 * spread


def test_effective_dim_is_what_the_vectors_have():
    truth = synthetic.truth()
    assert np.array_equal((truth.vector != 0).sum(1), truth.effective_dim)
    assert np.array_equal(truth.weight == 0, truth.effective_dim == 0)


def test_some_frequent_ids_are_useless_and_some_rare_ones_important():
    truth, rows = synthetic.truth(), synthetic.FIELD_ROWS[0]
    by_popularity = np.argsort(-truth.popularity[:rows])
    dims = truth.effective_dim[by_popularity]
    assert 0.03 < (dims[: rows // 10] == 0).mean() < 0.2
    assert 0.03 < (dims[rows // 2 :] == synthetic.LATENT_DIM).mean() < 0.2


def test_ids_follow_the_popularity():
    truth = synthetic.truth()
    ids = np.concatenate([ids for ids, _, _ in synthetic.stream(1, 50_000)])
    counts = np.bincount(ids[:, 0], minlength=60_000)[: synthetic.FIELD_ROWS[0]]
    top = np.argsort(-truth.popularity[: synthetic.FIELD_ROWS[0]])[:10]
    expected = 50_000 * truth.popularity[top]
    assert (np.abs(counts[top] - expected) < 5 * np.sqrt(expected)).all()


def test_bayes_auc_is_above_any_first_order_model(data):
    truth = synthetic.truth()
    assert data.bayes_auc is not None
    assert auc(data.test_labels, truth.weight[data.test_ids].sum(1)) + 0.02 < data.bayes_auc < 0.98

"""The planted clicks: the same everywhere, streamed, as long-tailed as published logs, and true to what was planted."""

import subprocess
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from bench_engine.data.planted import clicks as planted
from bench_engine.data.planted import drift as planted_drift
from bench_engine.data.planted import turnover as planted_turnover
from bench_engine.data.planted.clicks import BLOCK, TEST, TRAIN, stream
from bench_engine.data.planted.factorization import click_probability
from bench_engine.data.planted.planted_spec import Spec
from bench_engine.data.quality import auc

SMALL = Spec("small", (3000, 400, 20), train_examples=30_000, test_examples=20_000, swap_at=0.5, drift_share=0.5)


def joined(chunks):
    return [np.concatenate(column) for column in zip(*chunks, strict=True)]


@pytest.fixture(scope="module")
def data():
    return planted.load()


@pytest.fixture(scope="module")
def counts(data):
    return np.bincount(data.train_ids.ravel(), minlength=data.num_rows)


def test_half_of_the_ids_seen_are_seen_once(counts):
    assert 0.45 < (counts == 1).sum() / (counts > 0).sum() < 0.55


def test_one_per_cent_of_the_ids_takes_a_third_of_the_look_ups_or_more(counts):
    top = np.sort(counts)[::-1][: (counts > 0).sum() // 100]
    assert 1 / 3 < top.sum() / counts.sum() < 0.92


def test_sizes_and_bayes_auc(data):
    assert data.num_rows == 705_077
    assert (len(data.train_ids), len(data.test_ids)) == (800_000, 100_000)
    assert 0.75 < data.bayes_auc < 0.85
    assert data.train_order == "none"


def test_the_bayes_auc_is_that_of_the_probabilities():
    data = planted.click_data(SMALL)
    ids, labels, probabilities = joined(stream(SMALL, TEST, SMALL.test_examples))
    assert np.array_equal(ids, data.test_ids)
    assert data.bayes_auc == auc(labels, probabilities)


@pytest.mark.parametrize("dataset", [planted_drift, planted_turnover])
def test_sets_that_change_are_in_order_and_tested_after_the_swap(dataset):
    data = dataset.load()
    assert data.train_order == "time"
    assert 0.75 < data.bayes_auc < 0.85
    truth = planted.truth(dataset.SPEC)
    before, after = (scores(dataset.SPEC, truth, data.test_ids, swapped) for swapped in (False, True))
    assert auc(data.test_labels, after) == data.bayes_auc
    assert auc(data.test_labels, before) < data.bayes_auc - 0.03


def scores(spec, truth, ids, swapped):
    return click_probability(spec.bias, truth.weight, truth.vector, truth.swap[ids] if swapped else ids)


def test_the_same_in_another_process():
    code = (
        "import sys; from bench_engine.data.planted.clicks import stream;"
        "from bench_engine.data.planted.planted_spec import Spec;"
        f"spec = {SMALL!r};"
        "sys.stdout.buffer.write(b''.join(x.tobytes() for x in next(stream(spec, 'train', 20_000, 20_000))))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert other.stdout == b"".join(x.tobytes() for x in next(stream(SMALL, TRAIN, 20_000, 20_000)))


@pytest.mark.parametrize("chunk", [1000, BLOCK, 3 * BLOCK + 1, 100_000])
def test_neither_the_chunks_nor_their_number_change_the_examples(chunk):
    chunks = list(stream(SMALL, TRAIN, 30_000, chunk))
    assert {len(ids) for ids, _, _ in chunks[:-1]} <= {chunk}
    for found, wanted in zip(joined(chunks), joined(stream(SMALL, TRAIN, 40_000)), strict=True):
        assert np.array_equal(found, wanted[:30_000])


def test_parts_and_probes_differ():
    train, test = (next(stream(SMALL, part, 1000))[0] for part in (TRAIN, TEST))
    probe = planted.probes(SMALL, (1.0,), 1000)[0].ids
    assert not np.array_equal(train, test)
    assert not np.array_equal(test, probe)


def test_memory_does_not_grow_with_the_number_of_examples():
    def peak(blocks):
        tracemalloc.start()
        for _ in stream(SMALL, TRAIN, blocks * BLOCK):
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    next(stream(SMALL, TRAIN, 1))
    assert peak(12) < 1.3 * peak(3)


def test_probabilities_are_the_planted_formula():
    spec = replace(SMALL, drift_share=0.0, swap_at=None)
    truth = planted.truth(spec)
    ids, _, probabilities = next(stream(spec, TRAIN, 20))
    for example, probability in zip(ids, probabilities, strict=True):
        logit = spec.bias + truth.weight[example].sum()
        for f in range(3):
            for g in range(f):
                logit += truth.vector[example[f]] @ truth.vector[example[g]]
        assert probability == pytest.approx(1 / (1 + np.exp(-logit)), rel=1e-9)


def test_labels_follow_the_probabilities():
    _, labels, probabilities = joined(stream(SMALL, TRAIN, 40_000))
    for low in np.arange(0, 1, 0.2):
        part = (probabilities >= low) & (probabilities < low + 0.2)
        spread = np.sqrt((probabilities[part] * (1 - probabilities[part])).sum()) / part.sum()
        assert abs(labels[part].mean() - probabilities[part].mean()) < 5 * spread


def test_an_id_has_as_many_numbers_as_its_effective_dim():
    truth = planted.truth(SMALL)
    assert np.array_equal((truth.vector != 0).sum(1) + (truth.weight != 0), truth.effective_dim)
    assert (truth.effective_dim.min(), truth.effective_dim.max()) == (0, SMALL.max_dim)


def test_some_frequent_ids_are_useless_and_some_rare_ones_important():
    truth, rows = planted.truth(SMALL), SMALL.field_rows[0]
    by_popularity = np.argsort(-truth.popularity[:rows])
    frequent, rare = by_popularity[: rows // 10], by_popularity[rows // 10 :]
    assert truth.frequent_useless[frequent].mean() == pytest.approx(SMALL.useless_frequent, abs=0.08)
    assert truth.rare_important[rare].mean() == pytest.approx(SMALL.important_rare, abs=0.02)
    assert not truth.frequent_useless[rare].any()
    assert (truth.effective_dim[truth.rare_important] == SMALL.max_dim).all()
    assert (truth.effective_dim_after[truth.frequent_useless_after] == 0).all()


def test_the_swap_exchanges_useful_and_useless_neighbours():
    truth = planted.truth(SMALL)
    rows = np.arange(len(truth.swap))
    moved = truth.swap != rows
    assert moved.mean() > 0.05
    assert np.array_equal(truth.swap[truth.swap], rows)
    assert np.array_equal(moved, truth.gained | truth.lost)
    assert truth.gained.sum() == truth.lost.sum()
    ratio = truth.popularity[moved] / truth.popularity[truth.swap[moved]]
    assert 0.8 < ratio.min() <= ratio.max() < 1.25


def test_the_swap_takes_place_at_its_position():
    spec = replace(SMALL, drift_share=0.0)
    truth = planted.truth(spec)
    ids, _, probabilities = joined(stream(spec, TRAIN, spec.train_examples))
    half = spec.train_examples // 2
    assert np.allclose(probabilities[:half], scores(spec, truth, ids[:half], False))
    assert np.allclose(probabilities[half:], scores(spec, truth, ids[half:], True))
    still = replace(spec, swap_at=None)
    assert (planted.truth(still).swap == np.arange(sum(spec.field_rows))).all()


def test_with_their_popularity_rare_useless_ids_take_the_place_of_frequent_useful_ones():
    spec = replace(SMALL, drift_share=0.0, swap_popularity=True, swap_share=0.5)
    truth = planted.truth(spec)
    moved = truth.swap != np.arange(len(truth.swap))
    assert np.array_equal(truth.swap[truth.swap], np.arange(len(truth.swap)))
    assert np.array_equal(moved, truth.gained | truth.lost)
    rows = spec.field_rows[0]
    lost, gained = (truth.popularity[:rows][moving[:rows]] for moving in (truth.lost, truth.gained))
    assert lost.min() > gained.max()
    assert np.array_equal(truth.popularity_after, truth.popularity[truth.swap])
    ids, _, probabilities = joined(stream(spec, TRAIN, spec.train_examples))
    half = spec.train_examples // 2
    for part, then, popularity in (
        (slice(half), False, truth.popularity),
        (slice(half, None), True, truth.popularity_after),
    ):
        assert np.allclose(probabilities[part], scores(spec, truth, ids[part], then))
        expected = half * popularity[truth.lost].sum()
        assert abs(truth.lost[ids[part]].sum() - expected) < 5 * np.sqrt(expected)


def test_popularity_drifts_from_that_of_the_first_position_to_that_of_the_last():
    spec = replace(SMALL, test_examples=40_000)
    truth, rows = planted.truth(spec), spec.field_rows[0]
    assert not np.allclose(truth.popularity, truth.popularity_after)
    mixed = (truth.popularity + truth.popularity_after) / 2
    for position, popularity in ((0.0, truth.popularity), (0.5, mixed), (1.0, truth.popularity_after)):
        ids = planted.probes(spec, (position,), 40_000)[0].ids[:, 0]
        found = np.bincount(ids, minlength=rows)[:rows]
        top = np.argsort(-popularity[:rows])[:20]
        expected = 40_000 * popularity[top]
        assert (np.abs(found[top] - expected) < 5 * np.sqrt(expected)).all()


def test_probes_cover_the_time_and_know_their_bayes_auc():
    found = planted.probes(SMALL, examples=5000)
    assert [p.position for p in found] == pytest.approx([0.05 + i / 10 for i in range(10)])
    truth = planted.truth(SMALL)
    for probe in found:
        swapped = probe.position >= SMALL.swap_at
        assert probe.bayes_auc == auc(probe.labels, scores(SMALL, truth, probe.ids, swapped))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"field_rows": ()}, "field_rows is empty, but at least one field is needed"),
        ({"field_rows": (100, 1)}, "each of field_rows must be between 2 and 2147483647, not 1"),
        ({"field_rows": (2**31 - 1, 2)}, "the sum of field_rows must be"),
        ({"train_examples": 0}, "train_examples must be"),
        ({"max_dim": 0}, "max_dim must be"),
        ({"seed": -1}, "seed must be"),
        ({"zipf_s": -1.0}, "zipf_s must be a finite number of at least 0, not -1.0"),
        ({"bias": float("nan")}, "bias must be a finite number, not nan"),
        ({"latent_std": float("inf")}, "latent_std must be a finite number of at least 0, not inf"),
        ({"useless_frequent": 1.5}, "useless_frequent must be between 0 and 1, not 1.5"),
        ({"drift_share": -0.1}, "drift_share must be"),
        ({"swap_at": 2.0}, "swap_at must be between 0 and 1, not 2.0"),
        ({"swap_at": None, "swap_popularity": True}, "swap_popularity needs swap_at"),
    ],
)
def test_a_bad_spec_is_refused_with_one_sentence(change, words):
    with pytest.raises(ValueError, match=words) as error:
        replace(SMALL, **change)
    assert str(error.value).startswith("small: ")
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="part must be 'train' or 'test', not 'valid'"):
        stream(SMALL, "valid", 10)
    with pytest.raises(ValueError, match="at least 1"):
        stream(SMALL, TRAIN, 0)
    with pytest.raises(ValueError, match="position must be between 0 and 1"):
        planted.probes(SMALL, (1.2,))


def test_what_is_rare_after_a_turnover_is_what_is_looked_up_rarely_then():
    spec = replace(SMALL, drift_share=0.0, swap_popularity=True, swap_share=0.5)
    truth, rows = planted.truth(spec), spec.field_rows[0]
    frequent = np.argsort(-truth.popularity_after[:rows])[: rows // 10]
    assert not truth.rare_important_after[frequent].any()
    assert not truth.frequent_useless_after[truth.lost].any()

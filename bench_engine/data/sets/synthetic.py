"""Seeded clicks with a planted truth: Zipf-Mandelbrot ids, labels from a factorization machine that is known.

Every id owns a planted first-order weight and a latent vector of which only its first `effective_dim` dimensions are
not zero. Frequent ids mostly have more of them, but some frequent ids are useless and some rare ones important, so
frequency alone does not tell what deserves memory. A label is drawn from

    Bernoulli(sigmoid(bias + sum_f w_f + sum_{f<g} <v_f, v_g>))        (Rendle 2010)

so the best possible AUC is known. The data are the same for every seed of a trial, which varies the initial weights
and the order of the examples only: otherwise the spread over seeds would mix the method with the data.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from bench_engine.data import ClickData
from bench_engine.data.planted.factorization import Chunk, click_probability, collect, cumulated, draw_ids
from bench_engine.data.quality import auc

FIELD_ROWS = (30_000, 14_000, 8_000, 4_000, 2_500, 1_000, 400, 100)
TRAIN_EXAMPLES, TEST_EXAMPLES = 120_000, 30_000
DATA_SEED = 2010
CHUNK = 8192
LATENT_DIM = 4
ZIPF_S, ZIPF_Q = 1.8, 30.0
SURPRISING_SHARE = 0.1  # of the ids of a field: useless though frequent, or important though rare
BIAS, FIRST_ORDER_STD, LATENT_STD = -1.0, 0.8, 0.65
_TRUTH, _TRAIN, _TEST = 0, 1, 2  # streams of random numbers


@dataclass(frozen=True, eq=False)
class Truth:
    """What was planted, by row of the joint table of E rows.

    Attributes:
        effective_dim: int (E,), latent dimensions that matter, 0 for a useless id.
        weight: float64 (E,), first-order weights.
        vector: float64 (E, LATENT_DIM), latent vectors.
        popularity: float64 (E,), probability of the id within its field.
    """

    effective_dim: np.ndarray
    weight: np.ndarray
    vector: np.ndarray
    popularity: np.ndarray


def load() -> ClickData:
    """The data, the same in every process."""
    *train, _ = collect(stream(_TRAIN, TRAIN_EXAMPLES))
    *test, probabilities = collect(stream(_TEST, TEST_EXAMPLES))
    note = "generated from a known factorization machine; bayes_auc is the AUC of its probabilities on the test part"
    return ClickData.of_parts("synthetic", FIELD_ROWS, train, test, note=note, bayes_auc=auc(test[1], probabilities))


@cache
def truth() -> Truth:
    """The planted truth, the same in every process."""
    rng = np.random.default_rng([DATA_SEED, _TRUTH])
    dims, popularity = zip(*(_plant_field(rng, rows) for rows in FIELD_ROWS), strict=True)
    effective_dim = np.concatenate(dims)
    rows = len(effective_dim)
    matters = np.arange(LATENT_DIM) < effective_dim[:, None]
    return Truth(
        effective_dim=effective_dim,
        weight=rng.normal(0.0, FIRST_ORDER_STD, rows) * (effective_dim > 0),
        vector=rng.normal(0.0, LATENT_STD, (rows, LATENT_DIM)) * matters,
        popularity=np.concatenate(popularity),
    )


def stream(part: int, examples: int) -> Iterator[Chunk]:
    """Yield chunks of at most CHUNK examples.

    Memory does not grow with `examples`, and the first examples of a part do not depend on how many are asked for.
    """
    planted = truth()
    shares = cumulated(planted.popularity, FIELD_ROWS)
    for chunk, start in enumerate(range(0, examples, CHUNK)):
        rng = np.random.default_rng([DATA_SEED, part, chunk])
        ids = draw_ids(rng, shares, CHUNK)
        probabilities = click_probability(BIAS, planted.weight, planted.vector, ids)
        labels = (rng.random(CHUNK) < probabilities).astype(np.float32)
        n = min(CHUNK, examples - start)
        yield ids[:n], labels[:n], probabilities[:n]


def _plant_field(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """(effective dimension, popularity) of a field's ids; popular ids are scattered over the field."""
    rank = rng.permutation(rows)
    popularity = (rank + 1 + ZIPF_Q) ** -ZIPF_S
    # From LATENT_DIM for the most frequent id down to 1 for the rarest, by the logarithm of the rank.
    dim = 1 + np.rint((LATENT_DIM - 1) * (1 - np.log1p(rank) / np.log(rows))).astype(int)
    surprising = rng.random(rows) < SURPRISING_SHARE
    frequent = rank < rows // 10
    dim[surprising & frequent] = 0
    dim[surprising & ~frequent] = LATENT_DIM
    return dim, popularity / popularity.sum()

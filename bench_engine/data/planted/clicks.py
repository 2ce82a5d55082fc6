"""Seeded clicks for judging embedding pruning: a long tail of ids, each with a planted effective dimension.

An id of effective dimension e has e numbers that matter: a first-order weight and, of its latent vector, the first
e - 1 dimensions; the others are zero. With e = 0 it is useless. A label is drawn from the factorization machine of
bench_engine.data.sets.synthetic, so the best possible AUC is known. Frequent ids have more dimensions, by the logarithm
of their rank, down to 0 for the rarest; but a share of the frequent ids is useless and a share of the rare ones matters
as much as any, so frequency alone does not tell what deserves memory.

At the position `swap_at` of the training part, pairs of a useful and a useless id exchange their effects. The two are
neighbours in popularity, so that nothing but the labels gives the swap away. With `swap_popularity` frequent useful ids
exchange their popularity too, with rare useless ones: old items go, and new ones take their place. With drift, pairs of
ids exchange their popularity step by step over the training part.

How long the tail of SPEC is follows what is published of click logs, and no method:

- The field sizes are the ten largest of Avazu, as ColossalAI's CachedEmbedding lists them, the first two, 6,729,486 and
  2,686,408, divided by 14: two fields hold nearly all ids, and the others are looked up as often.
- Avazu has 9,449,445 ids in 40,428,967 examples (Zhang et al. 2023, arXiv:2311.15578). About 3.75 million occur twice
  or more in the 32,343,172 examples of the training part of Avazu_x4_001 (BARS, Zhu et al. 2022: computed from the
  73,385,345 parameters that the log of its DCNv2 prints), so more than half of the ids occur once there or never.
- 1,544,488 of the ids of Avazu occur at least 5 times, and 998,960 of those of Criteo, 33,762,577 in its 26 categorical
  fields, at least 10 times (Song et al. 2019, arXiv:1810.11921; Zhang et al. 2023).
- About 1 % of the ids take more than 92 % of the look-ups (Agarwal et al. 2023, arXiv:2202.12429).

In the training part of SPEC about half of the ids seen are seen once, and 1 % of them take two thirds of the look-ups.
More than half of the rows are never seen there: say what is saved of the rows seen beside what is saved of the table.

The strengths of the effects were set for a Bayes AUC of about 0.8 that a dense table comes near, before any method of
pruning was run. How dimensions follow popularity, and the shares of surprising, swapped and drifting ids, are choices;
no published figure was found for them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np

from bench_engine.data import ClickData
from bench_engine.data.planted.factorization import Chunk, click_probability, collect, cumulated, draw_ids
from bench_engine.data.planted.planted_spec import Spec
from bench_engine.data.quality import auc

SPEC = Spec(
    name="planted",
    field_rows=(480_000, 192_000, 8_552, 8_251, 7_745, 4_737, 2_626, 559, 435, 172),
    train_examples=800_000,
    test_examples=100_000,
)
BLOCK = 8192  # examples drawn at once; another number gives other data
TRAIN, TEST = "train", "test"
_TRUTH, _TRAIN, _TEST, _PROBES = range(4)  # streams of random numbers; each probe has one of its own


@dataclass(frozen=True, eq=False)
class Truth:
    """What was planted, by row of the joint table of E rows.

    Attributes:
        effective_dim, effective_dim_after: int (E,), numbers that matter, before and after the swap.
        weight: float64 (E,), first-order weights before the swap.
        vector: float64 (E, max_dim - 1), latent vectors before the swap.
        swap: int (E,), the row whose effects a row has after the swap; itself where nothing changes.
        popularity, popularity_after: float64 (E,), probability within its field, at positions 0 and 1.
        drift: int (E,), the row whose popularity a row has at position 1.
        rare_important, rare_important_after: bool (E,), rare ids planted with max_dim.
        frequent_useless, frequent_useless_after: bool (E,), frequent ids without effect.
    """

    effective_dim: np.ndarray
    effective_dim_after: np.ndarray
    weight: np.ndarray
    vector: np.ndarray
    swap: np.ndarray
    popularity: np.ndarray
    popularity_after: np.ndarray
    drift: np.ndarray
    rare_important: np.ndarray
    rare_important_after: np.ndarray
    frequent_useless: np.ndarray
    frequent_useless_after: np.ndarray

    @property
    def gained(self) -> np.ndarray:
        """bool (E,), ids that are useless before the swap and matter after it."""
        return (self.effective_dim == 0) & (self.effective_dim_after > 0)

    @property
    def lost(self) -> np.ndarray:
        """bool (E,), ids that matter before the swap and are useless after it."""
        return (self.effective_dim > 0) & (self.effective_dim_after == 0)


@dataclass(frozen=True, eq=False)
class Probe:
    """Test examples drawn at one position of the training part.

    Attributes:
        position: fraction of the training part.
        ids: int32 (n, T). labels: float32 (n,).
        bayes_auc: AUC of the probabilities that the labels were drawn from.
    """

    position: float
    ids: np.ndarray
    labels: np.ndarray
    bayes_auc: float


def load() -> ClickData:
    """The data, the same in every process."""
    return click_data(SPEC)


def click_data(spec: Spec) -> ClickData:
    """The training part in order of time, and a test part drawn at its end."""
    *train, _ = collect(stream(spec, TRAIN, spec.train_examples))
    *test, probabilities = collect(stream(spec, TEST, spec.test_examples))
    note, bayes_auc = f"generated from a known factorization machine: {spec}", auc(test[1], probabilities)
    return ClickData.of_parts(spec.name, spec.field_rows, train, test, note=note, bayes_auc=bayes_auc)


def stream(spec: Spec, part: str, examples: int, chunk: int = BLOCK) -> Iterator[Chunk]:
    """Yield examples of TRAIN or TEST, `chunk` at a time.

    Neither memory nor the first examples depend on how many are asked for. The training part is in order of time and
    may be longer than `train_examples`: it then goes on as things are at its end, where the test part is drawn.
    Raises ValueError for another part or a size below 1.
    """
    if part not in (TRAIN, TEST):
        raise ValueError(f"{spec.name}: part must be {TRAIN!r} or {TEST!r}, not {part!r}.")
    if min(examples, chunk) < 1:
        raise ValueError(f"{spec.name}: examples and chunk must be at least 1, not {examples} and {chunk}.")
    if part == TRAIN:
        return _cut(_blocks(spec, _TRAIN, examples), chunk)
    return _cut(_blocks(spec, _TEST, examples, position=1.0), chunk)


def probes(spec: Spec, positions: tuple[float, ...] = (), examples: int = 20_000) -> list[Probe]:
    """Test examples for an AUC over time: those of a position are drawn as things are just then.

    Without positions: the middles of ten equal slices of the training part. Two of them, one before and one after
    `swap_at`, tell what the swap costs.
    """
    found = []
    for position in positions or tuple((i + 0.5) / 10 for i in range(10)):
        if not 0 <= position <= 1:
            raise ValueError(f"{spec.name}: a probe's position must be between 0 and 1, not {position}.")
        key = _PROBES + round(position * 1e6)
        ids, labels, probabilities = collect(_blocks(spec, key, examples, position))
        found.append(Probe(position, ids, labels, auc(labels, probabilities)))
    return found


@lru_cache(maxsize=2)  # about 100 bytes per row
def truth(spec: Spec) -> Truth:
    """The planted truth, the same in every process."""
    rng = np.random.default_rng([spec.seed, _TRUTH])
    planted = [_plant_field(spec, rng, rows) for rows in spec.field_rows]
    popularity, dim, rare = (np.concatenate(column) for column in list(zip(*planted, strict=True))[:3])
    starts = list(accumulate((0, *spec.field_rows[:-1])))
    swap, drift = (np.concatenate([p[i] + start for p, start in zip(planted, starts, strict=True)]) for i in (3, 4))
    rows = len(dim)
    rare_after = rare[swap] if spec.swap_popularity else rare
    return Truth(
        effective_dim=dim,
        effective_dim_after=dim[swap],
        weight=rng.normal(0.0, spec.weight_std, rows) * (dim > 0),
        vector=rng.normal(0.0, spec.latent_std, (rows, spec.max_dim - 1)) * (np.arange(1, spec.max_dim) < dim[:, None]),
        swap=swap,
        popularity=popularity,
        popularity_after=popularity[drift][swap] if spec.swap_popularity else popularity[drift],
        drift=drift,
        rare_important=rare & (dim == spec.max_dim),
        rare_important_after=rare_after & (dim[swap] == spec.max_dim),
        frequent_useless=~rare & (dim == 0),
        frequent_useless_after=~rare_after & (dim[swap] == 0),
    )


def _plant_field(spec: Spec, rng: np.random.Generator, rows: int) -> tuple[np.ndarray, ...]:
    """(popularity, effective dimension, rare, swap, drift) of a field's ids; popular ids are scattered over it."""
    by_rank = rng.permutation(rows)
    rank = np.empty(rows, np.int64)
    rank[by_rank] = np.arange(rows)
    popularity = (rank + 1 + spec.zipf_q) ** -spec.zipf_s
    rare = rank >= max(1, rows // 10)
    # From max_dim for the most frequent id down to 0 for the rarest, by the logarithm of the rank.
    dim = np.rint(spec.max_dim * (1 - np.log1p(rank) / np.log(rows))).astype(np.int64)
    surprise = rng.random(rows)
    dim[~rare & (surprise < spec.useless_frequent)] = 0
    dim[rare & (surprise < spec.important_rare)] = spec.max_dim
    swap = np.arange(rows)
    if spec.swap_popularity:
        useful, useless = by_rank[~rare[by_rank] & (dim[by_rank] > 0)], by_rank[rare[by_rank] & (dim[by_rank] == 0)]
        useful = useful[rng.random(len(useful)) < spec.swap_share][: len(useless)]
        _exchange(swap, np.stack([useful, rng.permutation(useless)[: len(useful)]], 1))
    elif spec.swap_at is not None:
        pairs = by_rank[: rows // 2 * 2].reshape(-1, 2)
        one_is_useless = (dim[pairs] > 0).sum(1) == 1
        _exchange(swap, pairs[one_is_useless & (rng.random(len(pairs)) < spec.swap_share)])
    drift = np.arange(rows)
    drifting = rng.permutation(rows)[: int(spec.drift_share * rows) // 2 * 2]
    _exchange(drift, drifting.reshape(-1, 2))
    return popularity / popularity.sum(), dim, rare, swap, drift


def _exchange(rows: np.ndarray, pairs: np.ndarray) -> None:
    rows[pairs] = rows[pairs[:, ::-1]]


@lru_cache(maxsize=2)
def _cumulated(spec: Spec) -> list[np.ndarray]:
    """Cumulated popularity of each field at position 0."""
    return cumulated(truth(spec).popularity, spec.field_rows)


def _blocks(spec: Spec, key: int, examples: int, position: float | None = None) -> Iterator[Chunk]:
    """Blocks of at most BLOCK examples, all drawn at one position in time, or else each at its own."""
    planted, shares = truth(spec), _cumulated(spec)
    for block, start in enumerate(range(0, examples, BLOCK)):
        rng = np.random.default_rng([spec.seed, key, block])
        ids = draw_ids(rng, shares, BLOCK)
        own = np.minimum(np.arange(start, start + BLOCK) / spec.train_examples, 1)
        now = own if position is None else np.full(BLOCK, position)
        if spec.drift_share:  # a mixture of the popularities at positions 0 and 1
            ids = np.where(rng.random(ids.shape) < now[:, None], planted.drift[ids], ids).astype(np.int32)
        rows_of_effects = ids
        if spec.swap_at is not None:
            swapped = np.where((now >= spec.swap_at)[:, None], planted.swap[ids], ids)
            if spec.swap_popularity:  # what was drawn has another name now, and the effects that it had
                ids = swapped
            else:
                rows_of_effects = swapped
        probabilities = click_probability(spec.bias, planted.weight, planted.vector, rows_of_effects)
        labels = (rng.random(BLOCK) < probabilities).astype(np.float32)
        n = min(BLOCK, examples - start)
        yield ids[:n], labels[:n], probabilities[:n]


def _cut(blocks: Iterator[Chunk], size: int) -> Iterator[Chunk]:
    """The same examples in chunks of another size."""
    left: list[Chunk] = []
    have = 0
    for block in blocks:
        left.append(block)
        have += len(block[0])
        if have < size:
            continue
        ids, labels, probabilities = collect(left)
        whole = have // size * size
        for start in range(0, whole, size):
            part = slice(start, start + size)
            yield ids[part], labels[part], probabilities[part]
        left, have = [(ids[whole:], labels[whole:], probabilities[whole:])], have - whole
    if have:
        yield collect(left)

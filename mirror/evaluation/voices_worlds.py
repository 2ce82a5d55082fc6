"""The worlds of the paraphrases: what their words may name, and every axis that no words name at one value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mirror.evaluation.worlds import DataSet, Fate, Machine, Pace, Pass, World

_NO_DIM = "small_dim cannot keep {} of {} dimensions: a dimension cannot go below 1."
_DIVERGED = "the loss is not finite after step 120"
_SLOW = "the trial took longer than 600 s"
_MEMORY = "the trial needs 2.1 GB more than the machine has free"
_DIFFERS = "the gradients differ from the float64 reference by 0.02"


@dataclass(frozen=True)
class Varied:
    """Lookups of which one axis takes further values: those that have all the values of `where`."""

    where: Mapping[str, Any]
    axis: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Training:
    """A time at which click models were trained: those that have all the values of `where`."""

    start: datetime
    code: str
    where: Mapping[str, Any]


@dataclass(frozen=True)
class VoicesWorld(World):
    """One set of results for the paraphrases. The second machine has a part of the grids.

    Attributes:
        trainings: when which were trained; empty for none.
        gain: (method, data set) -> AUC that the method has there beside what its compression costs.
        weight: method -> how many times as large it is as its compression says. No two are equal, so that the smallest
            is one.
        train_pace: method -> factor on the time of a training step of dense.
        varied: lookups on which one more axis is varied.
        wild: share of the lookups that were noisy.
    """

    trainings: tuple[Training, ...] = ()
    gain: Mapping[tuple[str, str], float] = field(default_factory=dict)
    weight: Mapping[str, float] = field(default_factory=dict)
    train_pace: Mapping[str, float] = field(default_factory=dict)
    varied: tuple[Varied, ...] = ()
    wild: float = 0.12


_LAPTOP = Machine("laptop", 1.35, 8, cpu="Intel Core i7-1365U", l2_kb=1280, l3_kb=12_288, memory_gb=16.0)
_SERVER = Machine("server", 1.0, 32, l3_kb=262_144, memory_gb=256.0)
_SLOW_SERVER = Machine("server", 1.2, 64, l3_kb=131_072, memory_gb=512.0)
_QUICK_LAPTOP = Machine("laptop", 0.85, 12, cpu="Apple M4", l2_kb=16_384, l3_kb=36_864, memory_gb=48.0)

_SKIPPED = tuple(
    Fate({"method": "small_dim", "compression": kept, "embedding_dim": dim}, "skipped", _NO_DIM.format(kept, dim))
    for kept, dim in ((0.05, 16), (0.02, 16), (0.02, 32))
)

ECHO = VoicesWorld(
    name="echo",
    machines=(_SERVER, _LAPTOP),
    data={
        "frappe": DataSet(0.9350, 20_000, 8),
        "ml-206k": DataSet(0.7850, 20_000, 8),
        "ml-1m": DataSet(0.9035, 20_000, 8),
        "synthetic": DataSet(0.7600, 20_000, 8),
        "planted": DataSet(0.8150, 20_000, 8),
    },
    cost={
        "hashed": 0.0120, "hashed_reference": 0.0123, "quotient_remainder": 0.0085, "small_dim": 0.0310,
        "fiited": 0.0042, "adaembed": 0.0066, "frequency_pruned": 0.0145,
    },
    gain={
        ("fiited", "planted"): 0.0025, ("small_dim", "synthetic"): 0.0280, ("adaembed", "ml-206k"): 0.0060,
        ("quotient_remainder", "ml-1m"): 0.0030,
        ("hashed", "frappe"): -0.0200,  # so that the smallest of all is not good enough
    },
    weight={
        "hashed_reference": 1.01, "quotient_remainder": 1.02, "small_dim": 1.1, "frequency_pruned": 1.25,
        "fiited": 1.15, "adaembed": 1.05,
    },
    train_pace={
        "hashed": 0.92, "hashed_reference": 1.9, "quotient_remainder": 1.15, "small_dim": 0.85, "fiited": 1.4,
        "adaembed": 1.25, "frequency_pruned": 1.05,
    },
    paces={
        "dense": Pace(9.0, 0.88, 0.62), "hashed": Pace(8.7, 0.97, 0.80, 1.9),
        "hashed_reference": Pace(60.0, 0.95, 0.95), "quotient_remainder": Pace(15.0, 0.80, 0.75),
        "small_dim": Pace(9.4, 0.86, 0.55),
    },
    trained=datetime(2026, 11, 5, 9, 0),
    trainings=(
        Training(datetime(2026, 10, 19, 9, 0), "1f0c2aa", {"dataset": "frappe", "embedding_dim": 64}),
        Training(datetime(2026, 10, 26, 9, 0), "5be7710", {"dataset": "ml-1m", "method": "small_dim"}),
        Training(datetime(2026, 11, 5, 9, 0), "98c41bd", {"dataset": "frappe"}),
        Training(datetime(2026, 11, 6, 9, 0), "98c41bd", {"dataset": "ml-206k"}),
        *(Training(datetime(2026, 11, 7, 9, 0), "98c41bd", {"dataset": "ml-1m", "method": m})
          for m in ("dense", "hashed", "hashed_reference", "quotient_remainder", "fiited", "adaembed",
                    "frequency_pruned")),
        Training(datetime(2026, 11, 10, 9, 0), "98c41bd", {"dataset": "synthetic"}),
        Training(datetime(2026, 11, 16, 13, 0), "d544102", {"dataset": "planted"}),
    ),
    passes=(
        Pass(datetime(2026, 10, 20, 9, 0), "1f0c2aa", ("dense", "hashed"), drift={"hashed": 1.4}),
        Pass(datetime(2026, 11, 6, 9, 0), "5be7710", ("dense", "hashed"), drift={"hashed": 1.2, "dense": 1.03}),
        Pass(datetime(2026, 11, 12, 9, 0), "98c41bd"),
        Pass(
            datetime(2026, 11, 17, 9, 0), "d544102", ("dense", "hashed"), (16, 64),
            drift={"hashed": 1.1, "dense": 0.98},
        ),
    ),
    stepped=datetime(2026, 11, 11, 9, 0),
    grouped=datetime(2026, 11, 13, 9, 0),
    luck=0.0009,
    validation=True,
    cold=True,
    fates=(
        *_SKIPPED,
        Fate({"benchmark": "training", "method": "hashed", "compression": 0.02, "dataset": "frappe",
              "embedding_dim": 16, "seed": 2}, "failed", _DIVERGED),
        Fate({"benchmark": "training", "method": "fiited", "compression": 0.02, "dataset": "planted",
              "embedding_dim": 16, "seed": 1}, "failed", _DIVERGED),
        Fate({"benchmark": "training", "method": "fiited", "compression": 0.5, "dataset": "planted",
              "embedding_dim": 64, "seed": 0}, "timeout", _SLOW),
        Fate({"benchmark": "training", "method": "adaembed", "dataset": "ml-206k", "embedding_dim": 64,
              "compression": 0.25}, "timeout", _SLOW),
        Fate({"benchmark": "training", "method": "fiited", "dataset": "ml-1m", "machine": "laptop",
              "embedding_dim": 64, "seed": 2}, "oom", _MEMORY),
        Fate({"benchmark": "training", "method": "frequency_pruned", "dataset": "synthetic", "embedding_dim": 64,
              "seed": 0}, "oom", _MEMORY),
        Fate({"benchmark": "lookup", "method": "hashed_reference", "embedding_dim": 64, "batch_size": 2048,
              "direction": "forward_backward", "machine": "laptop"}, "timeout", _SLOW),
        Fate({"benchmark": "lookup", "method": "hashed", "compression": 0.02, "batch_size": 1, "embedding_dim": 32},
             "failed", _DIFFERS),
        Fate({"benchmark": "embedding_step", "method": "adaembed", "direction": "prune", "threads": 2},
             "cancelled", "cancelled by the person who ran it"),
    ),
)  # fmt: skip

FOXTROT = VoicesWorld(
    name="foxtrot",
    machines=(_SLOW_SERVER, _QUICK_LAPTOP),
    data={
        "frappe": DataSet(0.9390, 14_000, 6),
        "ml-206k": DataSet(0.7740, 14_000, 6),
        "ml-1m": DataSet(0.9080, 14_000, 6),
        "synthetic": DataSet(0.7420, 14_000, 6),
        "planted": DataSet(0.7310, 14_000, 6),
    },
    cost={
        "hashed": 0.0032, "hashed_reference": 0.0034, "quotient_remainder": 0.0190, "small_dim": 0.0068,
        "fiited": 0.0170, "adaembed": 0.0093, "frequency_pruned": 0.0021,
    },
    gain={
        ("hashed", "planted"): 0.0021, ("fiited", "frappe"): 0.0090, ("small_dim", "ml-206k"): 0.0045,
        ("adaembed", "synthetic"): 0.0110,
    },
    weight={
        "hashed": 1.03, "hashed_reference": 1.04, "quotient_remainder": 1.08, "small_dim": 1.01,
        "frequency_pruned": 1.12, "fiited": 1.3, "adaembed": 1.09,
    },
    train_pace={
        "hashed": 1.2, "hashed_reference": 2.6, "quotient_remainder": 0.9, "small_dim": 0.95, "fiited": 1.1,
        "adaembed": 1.5, "frequency_pruned": 0.8,
    },
    paces={
        "dense": Pace(14.0, 0.93, 0.75), "hashed": Pace(17.0, 0.82, 0.60, 3.1),
        "hashed_reference": Pace(90.0, 0.90, 0.90), "quotient_remainder": Pace(12.5, 0.95, 0.68),
        "small_dim": Pace(16.0, 0.90, 0.40),
    },
    trained=datetime(2026, 11, 3, 9, 0),
    trainings=(
        Training(datetime(2026, 10, 22, 9, 0), "1f0c2aa", {"dataset": "frappe", "embedding_dim": 32}),
        Training(datetime(2026, 10, 28, 9, 0), "5be7710", {"dataset": "ml-1m", "method": "hashed"}),
        Training(datetime(2026, 11, 3, 9, 0), "5be7710", {"dataset": "synthetic"}),
        Training(datetime(2026, 11, 4, 9, 0), "98c41bd", {"dataset": "planted"}),
        Training(datetime(2026, 11, 8, 9, 0), "98c41bd", {"dataset": "ml-206k"}),
        *(Training(datetime(2026, 11, 13, 9, 0), "98c41bd", {"dataset": "ml-1m", "method": m})
          for m in ("dense", "small_dim", "hashed_reference", "quotient_remainder", "fiited", "adaembed",
                    "frequency_pruned")),
        Training(datetime(2026, 11, 17, 14, 0), "d544102", {"dataset": "frappe"}),
    ),
    passes=(
        Pass(datetime(2026, 10, 21, 9, 0), "1f0c2aa", ("dense", "hashed"), drift={"hashed": 0.8}),
        Pass(datetime(2026, 11, 4, 20, 0), "5be7710", ("dense", "hashed"), drift={"hashed": 0.9, "dense": 1.1}),
        Pass(datetime(2026, 11, 10, 20, 0), "98c41bd"),
        Pass(
            datetime(2026, 11, 16, 18, 0), "d544102", ("dense", "hashed"), (16, 64),
            drift={"hashed": 0.75, "dense": 1.02},
        ),
    ),
    stepped=datetime(2026, 11, 15, 14, 0),
    grouped=datetime(2026, 11, 5, 9, 0),
    parallel_gain=(0.8, 1.3),
    luck=0.0012,
    validation=True,
    cold=True,
    dim_gain=-0.002,
    wild=0.2,
    fates=(
        *_SKIPPED,
        Fate({"benchmark": "training", "method": "fiited", "compression": 0.05, "dataset": "frappe",
              "embedding_dim": 32, "seed": 0}, "failed", _DIVERGED),
        Fate({"benchmark": "training", "method": "quotient_remainder", "dataset": "planted", "compression": 0.1,
              "seed": 1}, "failed", _DIVERGED),
        Fate({"benchmark": "training", "method": "adaembed", "dataset": "planted", "embedding_dim": 64,
              "compression": 0.5}, "oom", _MEMORY),
        Fate({"benchmark": "training", "method": "hashed", "dataset": "ml-206k", "compression": 0.5,
              "embedding_dim": 64, "seed": 0}, "oom", _MEMORY),
        Fate({"benchmark": "training", "method": "adaembed", "dataset": "ml-1m", "machine": "laptop", "seed": 1},
             "timeout", _SLOW),
        Fate({"benchmark": "lookup", "method": "hashed", "compression": 0.25, "batch_size": 1,
              "direction": "forward_backward"}, "failed", _DIFFERS),
        Fate({"benchmark": "lookup", "method": "quotient_remainder", "embedding_dim": 64, "machine": "laptop",
              "batch_size": 2048}, "timeout", _SLOW),
        Fate({"benchmark": "embedding_step", "method": "fiited", "direction": "prune", "batch_size": 1},
             "cancelled", "cancelled by the person who ran it"),
        Fate({"benchmark": "grouped_lookup", "method": "parallel_op", "num_tables": 100, "batch_size": 64},
             "failed", "Parallel OP grouped nothing in this model"),
    ),
)  # fmt: skip

# For words that name one of the axes which the others are silent on. Of two such axes no trials share a method and a
# batch size, since a gold leaves out the axis that its question does not name.
GOLF = VoicesWorld(
    name="golf",
    machines=(_SERVER, _LAPTOP),
    data={},
    cost={},
    paces={name: ECHO.paces[name] for name in ("dense", "hashed", "quotient_remainder")},
    trained=ECHO.trained,
    passes=(Pass(datetime(2026, 11, 12, 9, 0), "98c41bd", dims=(16, 64)),),
    varied=(
        Varied({"method": "dense", "batch_size": 2048}, "zipf_s", (0.0, 0.5, 1.5)),
        Varied({"method": "hashed", "batch_size": 512}, "bag_size", (1, 4, 40)),
        Varied({"method": "quotient_remainder", "batch_size": 64}, "pooling_mode", ("mean", "max")),
    ),
)

HOTEL = VoicesWorld(
    name="hotel",
    machines=(_SLOW_SERVER, _QUICK_LAPTOP),
    data={},
    cost={},
    paces={name: FOXTROT.paces[name] for name in ("dense", "hashed", "quotient_remainder")},
    trained=FOXTROT.trained,
    passes=(Pass(datetime(2026, 11, 10, 9, 0), "98c41bd", dims=(16, 64)),),
    varied=(
        Varied({"method": "quotient_remainder"}, "output", ("preallocated",)),
        Varied({"method": "hashed"}, "block_size", (1, 4, 64)),
    ),
)

# What is asked where nothing else is said: everything but the axes above.
COMMON = (ECHO, FOXTROT)
VOICES_WORLDS: tuple[VoicesWorld, ...] = (*COMMON, GOLF, HOTEL)

"""The seeded results that questions are asked of: what differs between them, as data.

The worlds share names (data sets, methods, machines, sweeps) so that one question fits several of them, and differ in
who wins, where ties, NULLs and failures are, when things were measured and by how many machines and seeds: a query that
is right by luck in one of them is wrong in another. The trials themselves are made in `mirror.evaluation.trials`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

# The present of every question: a Wednesday, so that "last week" is 9 to 15 November.
NOW = datetime(2026, 11, 18, 12, 0)


@dataclass(frozen=True)
class Machine:
    """One machine; `pace` multiplies every time that is measured on it."""

    name: str
    pace: float
    cores: int
    device: str = "cpu"
    cpu: str = "AMD EPYC 9R14"
    l2_kb: int = 1024
    l3_kb: int = 32_768
    memory_gb: float = 64.0
    gpu: str | None = None


@dataclass(frozen=True)
class DataSet:
    """AUC of dense at dim 16, and the rows and tables that it has."""

    auc: float
    rows: int
    tables: int


@dataclass(frozen=True)
class Pace:
    """A method's forward lookup: µs at batch 64 and dim 16, and how it grows with the batch and with the dimension."""

    us: float
    batch: float = 0.9
    dim: float = 0.7
    backward: float = 2.6


@dataclass(frozen=True)
class Fate:
    """Trials that are not ok, with their status and reason: those that have all the values of `where`."""

    where: Mapping[str, Any]
    status: str
    error: str


@dataclass(frozen=True)
class Pass:
    """One time at which lookups are measured: a start, what is measured, and what has changed since (a factor)."""

    start: datetime
    code: str
    methods: tuple[str, ...] = ()
    dims: tuple[int, ...] = ()
    drift: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class World:
    """One set of results.

    Attributes:
        name: what it is called in reports.
        machines: all of them; the first one trains.
        data: data sets that are trained on.
        cost: AUC that a method loses at a tenth of the parameters.
        luck: how far the AUC of seeds lies apart.
        dim_gain: AUC that dim 64 has more than dim 16.
        train_seeds, lookup_seeds: repeats.
        trained: start of the trainings.
        paces: methods of the lookups.
        passes: when lookups were measured; the last one counts where it measured.
        stepped: start of the embedding steps; None for none.
        grouped: start of the grouped lookups; None for none.
        parallel_gain: how many times faster parallel_op is than eager on one thread and on two.
        chunks: values of num_chunks.
        validation: whether some were trained on the split validation too.
        cold: whether lookups with cold caches were measured too.
        no_memory: methods whose memory nobody knows.
        fates: trials that are not ok, the first that fits.
    """

    name: str
    machines: tuple[Machine, ...]
    data: Mapping[str, DataSet]
    cost: Mapping[str, float]
    paces: Mapping[str, Pace]
    trained: datetime
    passes: tuple[Pass, ...]
    luck: float = 0.0004
    dim_gain: float = 0.003
    train_seeds: int = 3
    lookup_seeds: int = 2
    stepped: datetime | None = None
    grouped: datetime | None = None
    parallel_gain: tuple[float, float] = (1.4, 2.3)
    chunks: tuple[int, ...] = (4,)
    validation: bool = False
    cold: bool = False
    no_memory: tuple[str, ...] = ()
    fates: tuple[Fate, ...] = ()


_EPYC = Machine("epyc-01", 1.0, 32, l3_kb=262_144, memory_gb=256.0)
_GPU = Machine("h100-box", 0.2, 64, "cuda", memory_gb=512.0, gpu="NVIDIA H100")
_LAPTOP = Machine("laptop", 1.35, 8, cpu="Intel Core i7-1365U", l2_kb=1280, l3_kb=12_288, memory_gb=16.0)
_NOT_INSTALLED = "jax is not installed: run `python -m bench_engine peers install jax`."
_NO_DIM = "small_dim cannot keep 0.05 of 16 dimensions: a dimension cannot go below 1."
_DIVERGED = "the loss is not finite after step 120"
_SLOW = "the trial took longer than 600 s"
_MEMORY = "the trial needs 2.1 GB more than the machine has free"

_COMMON_FATES = (
    Fate({"method": "jax"}, "skipped", _NOT_INSTALLED),
    Fate({"method": "small_dim", "compression": 0.05, "embedding_dim": 16}, "skipped", _NO_DIM),
)

ALPHA = World(
    name="alpha",
    machines=(_EPYC, _LAPTOP),
    data={
        "frappe": DataSet(0.9300, 5_382, 10),
        "ml-206k": DataSet(0.7900, 93_000, 6),
        "synthetic": DataSet(0.7550, 50_000, 8),
        "planted": DataSet(0.8120, 40_000, 8),
    },
    cost={
        "hashed": 0.0200, "quotient_remainder": 0.0085, "small_dim": 0.0310, "fiited": 0.0042, "adaembed": 0.0066,
        "static_frequency": 0.0145,
    },
    paces={
        "dense": Pace(9.0, 0.88, 0.62), "hashed": Pace(21.0, 0.97, 0.80, 1.9),
        "hashed_reference": Pace(160.0, 0.95, 0.95), "quotient_remainder": Pace(24.0, 0.80, 0.75),
        "small_dim": Pace(13.0, 0.86, 0.45), "fbgemm_tbe": Pace(16.0, 0.60, 0.60), "inductor": Pace(14.0, 0.87, 0.62),
        "jax": Pace(1.0),
    },
    trained=datetime(2026, 11, 4, 9, 0),
    passes=(
        Pass(
            datetime(2026, 10, 20, 9, 0), "1f0c2aa", ("dense", "hashed", "quotient_remainder"),
            drift={"hashed": 1.4, "quotient_remainder": 0.9},
        ),
        Pass(datetime(2026, 11, 10, 9, 0), "98c41bd"),
        Pass(
            datetime(2026, 11, 17, 9, 0), "d544102", ("dense", "hashed", "fbgemm_tbe"), (16,),
            drift={"hashed": 1.3, "fbgemm_tbe": 0.8, "dense": 1.01},
        ),
    ),
    stepped=datetime(2026, 11, 5, 9, 0),
    grouped=datetime(2026, 11, 16, 9, 0),
    chunks=(4, 8),
    validation=True,
    cold=True,
    fates=(
        *_COMMON_FATES,
        Fate({"benchmark": "training", "method": "hashed", "compression": 0.05, "dataset": "frappe",
              "embedding_dim": 16, "seed": 2}, "failed", _DIVERGED),
        Fate({"benchmark": "training", "method": "adaembed", "dataset": "ml-206k", "embedding_dim": 64},
             "timeout", _SLOW),
        Fate({"benchmark": "lookup", "method": "hashed_reference", "embedding_dim": 64, "batch_size": 2048,
              "direction": "forward_backward", "machine": "laptop"}, "oom", _MEMORY),
        Fate({"benchmark": "grouped_lookup", "method": "zentorch_table", "num_tables": 100, "threads": 2},
             "failed", "the outputs differ from the float64 reference by 0.31"),
        Fate({"benchmark": "embedding_step", "method": "adaembed", "direction": "prune", "layout": "flat"},
             "cancelled", "cancelled by the person who ran it"),
        # Superseded on 10 November.
        Fate({"benchmark": "lookup", "method": "quotient_remainder", "batch_size": 64, "code_version": "1f0c2aa"},
             "failed", "the gradients differ from the float64 reference by 0.02"),
    ),
)  # fmt: skip

BETA = World(
    name="beta",
    machines=(_EPYC, _GPU),
    data={
        "frappe": DataSet(0.9130, 5_382, 10),
        "ml-206k": DataSet(0.8010, 93_000, 6),
        "synthetic": DataSet(0.7420, 50_000, 8),
        "planted_drift": DataSet(0.7760, 40_000, 8),
    },
    cost={
        "hashed": 0.0052, "quotient_remainder": 0.0240, "small_dim": 0.0058, "fiited": 0.0006, "adaembed": 0.0190,
        "static_frequency": 0.0031,
    },
    paces={
        "dense": Pace(12.0, 0.93, 0.70), "hashed": Pace(10.5, 0.99, 0.85, 3.1),
        "hashed_reference": Pace(140.0, 0.90, 0.90), "quotient_remainder": Pace(17.0, 0.92, 0.66),
        "small_dim": Pace(19.0, 0.90, 0.40), "fbgemm_tbe": Pace(30.0, 0.52, 0.55), "inductor": Pace(11.0, 0.95, 0.72),
        "jax": Pace(1.0),
    },
    trained=datetime(2026, 11, 12, 9, 0),
    passes=(
        Pass(
            datetime(2026, 10, 21, 9, 0), "1f0c2aa", ("dense", "hashed", "quotient_remainder"),
            drift={"hashed": 0.8, "quotient_remainder": 1.25},
        ),
        Pass(datetime(2026, 11, 3, 9, 0), "98c41bd"),
        Pass(
            datetime(2026, 11, 17, 9, 0), "d544102", ("dense", "hashed", "fbgemm_tbe"), (16,),
            drift={"hashed": 0.7, "fbgemm_tbe": 1.2, "dense": 0.99},
        ),
    ),
    dim_gain=-0.002,
    stepped=datetime(2026, 11, 11, 9, 0),
    grouped=datetime(2026, 11, 6, 9, 0),
    parallel_gain=(0.8, 1.1),
    fates=(
        *_COMMON_FATES,
        Fate({"benchmark": "training", "method": "quotient_remainder", "dataset": "synthetic", "seed": 1},
             "failed", _DIVERGED),
        Fate({"benchmark": "training", "method": "hashed", "dataset": "ml-206k", "compression": 0.5,
              "embedding_dim": 64, "seed": 0}, "timeout", _SLOW),
        Fate({"benchmark": "lookup", "method": "hashed_reference", "embedding_dim": 64, "batch_size": 2048,
              "machine": "h100-box"}, "oom", _MEMORY),
        Fate({"benchmark": "lookup", "method": "hashed_reference", "batch_size": 512, "machine": "h100-box",
              "embedding_dim": 64}, "oom", _MEMORY),
        Fate({"benchmark": "grouped_lookup", "method": "parallel_op_inductor", "num_tables": 100},
             "failed", "Parallel OP grouped nothing in this model"),
    ),
)  # fmt: skip

GAMMA = World(
    name="gamma",
    machines=(
        Machine("laptop", 0.8, 16, cpu="Apple M4", l2_kb=16_384, l3_kb=36_864, memory_gb=48.0),
        Machine("epyc-01", 1.6, 32, l3_kb=262_144, memory_gb=256.0),
        _GPU,
    ),
    data={
        "frappe": DataSet(0.9410, 5_382, 10),
        "ml-206k": DataSet(0.7710, 93_000, 6),
        "synthetic": DataSet(0.7690, 50_000, 8),
        "planted": DataSet(0.8310, 40_000, 8),
    },
    cost={
        "hashed": 0.0013, "quotient_remainder": 0.0110, "small_dim": 0.0065, "fiited": 0.0170, "adaembed": 0.0024,
        "static_frequency": 0.0400,
    },
    paces={
        "dense": Pace(15.0, 0.97, 0.85), "hashed": Pace(30.0, 0.70, 0.52, 1.4),
        "hashed_reference": Pace(90.0, 0.85, 0.80), "quotient_remainder": Pace(12.0, 0.95, 0.90),
        "small_dim": Pace(30.0, 0.99, 0.82), "fbgemm_tbe": Pace(9.0, 0.95, 0.90), "inductor": Pace(21.0, 0.90, 0.71),
        "jax": Pace(1.0),
    },
    trained=datetime(2026, 11, 17, 9, 0),
    passes=(
        Pass(
            datetime(2026, 10, 27, 9, 0), "1f0c2aa", ("dense", "hashed", "quotient_remainder"),
            drift={"hashed": 1.1, "dense": 0.93},
        ),
        Pass(datetime(2026, 11, 13, 9, 0), "98c41bd"),
        Pass(
            datetime(2026, 11, 17, 9, 0), "d544102+", ("dense", "hashed", "fbgemm_tbe"), (16,),
            drift={"hashed": 1.02, "fbgemm_tbe": 1.6, "dense": 1.2},
        ),
    ),
    train_seeds=2,
    lookup_seeds=1,
    stepped=datetime(2026, 11, 18, 7, 0),
    grouped=datetime(2026, 11, 9, 9, 0),
    parallel_gain=(2.6, 1.7),
    cold=True,
    fates=(
        *_COMMON_FATES,
        Fate({"benchmark": "training", "method": "fiited", "dataset": "frappe", "embedding_dim": 64,
              "compression": 0.05, "seed": 1}, "failed", _DIVERGED),
        Fate({"benchmark": "lookup", "method": "quotient_remainder", "embedding_dim": 64, "batch_size": 2048,
              "direction": "forward_backward"}, "oom", _MEMORY),
        Fate({"benchmark": "lookup", "method": "inductor", "machine": "epyc-01", "batch_size": 512},
             "timeout", _SLOW),
        Fate({"benchmark": "grouped_lookup", "method": "zentorch_table"}, "skipped",
             "zentorch is not installed: run `python -m bench_engine peers install zentorch`."),
        Fate({"benchmark": "embedding_step", "method": "fiited", "direction": "prune", "batch_size": 64},
             "cancelled", "cancelled by the person who ran it"),
    ),
)  # fmt: skip

# One machine, one seed, exact ties, unknown memory, and only two benchmarks.
DELTA = World(
    name="delta",
    machines=(_EPYC,),
    data={
        "frappe": DataSet(0.9250, 5_382, 10),
        "ml-206k": DataSet(0.7800, 93_000, 6),
        "synthetic": DataSet(0.7500, 50_000, 8),
    },
    cost={
        "hashed": 0.0100, "quotient_remainder": 0.0100, "small_dim": 0.0200, "fiited": 0.0100, "adaembed": 0.0120,
        "static_frequency": 0.0200,
    },
    paces={
        "dense": Pace(10.0, 0.9, 0.7), "hashed": Pace(20.0, 0.9, 0.7), "quotient_remainder": Pace(20.0, 0.9, 0.7),
        "small_dim": Pace(14.0, 0.9, 0.7), "hashed_reference": Pace(100.0, 0.9, 0.7),
        "fbgemm_tbe": Pace(8.0, 0.8, 0.7), "jax": Pace(1.0),
    },
    trained=datetime(2026, 11, 9, 9, 0),
    passes=(
        Pass(datetime(2026, 10, 28, 9, 0), "1f0c2aa", ("dense", "hashed", "quotient_remainder"), drift={"dense": 1.1}),
        Pass(datetime(2026, 11, 14, 9, 0), "98c41bd"),
        Pass(datetime(2026, 11, 17, 9, 0), "d544102", ("dense", "hashed"), (16,), drift={"hashed": 0.9}),
    ),
    luck=0.0,
    dim_gain=0.0,
    train_seeds=1,
    lookup_seeds=1,
    no_memory=("fbgemm_tbe",),
    fates=(
        *_COMMON_FATES,
        Fate({"benchmark": "training", "method": "adaembed", "dataset": "frappe"}, "failed", _DIVERGED),
        Fate({"benchmark": "training", "method": "hashed", "dataset": "synthetic", "compression": 0.05},
             "timeout", _SLOW),
        Fate({"benchmark": "lookup", "method": "hashed_reference", "embedding_dim": 64, "batch_size": 2048},
             "oom", _MEMORY),
    ),
)  # fmt: skip

WORLDS: tuple[World, ...] = (ALPHA, BETA, GAMMA, DELTA)

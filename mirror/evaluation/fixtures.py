"""The seeded results that questions are asked of, read from fixtures.yaml: what is measured in them, and who wins.

The trials themselves are made in `mirror.evaluation.fixture_trials`.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import ConfigDict, TypeAdapter

FILE = Path(__file__).with_name("fixtures.yaml")
# The present of every question: a Wednesday, so that "last week" is 9 to 15 November.
NOW = datetime(2026, 11, 18, 12, 0)

SetName = Literal["categories", "paraphrases"]
Where = Mapping[str, Any]  # axis -> its value, or a list of values
# What is measured -> what chance hangs on (`mirror.evaluation.fixture_measurements.key`).
NoiseKeys = Mapping[str, tuple[str, ...]]


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
    """AUC of dense at dim 16, the rows and tables that it has, and whether what matters in it changes over time."""

    auc: float
    rows: int
    tables: int
    drifts: bool = False


@dataclass(frozen=True)
class Pace:
    """A method's forward lookup: µs at batch 64 and dim 16, and how it grows with the batch and with the dimension."""

    us: float
    batch: float = 0.9
    dim: float = 0.7
    backward: float = 2.6


@dataclass(frozen=True)
class Failure:
    """Trials that are not ok, with their status and reason: those that have all the values of `where`."""

    where: Where
    status: str
    error: str


@dataclass(frozen=True)
class Training:
    """A time at which click models were trained: those that have all the values of `where`."""

    start: datetime
    where: Where
    code: str = "98c41bd"


@dataclass(frozen=True)
class Pass:
    """A time at which lookups were measured, and what has changed since (a factor on the time of a method).

    Where it names methods, only theirs were measured, with no axis varied; `p95`: whether that was known then.
    """

    start: datetime
    code: str
    methods: tuple[str, ...] = ()
    dims: tuple[int, ...] = ()
    where: Where = field(default_factory=dict)
    drift: Mapping[str, float] = field(default_factory=dict)
    p95: bool = True


@dataclass(frozen=True)
class Varied:
    """Lookups of which one axis takes further values: those that have all the values of `where`."""

    where: Where
    axis: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class TrainingGrid:
    """The trainings of a set of fixtures.

    Attributes:
        dims, sizes, batch_size: the axes; sizes by method, as the share of the parameters that is kept.
        validated: which were trained on the split validation too; `validated_curves`: whether these have curves.
        elsewhere: which the machines after the first one train; None for none.
        pruned: methods that know what they keep.
        noise_keys, scatter, digits: what chance hangs on, how far it goes, and to how many digits a number is kept.
        metadata: MB for each MB of weights, as a + b / dim.
        optimizer: MB of a method's optimizer for each MB of weights, 1 where it is not named.
    """

    dims: tuple[int, ...]
    sizes: Mapping[str, tuple[float, ...]]
    batch_size: int
    validated: Where
    validated_curves: bool
    elsewhere: Where | None
    pruned: tuple[str, ...]
    noise_keys: NoiseKeys
    digits: Mapping[str, int]
    scatter: Mapping[str, float] = field(default_factory=dict)
    metadata: tuple[float, float] = (0.1, 0.0)
    optimizer: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class LookupGrid:
    """The lookups of a set of fixtures.

    Attributes:
        dims, batches, threads, sizes: the axes; sizes by method, `batches_of` for methods with other batches.
        dims_elsewhere, sizes_elsewhere: those of the machines after the first one.
        varied_apart: whether axes are varied after the grid, on the first machine alone, or along with it.
        block_size: of hashed tables; None where nothing is said of blocks.
        noise_keys, scatter, digits: as in TrainingGrid.
        error: largest error by method; `other` for those that are not named.
        small_batch: how many samples' worth of time a call takes beside its samples.
        cache_gain: how much faster a table at a tenth of the size is.
        threads_gain: power of the threads by which time falls, by batch size or method; 0.85 for others.
    """

    dims: tuple[int, ...]
    batches: tuple[int, ...]
    threads: tuple[int, ...]
    sizes: Mapping[str, tuple[float, ...]]
    dims_elsewhere: tuple[int, ...]
    sizes_elsewhere: Mapping[str, tuple[float, ...]]
    varied_apart: bool
    noise_keys: NoiseKeys
    digits: Mapping[str, int]
    scatter: Mapping[str, float]
    error: Mapping[str, float]
    threads_gain: Mapping[int | str, float]
    batches_of: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    block_size: int | None = None
    small_batch: int = 0
    cache_gain: float = 0.0


@dataclass(frozen=True)
class StepForm:
    """A method in one form: `pace` multiplies its time; `optimizers` are those that it is measured with for updates
    beside adagrad; `weight` is how many times as large as its weights it is (as in trainings where None)."""

    method: str
    compression: float
    optimizers: tuple[str, ...] = ()
    layout: str | None = None
    pace: float = 1.0
    weight: float | None = None


@dataclass(frozen=True)
class StepGrid:
    """The embedding steps of a set of fixtures; times are those of `base_dim`."""

    forms: tuple[StepForm, ...]
    rows: tuple[int, ...]
    dims: tuple[int, ...]
    batches: tuple[int, ...]
    threads: tuple[int, ...]
    noise_keys: NoiseKeys
    digits: int
    base_dim: int
    small_batch: int = 0


@dataclass(frozen=True)
class GroupedGrid:
    """The grouped lookups of a set of fixtures. `paces`: a method's time for each µs of eager.

    `also`: axes with which those of 26 tables are measured again, by eager and parallel_op.
    """

    batches: tuple[int, ...]
    paces: Mapping[str, float]
    noise_keys: NoiseKeys
    digits: int
    scatter: float
    also: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True)
class Grid:
    """What is measured in all fixtures of a set."""

    training: TrainingGrid
    lookup: LookupGrid
    step: StepGrid
    grouped: GroupedGrid


@dataclass(frozen=True)
class Fixture:
    """One set of results.

    Attributes:
        name: what it is called in reports.
        grid: what is measured in it.
        machines: all of them; steps and grouped lookups are measured on the first one.
        trainings: when which models were trained.
        passes: when lookups were measured; the last one counts where it measured.
        paces: methods of the lookups.
        data: data sets that are trained on.
        cost: AUC that a method loses at a tenth of the parameters.
        gain: method -> data set -> AUC that the method has there beside what its compression costs.
        weight: method -> how many times as large it is as its compression says.
        train_pace: method -> factor on the time of a training step; by chance where it is not named.
        seed_noise: how far the AUC of seeds lies apart.
        dim_gain: AUC that dim 64 has more than dim 16.
        train_seeds, lookup_seeds: repeats.
        stepped: start of the embedding steps; None for none.
        grouped: start of the grouped lookups; None for none.
        parallel_gain: how many times faster parallel_op is than eager on one thread and on two.
        chunks: values of num_chunks.
        varied: lookups on which one more axis is varied.
        noisy_share: share of the lookups that were noisy.
        no_memory: methods whose memory nobody knows.
        failures: trials that are not ok, the first that fits.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    grid: Grid
    machines: tuple[Machine, ...]
    passes: tuple[Pass, ...]
    paces: Mapping[str, Pace]
    trainings: tuple[Training, ...] = ()
    data: Mapping[str, DataSet] = field(default_factory=dict)
    cost: Mapping[str, float] = field(default_factory=dict)
    gain: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    weight: Mapping[str, float] = field(default_factory=dict)
    train_pace: Mapping[str, float] = field(default_factory=dict)
    seed_noise: float = 0.0004
    dim_gain: float = 0.003
    train_seeds: int = 3
    lookup_seeds: int = 2
    stepped: datetime | None = None
    grouped: datetime | None = None
    parallel_gain: tuple[float, float] = (1.4, 2.3)
    chunks: tuple[int, ...] = (4,)
    varied: tuple[Varied, ...] = ()
    noisy_share: float = 0.0
    no_memory: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


@functools.cache
def _sets() -> Mapping[str, tuple[Fixture, ...]]:
    read = yaml.load(FILE.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return TypeAdapter(dict[str, tuple[Fixture, ...]]).validate_python(
        {name: read[name] for name in ("categories", "paraphrases")}
    )


def fixtures(of: SetName) -> tuple[Fixture, ...]:
    """The fixtures that a set of questions is asked of. Read once."""
    return _sets()[of]


def fits(where: Where, values: Mapping[str, Any]) -> bool:
    """Whether all values are as `where` wants them."""
    return all(values.get(k) in v if isinstance(v, list) else values.get(k) == v for k, v in where.items())

"""The slots that the cues of a question fill, and what every QuerySpec takes from them."""

from dataclasses import dataclass, field

from mirror.language.phrases.time_cues import Times
from mirror.query.spec import Aggregate, ChartType, ChartWish, Filter, Metric, Order, QuerySpec, Shape

# comparative -> metric it compares, where it names one
COMPARATIVES = {
    "faster": "latency_us", "slower": "latency_us", "smaller": "memory_mb", "larger": "memory_mb", "better": None,
    "worse": None, "less": None, "more": None,
}  # fmt: skip
SPEED = ("latency_us", "samples_per_s", "bandwidth_gb_s", "speedup")
OWN_CURVES = {"logloss": "loss"}  # metrics whose training curve has another name


@dataclass(frozen=True)
class SlotFill:
    """A word of the question and what it filled: the slot, one of its values, and the word as written."""

    slot: str
    value: object
    text: str


@dataclass
class Slots:
    """What the cues have filled so far."""

    metrics: list[str] = field(default_factory=list)
    filtered_metrics: list[str] = field(default_factory=list)  # named only to filter by them
    grouped: list[str] = field(default_factory=list)  # dimensions named after `by`
    named: list[str] = field(default_factory=list)  # dimensions only mentioned
    filters: list[Filter] = field(default_factory=list)
    superlative: str = ""
    leading: str = ""  # the metric that the superlative stands before
    extreme: str = ""  # the axis of "at the largest batch size"
    comparative: str = ""  # a key of COMPARATIVES
    comparatives: list[str] = field(default_factory=list)  # those before it: "smaller and more accurate"
    denied: str = ""  # the comparative behind a `not`: "why is hashed not faster"
    summed: bool = False  # "total duration"
    over_baseline: bool = False  # "speedup over dense"
    than: str = ""  # the method of "faster than hashed"
    limit: int | None = None
    aggregate: Aggregate | None = None
    sort: list[Order] = field(default_factory=list)
    tradeoff: bool = False
    compare: bool = False
    count: bool = False
    failures: bool = False
    trials: bool = False
    changed: bool = False  # "has it changed", "got worse"
    significant: bool = False  # "significantly faster"
    curves: list[str] = field(default_factory=list)  # what only training curves hold
    over_training: bool = False
    within: float | None = None  # how far below the baseline's AUC is as good
    times: Times = field(default_factory=Times)
    verdicts_known: bool = False  # whether the results hold any
    one_baseline: bool = False  # whether a benchmark has them against the baseline that the catalogue names alone
    front: bool = False  # "not dominated"
    dominated: bool = False  # "which are dominated"
    final: bool = False  # "at the end of training"
    often: bool = False  # "which failed most often"
    extent: bool = False  # "lowest and highest"
    whole_trials: bool = False  # "trials with an AUC above 0.7", not what they come to
    each_method: bool = False  # "the worst p99 of each method"
    words: set[str] = field(default_factory=set)  # cues as they were written: "ratio" is more than "how much"
    big: bool = False  # "how big", which names a metric without meaning one
    sort_down: bool | None = None  # "highest first" without a column to sort by
    to: bool = False  # "ratio of dim 64 to dim 16"
    recommend: bool = False  # "which should I use"
    facts: list[str] = field(default_factory=list)  # what machines are: cores, cpu
    relative: bool = False  # "relative to dense", "auc loss"
    contrasts: set[str] = field(default_factory=set)  # words of a comparison: ratio ("how many times"), drop, saves
    newest: bool = False
    exist: bool = False  # "which methods are there"
    counted: str = ""  # the column of "how many methods"
    against: Filter | None = None  # what is compared with: `method = dense`, `machine = laptop`
    averaged: list[str] = field(default_factory=list)  # "averaged over data sets"
    explain: bool = False  # "why is hashed slower than dense"
    chart: ChartType | None = None
    log: bool = False
    notes: list[str] = field(default_factory=list)
    fills: list[SlotFill] = field(default_factory=list)  # which words have filled them, for `coverage`

    def methods(self) -> list[str]:
        """The methods that the question names to be shown."""
        return [str(v) for f in self.filters if f.column == "method" and f.operator in ("=", "in") for v in f.values]

    def dimensions(self, *first: str) -> tuple[str, ...]:
        """What the question groups by or mentions, those named after `by` first."""
        return tuple(dict.fromkeys([*first, *self.grouped, *self.named]))


def bare(slots: Slots, shape: Shape, metrics: tuple[Metric, ...], dimensions: tuple[str, ...]) -> QuerySpec:
    """A spec with what every shape takes from the slots."""
    return QuerySpec(
        shape,
        metrics,
        dimensions,
        filters=tuple(slots.filters),
        order=tuple(slots.sort),
        within=slots.within,
        averaged=tuple(slots.averaged),
        chart=ChartWish(slots.chart, log_x=slots.log, log_y=slots.log and slots.chart != "scatter"),
        notes=tuple(slots.notes),
    )

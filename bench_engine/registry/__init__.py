"""What can be run: methods, benchmarks, axes and data sets.

Loads without torch; the worker imports what an entry names. To add a method, a benchmark, an axis or a data set, write
its module and add its entry here (that of a rival in bench_engine/methods/rivals): it then shows up in sweeps, on the
New run page, in `list` and in questions. A method goes with the benchmarks that can run it: _OWN with lookup, training
and collisions, _TRAINED with training, _STEPS with embedding_step, _GROUPED with grouped_lookup, _READERS with
answering. An axis that is no column yet needs one in db/columns.py too.
"""

import difflib
import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from bench_engine.method import Method
from bench_engine.methods.rivals import GROUPED_RIVALS, GROUPED_SOURCES, INDUCTOR, LOOKUP_RIVALS, OP_ONLY, RIVALS
from bench_engine.trial import Scalar

T = TypeVar("T")
_ROOT = Path(__file__).resolve().parents[2]


class UnknownNameError(ValueError):
    """A name that is not registered; the message lists the known ones."""


@dataclass(frozen=True)
class Axis:
    """One axis of a configuration.

    Attributes:
        name: column name in the results.
        type: int, float or str.
        default: value where a sweep is silent.
        text: help, one line.
        choices: allowed values, or empty.
        low, high: allowed range for numbers, both ends included.
        methods: those that have it; empty for all. It is no part of the configuration of the others.
    """

    name: str
    type: Callable[[Any], Scalar]
    default: Scalar
    text: str
    choices: tuple[Scalar, ...] = ()
    low: float | None = None
    high: float | None = None
    methods: tuple[str, ...] = ()

    def is_of(self, method_name: str) -> bool:
        """Whether a method has this axis."""
        return not self.methods or method_name in self.methods

    def check(self, value: Any) -> Scalar:
        """The value in the axis's type. Raises ValueError with a sentence that says what is allowed."""
        try:
            if isinstance(value, bool):
                raise ValueError
            converted = self.type(value)
            if converted != (float(value) if self.type is not str else value):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            kind = {int: "a whole number", float: "a number", str: "text"}[self.type]  # type: ignore[index]
            raise ValueError(f"axis {self.name} takes {kind}, not {value!r}") from None
        if self.choices and converted not in self.choices:
            raise ValueError(f"axis {self.name} takes one of {', '.join(map(str, self.choices))}, not {value!r}")
        if not isinstance(converted, str):
            low, high = self.low, self.high
            if (low is not None and converted < low) or (high is not None and converted > high):
                raise ValueError(f"axis {self.name} must lie between {limits(low, high)}, not {value!r}")
        return converted


@dataclass(frozen=True)
class Benchmark:
    """One kind of experiment.

    Attributes:
        name: name in the results.
        op: what is computed.
        text: help, one line.
        module: module with `run(trial)`, a bench_engine.trial.Run.
        axes: its axes; the seed is always the last.
        measurement: number of the measurement method; raise it when timing, training or the preparation of data
            changes, and trials run anew.
        seconds: rough time of one trial, for the estimate where no history exists.
        methods: registered methods that it can run; all of this module unless given.
    """

    name: str
    op: str
    text: str
    module: str
    axes: tuple[Axis, ...]
    measurement: int
    seconds: float
    methods: tuple[str, ...] = field(default_factory=lambda: tuple(METHODS))

    def axis(self, name: str) -> Axis:
        return _find(name, {a.name: a for a in self.axes}, f"axis of benchmark {self.name}")

    def load(self) -> Any:
        """The module behind the entry (imports torch)."""
        return importlib.import_module(self.module)


@dataclass(frozen=True)
class DataSet:
    """One data set a click model can be trained on.

    Attributes:
        name: name in the results.
        text: help, one line.
        module: module with `load() -> bench_engine.data.ClickData`.
        files: files below the data folder that it needs; empty for generated data.
    """

    name: str
    text: str
    module: str
    files: tuple[str, ...] = ()

    def load(self) -> Any:
        """The module behind the entry."""
        return importlib.import_module(self.module)


_BAGS = "bench_engine/kernels/bags.py"
_HASHED_TABLE = (_BAGS, "bench_engine/kernels/hashed/hashed_table.py", "bench_engine/kernels/hashed/hashing.py")
_HASHED = "bench_engine.kernels.hashed.hashed_embedding_bag:HashedEmbeddingBag"
_HASHED_SOURCES = (
    *_HASHED_TABLE,
    "bench_engine/kernels/hashed/hashed_ops.py",
    "bench_engine/kernels/native/extension.py",  # holds the compiler's flags
    "bench_engine/kernels/hashed/hashed_embedding_bag.py",
    *sorted(
        path.relative_to(_ROOT).as_posix()
        for pattern in ("hash.h", "hashed_*", "cpu/hashed_*", "cuda/hashed_*", "cuda/elements.cuh")
        for path in (_ROOT / "csrc").glob(pattern)
        if path.stem != "hashed_original"
    ),
    "csrc/host_device.h",
    "csrc/threads.cpp",
    "csrc/threads.h",
    "csrc/cpu/share_out.h",
)

_ROW_HASHING_SOURCES = (
    _BAGS,
    "bench_engine/kernels/hashed/hashing.py",
    "bench_engine/kernels/compressed/row_hashing.py",
)

# What torch has in the benchmark embedding_step: no prune events, and no Adagrad with one slot per row.
_DIRECTIONS = ("forward", "forward_backward", "forward_backward_update", "prune")
_TORCH_STEP = {"direction": _DIRECTIONS[:3], "optimizer": ("sgd", "adagrad", "adam")}

_OWN = {
    m.name: m
    for m in (
        Method(
            "dense",
            "torch.nn.EmbeddingBag, every row with all its dimensions",
            "bench_engine.kernels.compressed.dense:DenseEmbeddingBag",
            compressible=False,
            sources=(_BAGS, "bench_engine/kernels/compressed/dense.py"),
            supports=_TORCH_STEP,
        ),
        Method(
            "small_dim",
            "every row with fewer dimensions, brought back to D by a learned matrix",
            "bench_engine.kernels.compressed.small_dim:SmallDimEmbeddingBag",
            sources=(_BAGS, "bench_engine/kernels/compressed/small_dim.py"),
        ),
        Method(
            "hashed",
            "elements of a virtual table hashed into one small buffer, C++ kernel",
            _HASHED,
            sources=_HASHED_SOURCES,
            needs_build=True,
        ),
        Method(
            "hashed_reference",
            "the hashed embedding bag in plain PyTorch: the baseline everyone would write",
            "bench_engine.kernels.hashed.hashed_reference:HashedEmbeddingBagReference",
            sources=(*_HASHED_TABLE, "bench_engine/kernels/hashed/hashed_reference.py"),
        ),
        Method(
            "hashed_original",
            "the hashed embedding bag as the original project computes it: scalar C++ forward, backward by a sort",
            "bench_engine.kernels.hashed.hashed_original:HashedEmbeddingBagOriginal",
            sources=(
                *_HASHED_TABLE,
                "bench_engine/kernels/native/extension.py",
                "bench_engine/kernels/hashed/hashed_original.py",
                "csrc/hash.h",
                "csrc/hashed_original.cpp",
                "csrc/host_device.h",
            ),
            needs_build=True,
        ),
        Method(
            "hashed_mix64",
            "the hashed embedding bag with a seeded 64-bit mixer as hash, C++ kernel",
            _HASHED,
            sources=_HASHED_SOURCES,
            needs_build=True,
            fixed={"hash": "mix64"},
        ),
        Method(
            "hashed_signed",
            "hashed_mix64 with a second hash that gives elements a sign (Chen et al. 2015)",
            _HASHED,
            sources=_HASHED_SOURCES,
            needs_build=True,
            fixed={"hash": "mix64", "signs": True},
        ),
        Method(
            "hashed_block",
            "hashed_mix64 with blocks of neighbours that share one hash, as in ROBE (Desai et al. 2022)",
            _HASHED,
            sources=_HASHED_SOURCES,
            needs_build=True,
            arguments={"block_size": "block_size"},
            fixed={"hash": "mix64"},
        ),
        Method(
            "row_modulo",
            "whole rows shared: row id mod R (Weinberger et al. 2009)",
            "bench_engine.kernels.compressed.row_hashing:RowModuloEmbeddingBag",
            sources=_ROW_HASHING_SOURCES,
        ),
        Method(
            "double_hash",
            "the sum of two rows, by two hashes of the id (Zhang et al. 2020)",
            "bench_engine.kernels.compressed.row_hashing:DoubleHashEmbeddingBag",
            sources=_ROW_HASHING_SOURCES,
        ),
        Method(
            "quotient_remainder",
            "product of a remainder row and a quotient row (Shi et al. 2020)",
            "bench_engine.kernels.compressed.quotient_remainder:QuotientRemainderEmbeddingBag",
            sources=(_BAGS, "bench_engine/kernels/compressed/quotient_remainder.py"),
        ),
    )
}

_FIITED = "bench_engine.methods.fiited_method:FIITEDMethod"
_FIITED_SOURCES = (
    _BAGS,
    "bench_engine/kernels/native/extension.py",
    *sorted(
        path.relative_to(_ROOT).as_posix()
        for path in (*(_ROOT / "bench_engine/kernels/fiited").rglob("*.py"), *(_ROOT / "csrc").rglob("*fiited*"))
        if path.is_file()
    ),
    "csrc/host_device.h",
    "csrc/threads.cpp",
    "csrc/threads.h",
    "csrc/cpu/share_out.h",
)
_PRUNE_ARGUMENTS = {"prune_interval": "interval", "decay": "decay", "prune_scope": "scope", "layout": "layout"}
_CHUNK_ARGUMENTS = {"num_chunks": "num_chunks", **_PRUNE_ARGUMENTS}

# Those that training decides what they keep.
_TRAINED = {
    m.name: m
    for m in (
        Method(
            "fiited",
            "FIITED: chunks of vectors live or are pruned by utility while they train (Luo et al. 2024)",
            _FIITED,
            sources=_FIITED_SOURCES,
            needs_build=True,
            arguments={**_CHUNK_ARGUMENTS, "utility_score": "score"},
        ),
        Method(
            "fiited_frequency",
            "FIITED with utility by frequency alone",
            _FIITED,
            sources=_FIITED_SOURCES,
            needs_build=True,
            arguments=_CHUNK_ARGUMENTS,
            fixed={"score": "frequency"},
        ),
        Method(
            "adaembed",
            "whole vectors live or are pruned by frequency times gradient, as AdaEmbed has it (Lai et al. 2023)",
            _FIITED,
            sources=_FIITED_SOURCES,
            needs_build=True,
            arguments=_PRUNE_ARGUMENTS,
            fixed={"num_chunks": 1, "score": "frequency*gradient"},
        ),
        Method(
            "frequency_pruned",
            "whole vectors live or are pruned by frequency, as TorchRec's ITEP has it",
            _FIITED,
            sources=_FIITED_SOURCES,
            needs_build=True,
            arguments=_PRUNE_ARGUMENTS,
            fixed={"num_chunks": 1, "score": "frequency"},
        ),
        Method(
            "static_frequency",
            "a vector for each of the ids that are most frequent in the training part, one for all others",
            "bench_engine.kernels.compressed.static_frequency:StaticFrequencyEmbeddingBag",
            sources=(_BAGS, "bench_engine/kernels/compressed/static_frequency.py"),
        ),
    )
}

_STEPS = {
    "dense_gradient": Method(
        "dense_gradient",
        "torch.nn.EmbeddingBag with gradients as large as the table, and torch's optimizer for them",
        "torch.nn:EmbeddingBag",
        compressible=False,
        supports={**_TORCH_STEP, "optimizer": ("sgd", "adagrad")},
    )
}

# Beginnings of the names in csrc/ that belong to Parallel OP.
_PARALLEL_NAMES = (
    "choices",
    "direct_calls",
    "elements",
    "grouped_",
    "parallel_op_settings",
    "plan_cache",
    "share_out",
    "side_by_side",
    "threads",
    "zero_pages",
)
_PARALLEL_SOURCES = (
    *GROUPED_SOURCES,
    "bench_engine/methods/grouped_parallel.py",
    "bench_engine/kernels/native/extension.py",
    *sorted(
        path.relative_to(_ROOT).as_posix()
        for path in (*(_ROOT / "bench_engine/kernels/parallel_op").rglob("*.py"), *(_ROOT / "csrc").rglob("*.*"))
        if path.suffix == ".py" or path.name.startswith(_PARALLEL_NAMES)
    ),
)
# Choices are kept apart from those of its other uses; the file's name has the build in it.
_SWITCHED_ON = {"MIRROR_PARALLEL_OP": "1", "MIRROR_PARALLEL_OP_CACHE": str(_ROOT / "build" / "parallel_op")}
_GROUPED = {
    m.name: m
    for m in (
        Method(
            "eager",
            "torch.nn.EmbeddingBag modules one after another, and whatever model is around them: untouched",
            "bench_engine.methods.grouped_methods:Eager",
            compressible=False,
            sources=GROUPED_SOURCES,
        ),
        Method(
            "parallel_op",
            "the same untouched script and model, started with MIRROR_PARALLEL_OP=1",
            "bench_engine.methods.grouped_parallel:ParallelOp",
            compressible=False,
            sources=_PARALLEL_SOURCES,
            needs_build=True,
            variables=_SWITCHED_ON,
        ),
        Method(
            "parallel_op_backend",
            'the same untouched model through torch.compile(backend="parallel_op")',
            "bench_engine.methods.grouped_parallel:ParallelOpBackend",
            compressible=False,
            sources=_PARALLEL_SOURCES,
            needs_build=True,
            variables=_SWITCHED_ON,
        ),
        Method(
            "parallel_op_inductor",
            "the same untouched model through torch.compile (Inductor), started with MIRROR_PARALLEL_OP=1",
            "bench_engine.methods.grouped_parallel:ParallelOpInductor",
            compressible=False,
            sources=(*_PARALLEL_SOURCES, "bench_engine/methods/rivals/grouped_inductor.py"),
            needs_build=True,
            needs_compiler=True,
            variables={**_SWITCHED_ON, **INDUCTOR},
        ),
        Method(
            "grouped_embedding",
            "GroupedEmbeddingBag: the op of Parallel OP called directly",
            "bench_engine.methods.grouped_parallel:GroupedEmbedding",
            compressible=False,
            sources=_PARALLEL_SOURCES,
            needs_build=True,
            supports=OP_ONLY,
            variables={"MIRROR_PARALLEL_OP_CACHE": _SWITCHED_ON["MIRROR_PARALLEL_OP_CACHE"]},
        ),
    )
}

# What Mirror's answers come from; its pages only show them.
_MIRROR_SOURCES = tuple(
    path.relative_to(_ROOT).as_posix()
    for path in sorted((*(_ROOT / "mirror").rglob("*.*"), *(_ROOT / "db").glob("*.py")))
    if path.suffix in (".py", ".yaml") and "pages" not in path.parts
)
# Who reads the questions that Mirror is asked.
_READERS = {
    m.name: m
    for m in (
        Method(
            "grammar",
            "Mirror's embedded grammar reads the questions",
            "mirror.evaluation.runner:run",
            compressible=False,
            sources=_MIRROR_SOURCES,
        ),
        Method(
            "llm",
            "the language model that is configured reads the questions; --force runs them anew with another one",
            "mirror.evaluation.runner:run",
            compressible=False,
            sources=_MIRROR_SOURCES,
        ),
    )
}
METHODS: dict[str, Method] = {
    **_OWN, **_TRAINED, **_STEPS, **_GROUPED, **{m.name: m for m in RIVALS}, **_READERS,
}  # fmt: skip

# For bench_engine.selfcheck alone: they stand in no list, and no sweep knows them.
SELF_CHECK_METHODS: dict[str, Method] = {
    m.name: m
    for m in (
        Method("dense_again", "the very same as dense", METHODS["dense"].implementation, compressible=False),
        Method(
            "dense_slowed",
            "dense, slowed by ten per cent",
            "bench_engine.selfcheck.slowed:SlowedDenseEmbeddingBag",
            compressible=False,
        ),
    )
}

DATA_SETS: dict[str, DataSet] = {
    d.name: d
    for d in (
        DataSet("synthetic", "seeded clicks with Zipf ids and a known truth", "bench_engine.data.sets.synthetic"),
        DataSet(
            "planted",
            "seeded clicks with a long tail of ids and a planted effective dimension for each",
            "bench_engine.data.planted.clicks",
        ),
        DataSet(
            "planted_drift",
            "the planted clicks in order of time: which ids matter is swapped midway, and popularity drifts",
            "bench_engine.data.planted.drift",
        ),
        DataSet(
            "planted_turnover",
            "the planted clicks in order of time: midway new ids take the place of frequent ones",
            "bench_engine.data.planted.turnover",
        ),
        DataSet(
            "frappe",
            "Frappe app usage, 10 context fields (libfm files)",
            "bench_engine.data.sets.frappe",
            ("frappe/frappe.validation.libfm", "frappe/frappe.test.libfm"),
        ),
        DataSet(
            "ml-206k",
            "MovieLens ratings to 2023, liked (4 stars or more) or not, split by time",
            "bench_engine.data.sets.movielens",
            ("ml-206k/ratings.parquet", "ml-206k/movies.parquet"),
        ),
        DataSet(
            "ml-1m",
            "MovieLens 1M pairs against movies the user did not rate",
            "bench_engine.data.sets.ml_1m",
            ("ml-1m/ratings.parquet", "ml-1m/users.dat", "ml-1m/movies.dat"),
        ),
        DataSet(
            "ml-100k",
            "MovieLens 100K, liked (4 stars or more) or not, split by time",
            "bench_engine.data.sets.ml_100k",
            ("ml-100k/ml-100k.inter", "ml-100k/ml-100k.user", "ml-100k/ml-100k.item"),
        ),
        DataSet(
            "anime",
            "MyAnimeList ratings, liked (8 of 10 or more) or not",
            "bench_engine.data.sets.anime",
            ("anime/anime.zip",),
        ),
        DataSet(
            "criteo",
            "Criteo ads (Kaggle), 13 numbers and 26 categories, split by time",
            "bench_engine.data.sets.criteo",
            ("criteo/train.tsv",),
        ),
        DataSet(
            "criteo-1tb",
            "Criteo 1TB click logs from day_0 on, tested on the last day there is",
            "bench_engine.data.sets.criteo_days",
            ("criteo-1tb/day_0", "criteo-1tb/day_1"),
        ),
        DataSet(
            "avazu",
            "Avazu mobile ads, 24 fields, split by time",
            "bench_engine.data.sets.avazu",
            ("avazu/train.csv",),
        ),
    )
}

_CHUNKED = ("fiited", "fiited_frequency")
_PRUNED = (*_CHUNKED, "adaembed", "frequency_pruned")
_PRUNING = (
    Axis("num_chunks", int, 4, "chunks k of a vector, a divisor of D", low=1, high=16, methods=_CHUNKED),
    Axis("prune_interval", int, 30, "steps from one prune event to the next", low=1, high=2**31 - 1, methods=_PRUNED),
    Axis("decay", float, 0.9, "what a chunk keeps of its utility at an event", low=0.0, high=1.0, methods=_PRUNED),
    Axis(
        "prune_scope",
        str,
        "global",
        "whose chunks share one budget",
        choices=("global", "table", "column"),
        methods=_PRUNED,
    ),
    Axis(
        "utility_score",
        str,
        "gradient",
        "what a step adds to a chunk's utility",
        choices=("gradient", "frequency*gradient", "frequency"),
        methods=("fiited",),
    ),
    Axis("layout", str, "compact", "how chunks are addressed", choices=("compact", "flat"), methods=_PRUNED),
)

_DIM = Axis("embedding_dim", int, 16, "embedding dimension D", low=1, high=4096)
_COMPRESSION = Axis("compression", float, 1.0, "fraction of the dense parameters kept", low=1e-6, high=1.0)
_BLOCK = Axis("block_size", int, 16, "neighbours that share one hash", low=1, high=2**31 - 1, methods=("hashed_block",))
_PADDING = Axis(
    "padding_idx",
    int,
    -1,
    "id that fills up bags and is left out, -1 for none",
    low=-1,
    high=2**40 - 1,
    methods=("dense", "hashed", "hashed_reference", "hashed_mix64", "hashed_signed", "hashed_block"),
)
_POOLING = Axis("pooling_mode", str, "sum", "how a bag becomes one vector", choices=("sum", "mean", "max"))
_DIRECTION = Axis("direction", str, "forward", "what is timed", choices=_DIRECTIONS[:2])
_ZIPF = Axis("zipf_s", float, 1.05, "exponent of the ids' Zipf law, 0 is uniform", low=0.0, high=10.0)
_THREADS = Axis("threads", int, 1, "threads of the worker", low=1, high=1024)
_SEED = Axis("seed", int, 0, "seed of data order, initial weights and requests", low=0, high=2**31 - 1)

# The questions that Mirror is asked stand in a file for each category (docs/evaluation.md).
_QUESTION_FILES = sorted((_ROOT / "mirror" / "evaluation" / "questions").glob("*.yaml"))
_CATEGORIES = ("all_categories", *(path.stem.partition("_")[2] for path in _QUESTION_FILES))
_QUESTION_SETS = ("all_questions", "open", "held_out")

BENCHMARKS: dict[str, Benchmark] = {
    b.name: b
    for b in (
        Benchmark(
            name="lookup",
            op="embedding_bag",
            text="one embedding-bag call: correctness, latency, bandwidth, memory",
            module="bench_engine.benchmarks.lookup",
            axes=(
                Axis("num_rows", int, 100_000, "rows of the virtual table E", low=1, high=2**40),
                _DIM,
                _COMPRESSION,
                _BLOCK,
                _POOLING,
                Axis("bag_size", int, 10, "ids per bag L", low=1, high=100_000),
                _PADDING,
                Axis("batch_size", int, 512, "bags per call B", low=1, high=10_000_000),
                _DIRECTION,
                _ZIPF,
                Axis("cache", str, "warm", "the processor's caches before a call", choices=("warm", "cold")),
                Axis("output", str, "fresh", "memory of the output", choices=("fresh", "preallocated")),
                _THREADS,
                _SEED,
            ),
            measurement=3,
            seconds=6.0,
            methods=(*_OWN, *(m.name for m in LOOKUP_RIVALS)),
        ),
        Benchmark(
            name="embedding_step",
            op="embedding_bag",
            text="one embedding bag with its optimizer: correctness, time of a lookup, a step or a prune event, memory",
            module="bench_engine.benchmarks.embedding_step",
            axes=(
                Axis("num_rows", int, 100_000, "rows of the virtual table E", low=1, high=2**40),
                _DIM,
                _COMPRESSION,
                *(axis for axis in _PRUNING if axis.name in ("num_chunks", "layout")),
                Axis(
                    "optimizer",
                    str,
                    "adagrad",
                    "what updates the weights",
                    choices=("sgd", "adagrad", "rowwise_adagrad", "adam"),
                ),
                Axis("bag_size", int, 1, "ids per bag L", low=1, high=100_000),
                Axis("batch_size", int, 2048, "bags per step B", low=1, high=10_000_000),
                Axis(
                    "direction",
                    str,
                    "forward",
                    "what is timed: a lookup, a step, or a prune event",
                    choices=("forward", "forward_backward_update", "prune"),
                ),
                _ZIPF,
                Axis("cache", str, "warm", "the processor's caches before a call", choices=("warm", "cold")),
                _THREADS,
                _SEED,
            ),
            measurement=1,
            seconds=10.0,
            methods=("dense", *_STEPS, *_PRUNED),
        ),
        Benchmark(
            name="grouped_lookup",
            op="grouped_embedding_bag",
            text="many tables looked up together, alone or in a whole model: correctness, latency, memory",
            module="bench_engine.benchmarks.grouped_lookup",
            axes=(
                Axis("num_tables", int, 26, "tables T", low=1, high=10_000),
                Axis("num_rows", int, 100_000, "rows of each table E", low=1, high=2**40),
                _DIM,
                _POOLING,
                Axis(
                    "bag_sizes",
                    str,
                    "uniform",
                    "ids per bag of the tables: bag_size for all, or MLPerf's multi-hot sizes in their order",
                    choices=("uniform", "mlperf"),
                ),
                Axis("bag_size", int, 1, "ids per bag L; 1 where bag_sizes is mlperf", low=1, high=100_000),
                Axis("batch_size", int, 64, "bags of each table per call B", low=1, high=10_000_000),
                _DIRECTION,
                Axis(
                    "structure",
                    str,
                    "plain",
                    "how the bags stand in the model",
                    choices=("plain", "interleaved", "split_in", "concat_out"),
                ),
                Axis("model", str, "op", "what is around the bags", choices=("op", "wide_and_deep", "dlrm")),
                _ZIPF,
                _THREADS,
                _SEED,
            ),
            measurement=1,
            seconds=6.0,
            methods=(*_GROUPED, *(m.name for m in GROUPED_RIVALS)),
        ),
        Benchmark(
            name="training",
            op="click_model",
            text="a DLRM-style click model trained and tested: AUC, logloss, memory, time of a step",
            module="bench_engine.benchmarks.training",
            axes=(
                Axis("dataset", str, "synthetic", "data set", choices=tuple(DATA_SETS)),
                Axis(
                    "split",
                    str,
                    "test",
                    "what is tested on: the test part, or what is cut off the training part",
                    choices=("test", "validation"),
                ),
                _DIM,
                _COMPRESSION,
                _BLOCK,
                *_PRUNING,
                Axis("batch_size", int, 1024, "examples per step B", low=2, high=1_000_000),
                Axis("threads", int, 2, "threads of the worker", low=1, high=1024),
                _SEED,
            ),
            measurement=3,
            seconds=8.0,
            methods=(*_OWN, *_TRAINED),  # rivals run lookups only
        ),
        Benchmark(
            name="collisions",
            op="embedding_bag",
            text="which rows of a compressed table are copies of others, and how many elements share a slot",
            module="bench_engine.benchmarks.collisions",
            axes=(
                Axis("num_rows", int, 100_000, "rows of the virtual table E", low=1, high=10_000_000),
                _DIM,
                _COMPRESSION,
                _BLOCK,
                _SEED,
            ),
            measurement=1,
            seconds=3.0,
            methods=tuple(_OWN),
        ),
        Benchmark(
            name="answering",
            op="answer",
            text="questions with known answers, asked of Mirror: how many are answered right, and how fast",
            module="bench_engine.benchmarks.answering",
            axes=(
                # No value is called "all": a question that says the word would mean it.
                Axis("category", str, _CATEGORIES[0], "kind of question", choices=_CATEGORIES),
                Axis("question_set", str, _QUESTION_SETS[0], "which questions", choices=_QUESTION_SETS),
                Axis("seed", int, 0, "number of the repeat; the questions are the same", low=0, high=2**31 - 1),
            ),
            measurement=1,
            seconds=15.0,
            methods=tuple(_READERS),
        ),
    )
}


def limits(low: float | None, high: float | None, word: str = " and ") -> str:
    """Both ends of a range, large whole numbers with all their digits; an end that there is not is a question mark."""
    return word.join("?" if end is None else f"{end:.15g}" for end in (low, high))


def method(name: str) -> Method:
    return SELF_CHECK_METHODS.get(name) or _find(name, METHODS, "method")


def benchmark(name: str) -> Benchmark:
    return _find(name, BENCHMARKS, "benchmark")


def data_set(name: str) -> DataSet:
    return _find(name, DATA_SETS, "data set")


def nearest(name: object, known: Iterable[str]) -> str:
    """`; did you mean X?` where a known name is close, else nothing."""
    close = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else ""


def _find(name: str, known: dict[str, T], kind: str) -> T:
    if name not in known:
        raise UnknownNameError(
            f"unknown {kind} {name!r}{nearest(name, known)} Known: {', '.join(known)}.".replace("' K", "'. K")
        )
    return known[name]

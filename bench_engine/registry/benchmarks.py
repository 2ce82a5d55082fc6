"""Benchmarks, with their axes and the methods that they can run.

To add one, write its module and add its entry here. An axis that is no column yet needs one in db/columns.py too.
"""

import importlib
from dataclasses import dataclass, field
from typing import Any

from bench_engine.methods.grouped import GROUPED
from bench_engine.methods.own import BAGS, PLAIN, QUANTIZED, STEPS, TRAINED
from bench_engine.methods.readers import READERS
from bench_engine.methods.rivals import GROUPED_RIVALS, LOOKUP_RIVALS
from bench_engine.registry.axes import (
    BLOCK,
    CACHE,
    COMPRESSION,
    DIM,
    DIRECTION,
    NUM_ROWS,
    OUTPUT,
    PADDING,
    POOLING,
    PRUNED,
    PRUNING,
    SEED,
    THREADS,
    ZIPF,
    Axis,
    choice,
)
from bench_engine.registry.datasets import DATA_SETS
from bench_engine.registry.methods import METHODS, OF_BENCHMARK
from bench_engine.registry.names import find
from db import installation


@dataclass(frozen=True)
class Benchmark:
    """One kind of experiment.

    Attributes:
        name: name in the results.
        op: what is computed.
        text: help, one line.
        module: module with `run(trial)`, a bench_engine.trial.Run; of a plug-in's, see bench_engine.registry.brought.
        axes: its axes; the seed is always the last.
        measurement: number of the measurement method; raise it when timing, training or the preparation of data
            changes, and trials run anew.
        seconds: rough time of one trial, for the estimate where no history exists.
        methods: registered methods that it can run; all unless given.
        starts: how often a trial's process is started at least; 1 where a start is the trial, as a training is.
        beside_memory: whether its trials are told beside what the memory of the machine gives, which is measured ahead.
    """

    name: str
    op: str
    text: str
    module: str
    axes: tuple[Axis, ...]
    measurement: int
    seconds: float
    methods: tuple[str, ...] = field(default_factory=lambda: tuple(METHODS))
    starts: int = 1
    beside_memory: bool = False

    def axis(self, name: str) -> Axis:
        """One of its axes. Raises UnknownNameError."""
        return find(name, {a.name: a for a in self.axes}, f"axis of benchmark {self.name}")

    def load(self) -> Any:
        """The module behind the entry (imports torch)."""
        return importlib.import_module(self.module)


def _categories() -> list[str]:
    """Of the questions that Mirror is asked, which stand in a file for each (docs/evaluation.md)."""
    files = sorted(installation.path("mirror/evaluation/questions").glob("*.yaml"))
    return [path.stem.partition("_")[2] for path in files]


_LOOKUP = (
    NUM_ROWS, DIM, COMPRESSION, BLOCK, POOLING,
    Axis("bag_size", int, 10, "ids per bag L", low=1, high=100_000),
    PADDING,
    Axis("batch_size", int, 512, "bags per call B", low=1, high=10_000_000),
    DIRECTION, ZIPF, CACHE,
    OUTPUT,
    THREADS, SEED,
)  # fmt: skip
_STEP_DIRECTIONS = ("forward", "forward_backward_update", "prune")
_EMBEDDING_STEP = (
    NUM_ROWS, DIM, COMPRESSION, *(axis for axis in PRUNING if axis.name in ("num_chunks", "layout")),
    Axis("optimizer", str, "adagrad", "what updates the weights", ("sgd", "adagrad", "rowwise_adagrad", "adam")),
    Axis("bag_size", int, 1, "ids per bag L", low=1, high=100_000),
    Axis("batch_size", int, 2048, "bags per step B", low=1, high=10_000_000),
    choice("direction", "what is timed: a lookup, a step, or a prune event", *_STEP_DIRECTIONS),
    ZIPF, CACHE, THREADS, SEED,
)  # fmt: skip
_BAG_SIZES = "ids per bag of the tables: bag_size for all, or MLPerf's multi-hot sizes in their order"
_GROUPED_LOOKUP = (
    Axis("num_tables", int, 26, "tables T", low=1, high=10_000),
    Axis("num_rows", int, 100_000, "rows of each table E", low=1, high=2**40),
    DIM, POOLING,
    choice("bag_sizes", _BAG_SIZES, "uniform", "mlperf"),
    Axis("bag_size", int, 1, "ids per bag L; 1 where bag_sizes is mlperf", low=1, high=100_000),
    Axis("batch_size", int, 64, "bags of each table per call B", low=1, high=10_000_000),
    DIRECTION,
    choice("structure", "how the bags stand in the model", "plain", "interleaved", "split_in", "concat_out"),
    choice("model", "what is around the bags", "op", "wide_and_deep", "dlrm", "transformer"),
    ZIPF, THREADS, SEED,
)  # fmt: skip
# As in bench_engine.methods.operators.memory_operators, which loads torch.
_OPERATORS = (
    "softmax", "log_softmax", "layer_norm", "rms_norm_residual", "bias_gelu", "swiglu", "sigmoid_chain", "sigmoid_bce",
    "transpose_add", "concat", "bags_concat", "interaction", "hashed_bag",
)  # fmt: skip
_MEMORY_OPS = (
    choice("operator", "the memory-bound operator", *_OPERATORS),
    choice("working_set", "what the bytes of a call fit in", "in_l2", "in_l3", "out_of_cache"),
    DIRECTION, OUTPUT, THREADS, SEED,
)  # fmt: skip
_SPLIT = "what is tested on: the test part, or what is cut off the training part"
_TRAINING = (
    choice("dataset", "data set", *DATA_SETS),
    choice("split", _SPLIT, "test", "validation"),
    DIM, COMPRESSION, BLOCK, *PRUNING,
    Axis("batch_size", int, 1024, "examples per step B", low=2, high=1_000_000),
    Axis("threads", int, 2, "threads of the worker", low=1, high=1024),
    SEED,
)  # fmt: skip
_COLLISIONS = (
    Axis("num_rows", int, 100_000, "rows of the virtual table E", low=1, high=10_000_000),
    DIM, COMPRESSION, BLOCK, SEED,
)  # fmt: skip
_DTYPES = (
    "float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64",
)  # fmt: skip
_SHAPE = r"[1-9]\d{0,11}(x[1-9]\d{0,11})*"
_SHAPES = "shapes of the inputs, such as 512x1024, several joined by +"
_CALLABLE = (
    # What there is comes from plug-ins (bench_engine.plugin.load).
    Axis("operator", str, "", "what is computed, as a plug-in declares it"),
    Axis("shape", str, "512x512", _SHAPES, pattern=rf"{_SHAPE}(\+{_SHAPE})*"),
    choice("dtype", "number type of the inputs", *_DTYPES),
    CACHE, OUTPUT, THREADS, SEED,
)  # fmt: skip
_ANSWERING = (
    # No value is called "all": a question that says the word would mean it.
    choice("category", "kind of question", "all_categories", *_categories()),
    choice("question_set", "which questions", "all_questions", "open", "held_out"),
    Axis("seed", int, 0, "number of the repeat; the questions are the same", low=0, high=2**31 - 1),
)

BENCHMARKS: dict[str, Benchmark] = {
    b.name: b
    for b in (
        Benchmark(
            "lookup",
            "embedding_bag",
            "one embedding-bag call: correctness, latency, bandwidth, memory",
            "bench_engine.benchmarks.lookup",
            _LOOKUP,
            measurement=4,
            seconds=6.0,
            methods=(*BAGS, *PLAIN, *QUANTIZED, *(m.name for m in LOOKUP_RIVALS)),
            starts=3,
            beside_memory=True,
        ),
        Benchmark(
            "embedding_step",
            "embedding_bag",
            "one embedding bag with its optimizer: correctness, time of a lookup, a step or a prune event, memory",
            "bench_engine.benchmarks.embedding_step",
            _EMBEDDING_STEP,
            measurement=1,
            seconds=10.0,
            methods=("dense", *STEPS, *PRUNED, "fiited_int8"),
            beside_memory=True,
        ),
        Benchmark(
            "grouped_lookup",
            "grouped_embedding_bag",
            "many tables looked up together, alone or in a whole model: correctness, latency, memory",
            "bench_engine.benchmarks.grouped_lookup",
            _GROUPED_LOOKUP,
            measurement=2,
            seconds=6.0,
            methods=(*GROUPED, *(m.name for m in GROUPED_RIVALS)),
            starts=3,
            beside_memory=True,
        ),
        Benchmark(
            "memory_ops",
            "memory_bound_operator",
            "one memory-bound operator: correctness, latency, bandwidth beside that of a copy, a cost model's regret",
            "bench_engine.benchmarks.memory_ops",
            _MEMORY_OPS,
            measurement=1,
            seconds=8.0,
            methods=tuple(OF_BENCHMARK["memory_ops"]),
        ),
        Benchmark(
            "callable",
            "callable",
            "any function or command that a plug-in declares: correctness, latency, bandwidth",
            "bench_engine.benchmarks.callables",
            _CALLABLE,
            measurement=1,
            seconds=6.0,
            methods=(),
            starts=3,
            beside_memory=True,
        ),
        Benchmark(
            "training",
            "click_model",
            "a DLRM-style click model trained and tested: AUC, logloss, memory, time of a step",
            "bench_engine.benchmarks.training",
            _TRAINING,
            measurement=3,
            seconds=8.0,
            methods=(*BAGS, *PLAIN, *QUANTIZED, *TRAINED),  # rivals run lookups only
        ),
        Benchmark(
            "collisions",
            "embedding_bag",
            "which rows of a compressed table are copies of others, and how many elements share a slot",
            "bench_engine.benchmarks.collisions",
            _COLLISIONS,
            measurement=1,
            seconds=3.0,
            methods=tuple(BAGS),
        ),
        Benchmark(
            "answering",
            "answer",
            "questions with known answers, asked of Mirror: how many are answered right, and how fast",
            "bench_engine.benchmarks.answering",
            _ANSWERING,
            measurement=1,
            seconds=15.0,
            methods=tuple(READERS),
        ),
    )
}


def benchmark(name: str) -> Benchmark:
    """A registered benchmark. Raises UnknownNameError."""
    return find(name, BENCHMARKS, "benchmark")

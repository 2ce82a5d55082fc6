"""Benchmarks, with their axes and the methods that they can run.

To add one, write its module and add its entry here. An axis that is no column yet needs one in db/columns.py too.
"""

import importlib
from dataclasses import dataclass, field
from typing import Any

from bench_engine.methods.grouped import GROUPED
from bench_engine.methods.own import BAGS, STEPS, TRAINED
from bench_engine.methods.readers import READERS
from bench_engine.methods.rivals import GROUPED_RIVALS, LOOKUP_RIVALS
from bench_engine.registry.axes import (
    BLOCK,
    COMPRESSION,
    DIM,
    DIRECTION,
    PADDING,
    POOLING,
    PRUNED,
    PRUNING,
    SEED,
    THREADS,
    ZIPF,
    Axis,
)
from bench_engine.registry.datasets import DATA_SETS
from bench_engine.registry.methods import METHODS
from bench_engine.registry.names import find
from db import installation


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
        methods: registered methods that it can run; all unless given.
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
        """One of its axes. Raises UnknownNameError."""
        return find(name, {a.name: a for a in self.axes}, f"axis of benchmark {self.name}")

    def load(self) -> Any:
        """The module behind the entry (imports torch)."""
        return importlib.import_module(self.module)


# The questions that Mirror is asked stand in a file for each category (docs/evaluation.md).
_QUESTION_FILES = sorted(installation.path("mirror/evaluation/questions").glob("*.yaml"))
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
                DIM,
                COMPRESSION,
                BLOCK,
                POOLING,
                Axis("bag_size", int, 10, "ids per bag L", low=1, high=100_000),
                PADDING,
                Axis("batch_size", int, 512, "bags per call B", low=1, high=10_000_000),
                DIRECTION,
                ZIPF,
                Axis("cache", str, "warm", "the processor's caches before a call", choices=("warm", "cold")),
                Axis("output", str, "fresh", "memory of the output", choices=("fresh", "preallocated")),
                THREADS,
                SEED,
            ),
            measurement=3,
            seconds=6.0,
            methods=(*BAGS, *(m.name for m in LOOKUP_RIVALS)),
        ),
        Benchmark(
            name="embedding_step",
            op="embedding_bag",
            text="one embedding bag with its optimizer: correctness, time of a lookup, a step or a prune event, memory",
            module="bench_engine.benchmarks.embedding_step",
            axes=(
                Axis("num_rows", int, 100_000, "rows of the virtual table E", low=1, high=2**40),
                DIM,
                COMPRESSION,
                *(axis for axis in PRUNING if axis.name in ("num_chunks", "layout")),
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
                ZIPF,
                Axis("cache", str, "warm", "the processor's caches before a call", choices=("warm", "cold")),
                THREADS,
                SEED,
            ),
            measurement=1,
            seconds=10.0,
            methods=("dense", *STEPS, *PRUNED),
        ),
        Benchmark(
            name="grouped_lookup",
            op="grouped_embedding_bag",
            text="many tables looked up together, alone or in a whole model: correctness, latency, memory",
            module="bench_engine.benchmarks.grouped_lookup",
            axes=(
                Axis("num_tables", int, 26, "tables T", low=1, high=10_000),
                Axis("num_rows", int, 100_000, "rows of each table E", low=1, high=2**40),
                DIM,
                POOLING,
                Axis(
                    "bag_sizes",
                    str,
                    "uniform",
                    "ids per bag of the tables: bag_size for all, or MLPerf's multi-hot sizes in their order",
                    choices=("uniform", "mlperf"),
                ),
                Axis("bag_size", int, 1, "ids per bag L; 1 where bag_sizes is mlperf", low=1, high=100_000),
                Axis("batch_size", int, 64, "bags of each table per call B", low=1, high=10_000_000),
                DIRECTION,
                Axis(
                    "structure",
                    str,
                    "plain",
                    "how the bags stand in the model",
                    choices=("plain", "interleaved", "split_in", "concat_out"),
                ),
                Axis("model", str, "op", "what is around the bags", choices=("op", "wide_and_deep", "dlrm")),
                ZIPF,
                THREADS,
                SEED,
            ),
            measurement=1,
            seconds=6.0,
            methods=(*GROUPED, *(m.name for m in GROUPED_RIVALS)),
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
                DIM,
                COMPRESSION,
                BLOCK,
                *PRUNING,
                Axis("batch_size", int, 1024, "examples per step B", low=2, high=1_000_000),
                Axis("threads", int, 2, "threads of the worker", low=1, high=1024),
                SEED,
            ),
            measurement=3,
            seconds=8.0,
            methods=(*BAGS, *TRAINED),  # rivals run lookups only
        ),
        Benchmark(
            name="collisions",
            op="embedding_bag",
            text="which rows of a compressed table are copies of others, and how many elements share a slot",
            module="bench_engine.benchmarks.collisions",
            axes=(
                Axis("num_rows", int, 100_000, "rows of the virtual table E", low=1, high=10_000_000),
                DIM,
                COMPRESSION,
                BLOCK,
                SEED,
            ),
            measurement=1,
            seconds=3.0,
            methods=tuple(BAGS),
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
            methods=tuple(READERS),
        ),
    )
}


def benchmark(name: str) -> Benchmark:
    """A registered benchmark. Raises UnknownNameError."""
    return find(name, BENCHMARKS, "benchmark")

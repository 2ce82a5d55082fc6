"""The columns of a trial: name, type, role, unit and meaning. Tables, views and the catalogue come from here."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

Role = Literal["key", "axis", "metric", "info"]


@dataclass(frozen=True)
class Column:
    """One column of the `results` view.

    Attributes:
        name: the column's name in SQL.
        type: text | integer | real | boolean | timestamp (naive UTC).
        text: what it means, one line; becomes the column comment and the help in the app.
        unit: unit of the value, empty for none.
        role: key (identifies a trial), axis (part of its configuration), metric (measured), info (about the run).
        better: which direction is better, for metrics where there is one.
        aggregate: how several trials become one number.
        workload: True for an axis that says what work is done, so that only equal values may be compared.
        implied: (benchmark, value) of an axis that came when results had been published: the value that its trials
            had before. Identities leave it out, and the views fill it in.
        signed: True for a metric that may be negative.
    """

    name: str
    type: Literal["text", "integer", "real", "boolean", "timestamp"]
    text: str
    unit: str = ""
    role: Role = "info"
    better: Literal["higher", "lower", ""] = ""
    aggregate: str = "avg"
    workload: bool = False
    implied: tuple[str, str | int] | None = None
    signed: bool = False


_axis = partial(Column, role="axis", workload=True)


def _metric(
    name: str,
    text: str,
    unit: str,
    better: Literal["higher", "lower", ""],
    type: Literal["integer", "real"] = "real",
    signed: bool = False,
) -> Column:
    return Column(name, type, text, unit, "metric", better, signed=signed)


_SAMPLE = "a sample is the mean of several calls when a call is short"

# The order is the order of the columns in the `results` view.
COLUMNS: tuple[Column, ...] = (
    Column("trial_id", "text", "identity of the trial and the number of the attempt", role="key"),
    Column("sweep", "text", "name of the sweep that ran the trial"),
    _axis(
        "benchmark",
        "text",
        "kind of experiment: lookup (one call timed), embedding_step (an embedding bag with its optimizer), "
        "grouped_lookup (many tables looked up together), memory_ops (a memory-bound operator), callable (any function "
        "or command of a plug-in), training (a click model trained and tested), collisions (rows that became alike) or "
        "answering (questions with known answers, asked of Mirror itself)",
    ),
    _axis("op", "text", "what is computed"),
    _axis("method", "text", "one way to compute the op: dense, hashed, quotient_remainder ...", workload=False),
    Column("is_baseline", "boolean", "whether the others of its group are compared with this method"),
    _axis("dataset", "text", "data set a click model was trained on"),
    _axis(
        "split",
        "text",
        "what a click model was tested on: test (the test part) or validation (cut from the training part)",
        implied=("training", "test"),
    ),
    _axis("device", "text", "cpu or cuda"),
    _axis("dtype", "text", "number type of the weights, or of the inputs of a callable"),
    _axis("threads", "integer", "threads of the host process", "threads"),
    _axis("num_tables", "integer", "number of embedding tables T", "tables"),
    _axis("num_rows", "integer", "rows of the embedding table E (training: the sum over tables)", "rows"),
    _axis("embedding_dim", "integer", "embedding dimension D of the uncompressed vector"),
    _axis(
        "compression",
        "real",
        "nominal fraction of the dense parameters kept; dense is 1, 0.1 is ten times smaller",
        workload=False,
    ),
    _axis("block_size", "integer", "neighbouring elements that share one hash", workload=False),
    _axis("num_chunks", "integer", "chunks k of a vector that live or are pruned one by one", workload=False),
    _axis("prune_interval", "integer", "training steps from one prune event to the next", "steps", workload=False),
    _axis("decay", "real", "what a chunk keeps of its utility at a prune event, a fraction", workload=False),
    _axis(
        "prune_scope",
        "text",
        "whose chunks share one budget: global (all), table (each table's) or column (each chunk position's)",
        workload=False,
    ),
    _axis(
        "utility_score",
        "text",
        "what a step adds to a chunk's utility: gradient, frequency*gradient or frequency",
        workload=False,
    ),
    _axis("layout", "text", "how chunks are addressed: compact (an index of live rows) or flat", workload=False),
    _axis("optimizer", "text", "what updates the weights: sgd, adagrad, rowwise_adagrad or adam"),
    _axis("pooling_mode", "text", "how the vectors of a bag become one: sum, mean or max"),
    _axis("bag_size", "integer", "ids per bag L", "ids"),
    _axis(
        "padding_idx",
        "integer",
        "id that fills up the bags of a lookup and is left out of them, -1 for none",
        implied=("lookup", -1),
    ),
    _axis(
        "bag_sizes", "text", "ids per bag of many tables: uniform (bag_size for all) or mlperf (DLRM-DCNv2 multi-hot)"
    ),
    _axis("batch_size", "integer", "bags or examples per call B"),
    _axis(
        "direction",
        "text",
        "what is timed: forward, forward_backward, forward_backward_update (with the optimizer) or prune (an event)",
    ),
    _axis(
        "structure",
        "text",
        "how bags looked up together stand in the model: plain, interleaved (each followed by its own relu), split_in "
        "(ids in one tensor) or concat_out (vectors joined)",
    ),
    _axis("model", "text", "what is around bags looked up together: op (nothing), wide_and_deep, dlrm or transformer"),
    _axis(
        "operator",
        "text",
        "which memory-bound operator memory_ops runs: softmax, layer_norm, concat ...; of callable what is computed",
    ),
    _axis(
        "working_set",
        "text",
        "what the bytes of one call of a memory-bound operator fit in on most processors: in_l2 (some 0.4 MB), in_l3 "
        "(some 7 MB) or out_of_cache (some 160 MB)",
    ),
    _axis("shape", "text", "shapes of the inputs of a callable: 512x1024, several joined by +"),
    _axis("zipf_s", "real", "exponent of the Zipf law the ids are drawn from; 0 is uniform"),
    _axis("cache", "text", "warm (as the calls before left the caches) or cold (flushed before every call)"),
    _axis("output", "text", "fresh (each call allocates its output) or preallocated (its memory is used again)"),
    _axis("category", "text", "kind of question that Mirror was asked (docs/evaluation.md), or all_categories"),
    _axis("question_set", "text", "which questions Mirror was asked: open, held_out or all_questions"),
    _axis("seed", "integer", "seed of data order, initial weights and requests", workload=False),
    _metric("auc", "area under the ROC curve on the test part", "", "higher"),
    _metric("logloss", "mean binary cross entropy on the test part", "", "lower"),
    _metric(
        "regret",
        "Bayes AUC minus AUC on planted data: what the best possible model is ahead",
        "",
        "lower",
        signed=True,  # chance may put a model ahead on a test part
    ),
    _metric("kept_share", "share of the planted dimensions that are kept after training, 0 to 1", "", "higher"),
    _metric(
        "restoration_lag_steps",
        "training steps from the swap in drifting data until ids that have become important are kept as others were",
        "steps",
        "lower",
        "integer",
    ),
    _metric("memory_mb", "bytes that inference must keep (parameters, index, metadata) / 1e6", "MB", "lower"),
    _metric(
        "metadata_mb",
        "bytes of memory_mb that are no weights (index, addresses, utilities, owners) / 1e6",
        "MB",
        "lower",
    ),
    _metric("optimizer_mb", "bytes of optimizer state / 1e6", "MB", "lower"),
    _metric(
        "peak_rss_mb",
        "peak resident memory of the trial's own process while it was timed or trained, libraries included / 1e6",
        "MB",
        "lower",
    ),
    _metric(
        "latency_us", "median time of one call at batch_size (training: one step, answering: one answer)", "µs", "lower"
    ),
    _metric("latency_p10_us", f"10th percentile of the samples; {_SAMPLE}", "µs", "lower"),
    _metric("latency_p90_us", f"90th percentile of the samples; {_SAMPLE}", "µs", "lower"),
    _metric("latency_p95_us", f"95th percentile of the samples; {_SAMPLE}", "µs", "lower"),
    _metric("latency_p99_us", f"99th percentile of the samples; {_SAMPLE}", "µs", "lower"),
    _metric(
        "prune_share",
        "time of a prune event over the time of the steps from one event to the next, a fraction",
        "",
        "lower",
    ),
    _metric("latency_ci_low_us", "lower end of the bootstrap 95 % interval of the median time", "µs", "lower"),
    _metric("latency_ci_high_us", "upper end of the bootstrap 95 % interval of the median time", "µs", "lower"),
    _metric("samples_per_s", "examples of the batch per second", "examples/s", "higher"),
    _metric(
        "bandwidth_gb_s",
        "bytes_moved per second / 1e9; of lookups those of the uncompressed one (ids, vectors, output), the same for "
        "all methods",
        "GB/s",
        "higher",
    ),
    _metric(
        "bandwidth_share",
        "bandwidth of a memory-bound operator over that of torch's copy of as many bytes into memory that is there, in "
        "turns beside it, at the same threads; above 1 where an operator writes less than it reads; of lookups over "
        "that of the machine's copy beyond its caches",
        "",
        "higher",
    ),
    _metric(
        "bytes_moved",
        "bytes that no way of computing an operator can save: its inputs and outputs once, of tables the rows that are "
        "named; of lookups ids, a float32 vector for each, and the output; counted from shapes, not by the processor",
        "bytes",
        "lower",
        "integer",
    ),
    _metric(
        "bytes_predicted",
        "bytes beyond the core's L2 cache that the compiler's cost model expects of the kernel that it chose; a store "
        "counts twice, for its line is read first",
        "bytes",
        "lower",
        "integer",
    ),
    _metric(
        "model_regret",
        "time of the candidate that the compiler's cost model ranks first over that of the fastest measured, minus 1",
        "",
        "lower",
    ),
    _metric(
        "model_rank_correlation",
        "Spearman's rank correlation of the times that the compiler's cost model predicts for its candidates and those "
        "measured",
        "",
        "higher",
        signed=True,
    ),
    _metric("speedup", "baseline median time / this median time, same axes, machine and sweep", "x", "higher"),
    _metric(
        "speedup_ci_low", "lower end of the bootstrap 95 % interval of the speedup, from paired turns", "x", "higher"
    ),
    _metric(
        "speedup_ci_high", "upper end of the bootstrap 95 % interval of the speedup, from paired turns", "x", "higher"
    ),
    Column(
        "verdict",
        "text",
        "against the baseline in paired turns: faster, slower, same, or unclear where the interval leaves it open",
    ),
    _metric("max_abs_error", "largest absolute difference from the float64 reference", "", "lower"),
    _metric(
        "duplicate_rows",
        "rows of a compressed table that are exact copies of others: all rows less the different ones",
        "rows",
        "lower",
        "integer",
    ),
    _metric("shared_slots", "share of a table's elements whose slot another element has too, 0 to 1", "", "lower"),
    _metric("right_share", "share of questions whose answer is right in every fixture", "", "higher"),
    _metric("right_ci_low", "lower end of the 95 % interval (Wilson) of the share of right answers", "", "higher"),
    _metric("right_ci_high", "upper end of the 95 % interval (Wilson) of the share of right answers", "", "higher"),
    _metric("wrong_share", "share of questions with a wrong answer; a refusal is none", "", "lower"),
    _metric("chart_share", "share of right answers with a chart that fits", "", "higher"),
    _metric("question_count", "number of questions that Mirror was asked", "questions", "", "integer"),
    _metric("sample_count", f"number of timed samples; {_SAMPLE}", "samples", "", "integer"),
    _metric("noise", "IQR / median of the timed samples, a fraction", "", "lower"),
    Column("stop_reason", "text", "why sampling stopped: noise_target, noise_stable, time_cap or fixed_count"),
    Column("group_id", "text", "identity of the group of trials that took turns on the machine"),
    Column("machine_id", "text", "identity of the machine"),
    Column("machine", "text", "name of the machine"),
    Column("started_at", "timestamp", "start of the trial, UTC"),
    Column("duration_s", "real", "whole trial, set-up included", "s", aggregate="sum"),
    Column("code_version", "text", "git commit of the code, + when there were uncommitted changes"),
)

BY_NAME: dict[str, Column] = {c.name: c for c in COLUMNS}
AXES: tuple[str, ...] = tuple(c.name for c in COLUMNS if c.role == "axis")
METRICS: tuple[str, ...] = tuple(c.name for c in COLUMNS if c.role == "metric")
# Axes that two trials may differ in and still be compared for speed (seed and size are what is varied).
GROUP_AXES: tuple[str, ...] = tuple(a for a in AXES if BY_NAME[a].workload)
# What the same work can be done with, beside the method: trials that differ in them are never taken together.
CHOICE_AXES: tuple[str, ...] = tuple(a for a in AXES if a not in (*GROUP_AXES, "method", "seed"))
IMPLIED: dict[str, tuple[str, str | int]] = {c.name: c.implied for c in COLUMNS if c.implied}
STATUSES: tuple[str, ...] = ("ok", "failed", "timeout", "oom", "cancelled", "skipped")

# -- metrics of plug-ins -----------------------------------------------------------------------------------------------

OWN_STEP = 0  # at which a trial's curves hold them; training counts its steps from 1
MOST_OWN = 60  # columns of them that a view has; more, as a broken journal may name, are points of curves alone
_OWN_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_OF_VIEWS = ("step", "metric", "value", "status", "error", "budget_share", "n", "trials")


def own_metric(name: str, text: str = "", unit: str = "", better: str = "") -> Column:
    """The column of a metric that a plug-in has declared."""
    direction: Literal["higher", "lower", ""] = "higher" if better == "higher" else "lower" if better == "lower" else ""
    return Column(name, "real", text or name.replace("_", " "), unit, "metric", direction, signed=True)


def is_own_name(name: str) -> bool:
    """Whether a metric of a plug-in can be a column of this name, which stands in SQL as it is."""
    return (
        bool(_OWN_NAME.fullmatch(name))
        and name not in BY_NAME
        and name not in _OF_VIEWS
        and name not in reserved_words()
    )


def own_columns(rows: Iterable[tuple[str, str, str, str]]) -> tuple[Column, ...]:
    """The columns of metrics of plug-ins, of their names, texts, units and better directions; in the order of names."""
    return tuple(own_metric(*row) for row in sorted(rows) if is_own_name(row[0]))[:MOST_OWN]


@cache
def reserved_words() -> frozenset[str]:
    """Words that SQL keeps for itself, as DuckDB has them."""
    import duckdb

    with duckdb.connect() as connection:
        words = connection.execute("SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'")
        return frozenset(str(word) for (word,) in words.fetchall())

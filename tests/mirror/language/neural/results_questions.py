"""Questions over the results, what they ask for, and what these results hold."""

import json
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from mirror.language.train.data.spec_text import asked_of
from mirror.query.spec import QuerySpec
from mirror.schema.profile import Profile

NOW = datetime(2026, 11, 18, 12)
_LOOKUP = {
    "method": ("dense", "hashed", "inductor", "quotient_remainder"), "batch_size": (64, 512, 2048),
    "embedding_dim": (16, 64), "compression": (0.05, 0.1, 1.0), "direction": ("forward", "forward_backward"),
    "threads": (1, 2), "machine": ("epyc-01", "laptop"), "cache": ("cold", "warm"), "num_rows": (10000, 1000000),
    "verdict": ("faster", "same", "slower"), "seed": (0, 1),
}  # fmt: skip
_TRAINING = {
    "method": ("dense", "fiited", "hashed", "quotient_remainder"), "dataset": ("frappe", "ml-206k", "synthetic"),
    "embedding_dim": (16, 64), "compression": (0.05, 0.1, 0.5, 1.0), "machine": ("epyc-01",), "seed": (0, 1, 2),
    "split": ("test",),
}  # fmt: skip
PROFILE = Profile(
    row_counts={"results": 600, "history": 700, "failures": 20, "curves": 4000, "machines": 2},
    distinct={name: tuple(sorted({*_LOOKUP.get(name, ()), *_TRAINING.get(name, ())}, key=str))
              for name in (*_LOOKUP, "dataset", "split")} | {"benchmark": ("lookup", "training")},
    distinct_by_benchmark={"lookup": _LOOKUP, "training": _TRAINING},
    filled_metrics={
        "lookup": frozenset(("latency_us", "latency_p99_us", "memory_mb", "samples_per_s", "speedup", "noise",
                             "bandwidth_gb_s", "speedup_ci_low", "sample_count")),
        "training": frozenset(("auc", "logloss", "memory_mb", "latency_us", "peak_rss_mb", "samples_per_s")),
    },
    baselines={"lookup": ("dense",)},
    started=("2026-10-01 00:00:00", "2026-11-18 10:00:00"),
    machines=2,
    curves=("auc", "live_dimensions", "loss"),
)  # fmt: skip
QUESTIONS = (
    "AUC by method on frappe at compression 0.1",
    "mean logloss per method for ml-206k, dim 64",
    "which method has the best AUC under 2 MB?",
    "fastest lookup at batch size 512, forward",
    "top 3 methods by AUC on synthetic",
    "top 5 slowest lookups at dim 64",
    "memory vs AUC on ml-206k",
    "memory against logloss at compression 0.05",
    "which methods are not dominated on memory and AUC on frappe?",
    "pareto front of latency and memory for lookups at batch size 64",
    "memory of hashed relative to dense on synthetic",
    "how much AUC does hashed lose against dense at 0.1?",
    "how many times faster is hashed than dense at batch size 512?",
    "is hashed faster than dense at batch size 2048?",
    "which lookups are slower than dense?",
    "how many trials are there?",
    "number of trials per method since 2026-11-01",
    "how many data sets do we have?",
    "how many seeds has each method on frappe?",
    "which trials failed?",
    "how many trials timed out by method?",
    "what failed on synthetic and why?",
    "loss over training for hashed at compression 0.1",
    "live dimensions over training for fiited on frappe",
    "final loss by method on ml-206k",
    "AUC and loss over training for dense",
    "latency of hashed over time",
    "how has latency of hashed lookups changed since monday?",
    "did the AUC of fiited get worse since 2026-11-10?",
    "latest 10 trials of hashed",
    "what did we measure last week?",
    "latency of dense lookups in October 2026",
    "AUC by compression for hashed as a line chart",
    "distribution of latency by method for lookups",
    "latency by batch size for dense, log scale",
    "lookups under 0.1 ms at dim 16",
    "lookups with more than 20 GB/s",
    "methods with memory below 500 kB on frappe",
    "AUC of fiited with 95 % pruned",
    "AUC of hashed at 10x and 20x smaller on frappe",
    "lookup latency with 1M rows",
    "AUC between 0.7 and 0.8 by method on frappe",
    "latency for batch sizes 64, 512 and 2048 by method",
    "AUC by method on frappe without dense",
    "latency of lookups except inductor and hashed at dim 16",
    "compare hashed and quotient_remainder on synthetic",
    "why is hashed slower than dense at batch size 512?",
    "cold vs warm cache latency for dense lookups",
    "laptop vs epyc-01, latency of dense lookups",
    "which machine is fastest for hashed lookups?",
    "smallest memory without losing quality on frappe",
    "AUC by method within 0.005 of dense on frappe",
    "average AUC over all data sets by method at 0.1",
    "lowest and highest AUC per data set for fiited",
    "median latency by method in lookups",
    "speedup by batch size for hashed",
    "p99 of dense at the largest batch size",
    "throughput by method with 2 threads, highest first",
    "which CPU does epyc-01 have?",
    "best AUC per data set",
)  # fmt: skip


def form_of(question: str) -> QuerySpec:
    """What one of the questions asks for."""
    return asked_of(_forms()[question])


@cache
def _forms() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("results_forms.json").read_text())
    return found

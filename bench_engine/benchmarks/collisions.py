"""How many rows of a compressed table are copies of others, and how many elements share their slot. Nothing is timed.

duplicate_rows is E less the number of different rows of the whole table, as the module materializes it in float64 from
its initial weights: a method whose rows differ in all their elements has none, whatever it shares. shared_slots is the
share of the E x D elements whose slot another element has too; only methods with slots have it.
"""

import numpy as np
import torch

from bench_engine.benchmarks.modules import DEVICE, OutOfReachError, build, megabytes
from bench_engine.kernels.hashed.hashed_table import HashedTable
from bench_engine.trial import Run, Trial, TrialResult

_CHUNK_ROWS = 1 << 16  # rows whose slots are found at a time


def run(trial: Trial) -> Run:
    """Count, in one turn."""
    if not (yield "more"):
        return TrialResult("failed", error="It was ended before anything was counted.")
    rows, seed = int(trial.config["num_rows"]), int(trial.config["seed"])
    torch.manual_seed(seed)
    try:
        module = build(trial, rows, "sum")
    except OutOfReachError as error:
        return TrialResult("skipped", error=str(error))
    megabytes_kept = megabytes(module)
    module = module.double()
    torch.manual_seed(seed)
    # Drawn in float64, where equal numbers are not to be had by chance, by those that can: all but some of plug-ins.
    if callable(reset := getattr(module, "reset_parameters", None)):
        reset()
    return TrialResult(
        "ok",
        {
            "device": DEVICE,
            "num_tables": 1,
            "memory_mb": megabytes_kept,
            "duplicate_rows": duplicate_rows(module.materialize().numpy()),
            "shared_slots": shared_slots(module) if isinstance(module, HashedTable) else None,
        },
        stop_reason="fixed_count",
    )


def duplicate_rows(table: np.ndarray) -> int:
    """Rows (E, D) less the different ones among them."""
    whole = np.ascontiguousarray(table).view(np.dtype((np.void, table.dtype.itemsize * table.shape[1])))
    return len(table) - len(np.unique(whole))


def shared_slots(module: HashedTable) -> float:
    """The share of all elements whose slot another element has too."""
    layout = module.layout
    used = torch.zeros(layout.num_slots, dtype=torch.int64)
    for start in range(0, module.num_embeddings, _CHUNK_ROWS):
        rows = torch.arange(start, min(start + _CHUNK_ROWS, module.num_embeddings))
        used += torch.bincount(layout.slots(rows).reshape(-1), minlength=layout.num_slots)
    return float(used[used > 1].sum() / used.sum())

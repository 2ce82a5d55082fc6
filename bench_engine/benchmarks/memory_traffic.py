"""The bytes that a lookup moves, how fast it moved them beside what the memory of this machine gives, and its flops.

`bytes_moved` are those that its shapes name, the same for all methods: a vector for each id, the ids, the output.
`touched_bytes` are a method's own: whole cache lines of all the places that it reads, as its entry declares them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bench_engine import registry
from bench_engine.machine import bandwidth
from bench_engine.methods.method import Reads
from bench_engine.trial import Scalar, Trial

ID_BYTES, NUMBER_BYTES = 8, 4


def metrics(moved: int, latency_us: float, config: Mapping[str, Scalar]) -> dict[str, Any]:
    """`bytes_moved`, `bandwidth_gb_s`, and `bandwidth_share` where this machine's copy is known."""
    rate = moved / latency_us / 1e3
    known = bandwidth.undisturbed(int(config.get("threads", 1)))
    return {
        "bytes_moved": moved,
        "bandwidth_gb_s": rate,
        **({"bandwidth_share": rate / known.copy_gb_s} if known else {}),
    }


def facts(
    trial: Trial, bags: Sequence[tuple[int, int]], dim: int, reads: Reads | None = None, left_out: float = 0.0
) -> dict[str, Any]:
    """For a trial's environment: its flops, the bytes that its method touches where that is declared, and what the
    memory of this machine gives.

    Args:
        bags: of each table, how many bags a call has and how many ids a bag.
        dim: numbers of a vector.
        reads: what all methods read for an id, where the entry of none says it.
        left_out: ids of a call that have no vector, those of padding.
    """
    declared = registry.method(trial.method, trial.benchmark).reads
    reads = declared(trial.config) if declared else reads
    return {
        "flops": max(0, round(sum(count * max(0, size - 1) * dim for count, size in bags) - left_out * dim)),
        **({"touched_bytes": round(touched_bytes(reads, bags, dim) - left_out * reads.line_bytes)} if reads else {}),
        **roofs(trial.config, reads.size if reads else dim * NUMBER_BYTES),
    }


def roofs(config: Mapping[str, Scalar], row_bytes: int = 0) -> dict[str, float]:
    """What the memory of this machine gives, where that is known; of random rows where they have a size."""
    if not (known := bandwidth.undisturbed(int(config.get("threads", 1)))):
        return {}
    gathered = {"gather_gb_s": known.gather_gb_s(row_bytes)} if row_bytes else {}
    return {"copy_gb_s": known.copy_gb_s, **gathered, "peak_gflops": known.peak_gflops}


def touched_bytes(reads: Reads, bags: Sequence[tuple[int, int]], dim: int) -> int:
    """Cache lines that the lookups of a call read, with their ids and the output."""
    ids, outputs = sum(count * size for count, size in bags), sum(count for count, _ in bags)
    return round(ids * (ID_BYTES + reads.line_bytes) + outputs * dim * NUMBER_BYTES)

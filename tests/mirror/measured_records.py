"""Results of made-up trials, to ask about."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from bench_engine.registry import BENCHMARKS
from bench_engine.trial import Trial
from db.columns import AXES
from db.record import Record
from db.store import Store


def record(
    benchmark: str, method: str, axes: Mapping[str, object], measured: Mapping[str, float], baseline: str = "dense"
) -> Record:
    """One trial that came to an end, of a sweep named after its benchmark."""
    planned = Trial(benchmark, method, axes)  # type: ignore[arg-type]
    identity = planned.identity("", "m1", 1)
    row = {
        "trial_id": f"{identity}-1", "identity": identity, "status": "ok", "benchmark": benchmark, "method": method,
        "op": BENCHMARKS[benchmark].op, "is_baseline": method == baseline, "device": "cpu", "sweep": benchmark,
        "machine_id": "m1", "started_at": datetime(2026, 11, 1), "duration_s": 1.0, "code_version": "abc",
        "configuration": planned.configuration(), "comparison": planned.comparison(),
        **{k: v for k, v in axes.items() if k in AXES}, **measured,
    }  # fmt: skip
    machine, sweep = {"machine_id": "m1", "name": "test machine"}, {"sweep_id": benchmark, "name": benchmark}
    return Record(row, (1.0,), (), machine, sweep)


def stored(records: Iterable[Record], folder: Path) -> str:
    """A new file that holds them."""
    path = str(folder / "measured.duckdb")
    store = Store(path)
    store.ensure()
    store.add(list(records))
    store.checkpoint()
    return path

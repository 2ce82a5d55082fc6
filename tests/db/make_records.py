"""Records to fill a journal or a store with."""

from datetime import datetime, timedelta

from db.columns import AXES, GROUP_AXES
from db.record import Record


def make_record(number: int = 0, **trial: object) -> Record:
    """A record; `number` sets it apart, `trial` changes columns."""
    identity = str(trial.pop("identity", f"{number:04x}"))
    attempt = trial.pop("attempt", 1)
    row = {
        "trial_id": f"{identity}-{attempt}", "identity": identity, "status": "ok", "benchmark": "lookup",
        "op": "embedding_bag", "method": "dense", "sweep": "s", "is_baseline": True, "batch_size": 64, "seed": number,
        "compression": 1.0, "latency_us": 10.0, "machine_id": "m1", "duration_s": 1.0, "code_version": "v",
        "started_at": datetime(2026, 11, 1) + timedelta(minutes=number), **trial,
    }  # fmt: skip
    row = {"configuration": key(row, AXES), "comparison": key(row, GROUP_AXES), **row}
    machine = {"machine_id": "m1", "name": "machine one", "cores": 2}
    sweep = {"sweep_id": "s1", "name": "s", "spec": "benchmark: lookup", "started_at": datetime(2026, 11, 1)}
    latency_us = row["latency_us"]
    samples_us = (1.0, 2.0) if latency_us is None else (0.5 * latency_us, 1.5 * latency_us)
    return Record(row, samples_us, (("loss", 1, 0.5),), machine, sweep)


def key(row: dict[str, object], axes: tuple[str, ...]) -> str:
    """Stands in for the hash of what was planned."""
    return repr({axis: row[axis] for axis in axes if axis in row})

"""Runs of methods at made commits, as records for a store."""

from datetime import datetime, timedelta

from bench_engine.trial import Trial
from db.record import Record

COMMITS = [f"c{number:06d}" for number in range(12)]


def run(method: str, us: float, commit: str, number: int, speedup: float = 2.0, **columns: object) -> Record:
    """A run of a method at a commit; its interval is a percent wide."""
    axes = {"batch_size": 64, "compression": 1.0, "seed": 0, "method": method}
    trial = Trial("lookup", method, {k: v for k, v in axes.items() if k != "method"})
    row = {
        "trial_id": f"{method}{commit}-{number}", "identity": f"{method}{commit}", "status": "ok",
        "benchmark": "lookup", "op": "bag", "is_baseline": method == "dense", "sweep": "quick",
        "configuration": trial.configuration(), "comparison": trial.comparison(), "machine_id": "m1",
        "code_version": commit, "started_at": datetime(2026, 11, 1) + timedelta(hours=number), "latency_us": us,
        "latency_ci_low_us": us * 0.995, "latency_ci_high_us": us * 1.005, "baseline_latency_us": us * speedup,
        "speedup_ci_low": speedup * 0.995, "speedup_ci_high": speedup * 1.005, **axes, **columns,
    }  # fmt: skip
    return Record(row, (), (), {"machine_id": "m1", "name": "box"}, {})

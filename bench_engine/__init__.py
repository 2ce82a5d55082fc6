"""A sweep becomes measured trials: plan, run, measure, journal. Loads without torch; only a worker imports it."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "bench":  # loaded on first use: a worker needs none of it
        from bench_engine.command.notebook import bench

        return bench
    raise AttributeError(name)

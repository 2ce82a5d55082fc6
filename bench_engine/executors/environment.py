"""What a worker is started with: its interpreter, and the variables that libraries read when they are loaded."""

import os

from bench_engine.registry import method
from bench_engine.trial import Trial
from db.settings import ROOT

# Keeps all memory that is freed mapped, and takes none from mmap, so that an output of any size lies where the last
# one lay (mallopt(3)). Without it outputs above 32 MiB are mapped, and their pages faulted in, by every call.
_KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**62), "MALLOC_TOP_PAD_": str(64 * 2**20)}


def interpreter(trial: Trial) -> list[str]:
    """The start of the command: a rival may have an environment of its own."""
    return [method(trial.method).python(), "-P"]


def worker_environment(trial: Trial) -> dict[str, str]:
    """Variables of a worker: threads pinned before any library reads them."""
    threads = int(trial.config.get("threads", 1))
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    return {
        **os.environ,
        "PYTHONPATH": path,
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        # Spinning threads on a busy machine slow one another down by orders of magnitude.
        "OMP_WAIT_POLICY": "PASSIVE",
        **method(trial.method).environ(threads),
        **(_KEEP_MEMORY if trial.config.get("output") == "preallocated" else {}),
    }

"""What a worker is started with: its interpreter, and the variables that libraries read when they are loaded."""

import contextlib
import os
import subprocess
from functools import cache

from bench_engine.registry import method
from bench_engine.trial import Trial
from db.installation import python_path

# Keeps all memory that is freed mapped, and takes none from mmap, so that an output of any size lies where the last
# one lay (mallopt(3)). Without it outputs above 32 MiB are mapped, and their pages faulted in, by every call.
_KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**62), "MALLOC_TOP_PAD_": str(64 * 2**20)}


def interpreter(trial: Trial) -> list[str]:
    """The start of the command: a rival may have an environment of its own."""
    return [*same_addresses(), method(trial.method, trial.benchmark).python(), "-P"]


@cache
def same_addresses() -> list[str]:
    """What lets a process have its code and data where every other has them; nothing where that may not be (Linux).

    Processes that run the very same code at random addresses differ by one or two per cent for as long as they live.
    """
    command = ["setarch", "-R"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        if subprocess.run([*command, "true"], capture_output=True, timeout=10, check=False).returncode == 0:
            return command
    return []


def worker_environment(trial: Trial) -> dict[str, str]:
    """Variables of a worker: threads pinned before any library reads them."""
    threads = int(trial.config.get("threads", 1))
    return {
        **of_threads(threads),
        **method(trial.method, trial.benchmark).environ(threads),
        **(_KEEP_MEMORY if trial.config.get("output") == "preallocated" else {}),
    }


def of_threads(threads: int) -> dict[str, str]:
    """Variables of whatever is measured with so many threads."""
    # Whoever switched Parallel OP on for all, or set it: a method says by itself how it wants it.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MIRROR_PARALLEL_OP")}
    return {
        **inherited,
        "PYTHONPATH": python_path(),
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "PYTHONHASHSEED": "0",  # the order of sets and the collisions in dicts, for the same reason
        # Spinning threads on a busy machine slow one another down by orders of magnitude.
        "OMP_WAIT_POLICY": "PASSIVE",
    }

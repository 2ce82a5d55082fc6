"""The network computes on one thread, and no program that is started beside it is held to that."""

import os
import subprocess
import sys

import pytest

THREADS = "OPENBLAS_NUM_THREADS"
PROGRAM = f"""import os
import mirror.language.neural.network
print(len(os.listdir("/proc/self/task")), os.environ.get("{THREADS}"))"""


def told(**more: str) -> list[str]:
    left = {name: value for name, value in os.environ.items() if name != THREADS}
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=left | more, capture_output=True, text=True, check=True)
    return run.stdout.split()


@pytest.mark.skipif(sys.platform != "linux", reason="counts the threads that Linux tells of")
def test_numpy_starts_no_threads_and_the_environment_is_left_as_it_was() -> None:
    assert told() == ["1", "None"]
    assert told(**{THREADS: "1"}) == ["1", "1"]

"""Scripts in processes of their own, as a user starts them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def run(code: str, *, timeout: float = 120, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script with these variables set and no others of Parallel OP; it has to end well."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MIRROR_PARALLEL_OP")}
    environment["OMP_WAIT_POLICY"] = "PASSIVE"  # spinning threads would wait for those of other tests
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done

"""A Ray cluster on one host: each node has a host name and processes of its own, which all die at once with it.

A node is a few Linux namespaces. Killed, it is gone as a machine is that lost its power: no process of it is left.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

_NAMESPACES = ["unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
_AS_ROOT = ["--user", "--map-root-user"]
_START_S = 90.0


def missing() -> str:
    """Why there can be no such cluster here; empty when there can."""
    if shutil.which("unshare") is None or shutil.which("setpriv") is None:
        return "needs unshare and setpriv (util-linux)"
    done = subprocess.run([*namespaces(), "true"], capture_output=True, text=True, check=False)
    return f"needs namespaces: {done.stderr.strip()}" if done.returncode else ""


def namespaces() -> list[str]:
    """The start of a command that runs on a machine of its own: with host name, processes and mounts of its own."""
    return _NAMESPACES if os.geteuid() == 0 else [*_NAMESPACES, *_AS_ROOT]


class Machines:
    """The nodes of a cluster. Use as a context manager: nothing of them is left behind."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        """`environment` is added to that of every node."""
        self.folder = Path(tempfile.mkdtemp(prefix="ray-"))  # short: names of sockets have at most 107 letters
        (self.folder / "ray").mkdir()
        self._environment = {
            **os.environ,
            **(environment or {}),
            "RAY_TMPDIR": str(self.folder),
            "RAY_USAGE_STATS_ENABLED": "0",
            # A node that is gone is noticed within two seconds.
            "RAY_health_check_initial_delay_ms": "1000",
            "RAY_health_check_period_ms": "500",
            "RAY_health_check_timeout_ms": "1000",
            "RAY_health_check_failure_threshold": "3",
        }
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"

    def __enter__(self) -> "Machines":
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._processes):
            self.kill(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *names: str, head: bool = False, **environment: str) -> None:
        """Start nodes that do not run; those that do are left alone. Returns when they have joined."""
        new = [name for name in names if name not in self._processes]
        for name in new:
            where = [f"--port={self.address.rpartition(':')[2]}", "--head", "--include-dashboard=false"]
            ray = [
                str(Path(sys.executable).with_name("ray")),
                "start",
                "--block",
                "--disable-usage-stats",
                "--node-ip-address=127.0.0.1",
                "--num-cpus=1",
                "--object-store-memory=80000000",
                *(where if head else [f"--address={self.address}"]),
            ]
            # Files of its own too: nodes that start at the same moment would choose the same names of sockets.
            prepare = "" if head else f"mount -t tmpfs tmpfs {self.folder}/ray && "
            command = [*namespaces(), "sh", "-c", prepare + 'hostname "$0" && exec "$@"', name, *ray]
            own = {"MIRROR_LOCK": str(self.lock(name)), "MIRROR_MACHINE": name}
            with self._log(name).open("wb") as log:
                self._processes[name] = subprocess.Popen(
                    ["setpriv", "--pdeathsig", "KILL", *command],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**self._environment, **own, **environment},
                    cwd=self.folder,
                )
        limit = time.monotonic() + _START_S
        for name in new:
            while b"Ray runtime started" not in (said := self._log(name).read_bytes()):
                if time.monotonic() > limit or self._processes[name].poll() is not None:
                    raise RuntimeError(f"Node {name} did not start: {said.decode(errors='replace')}")
                time.sleep(0.1)

    def kill(self, name: str) -> None:
        """End every process of a node at once, without a word to anybody."""
        process = self._processes.pop(name)
        with contextlib.suppress(psutil.NoSuchProcess):
            for first in psutil.Process(process.pid).children():  # of its namespace: it takes all others with it
                first.kill()
        process.wait()

    def lock(self, name: str) -> Path:
        """The file that a run on this node holds."""
        return self.folder / f"{name}.lock"

    def workers(self) -> list[psutil.Process]:
        """All processes on the nodes that run a trial."""
        found = []
        for process in self._processes.values():
            for child in psutil.Process(process.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if "bench_engine.run.worker" in child.cmdline():
                        found.append(child)
        return found

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

"""An existing Ray cluster: connected to without its chatter, its nodes, and an actor on one of them."""

import contextlib
import logging
import os
import signal
import socket
import time
from collections.abc import Iterator
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from bench_engine.run.executors import ExecutorError
from bench_engine.run.executors.ray_node import Node

_ANSWER_S = 3.0
_HEAD_S = 20.0  # Ray itself ends the whole process, without a word, when the head has been gone for 60 s
_HTTP2_SETTINGS = b"\x04"  # type of the frame that each side sends first (RFC 9113, 3.4)
_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + _HTTP2_SETTINGS + b"\0" * 5


class Cluster:
    """A cluster that this process is connected to."""

    def __init__(self, address: str) -> None:
        """`address` is HOST:PORT of the cluster's head, or auto. Raises ExecutorError."""
        if address == "auto" and not (address := _here()):
            raise ExecutorError(
                "No Ray cluster runs here: start one with `ray start --head`, or name the HOST:PORT of its head with "
                "--ray-address."
            )
        if not _answers(address):
            raise ExecutorError(
                f"No Ray cluster answers at {address}: give the HOST:PORT of the head of a running Ray cluster with "
                "--ray-address, or start one with `ray start --head`."
            )
        # What Ray prints of its own nodes' troubles, tails of logs among it; log_to_driver does not cover that.
        ray._private.worker._worker_logs_enabled = False
        with _signals_kept():
            try:
                ray.init(
                    address=address,
                    namespace="mirror",
                    log_to_driver=False,
                    logging_level=logging.CRITICAL,
                    _skip_env_hook=True,
                )
            except (RuntimeError, ValueError, OSError, RayError) as error:
                raise _unusable(address, error) from error
        self.address = ray.get_runtime_context().gcs_address
        self._answered_at = time.monotonic()

    @staticmethod
    def close() -> None:
        """Leave the cluster, which goes on."""
        with _signals_kept():
            ray.shutdown()

    def nodes(self) -> dict[str, str] | None:
        """Node id -> host name of the nodes that are alive; None while the head does not answer: all that has to do
        with it would wait for it. Raises ExecutorError when the head is gone."""
        if _answers(self.address):
            with contextlib.suppress(RuntimeError, RayError):
                found = {n["NodeID"]: n["NodeManagerHostname"] for n in ray.nodes() if n["Alive"]}
                self._answered_at = time.monotonic()
                return found
        if time.monotonic() - self._answered_at > _HEAD_S:
            raise ExecutorError(
                f"The head of the Ray cluster at {self.address} has not answered for {_HEAD_S:g} s: start the cluster "
                "again, then give the same command; what is finished is kept."
            )
        return None

    @staticmethod
    def actor(node_id: str) -> Any:
        """The engine on a node. It takes no share of what Ray counts, and is called by two threads: one runs groups,
        the other ends them."""
        return (
            ray.remote(Node)
            .options(
                num_cpus=0,
                max_concurrency=2,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False),
            )
            .remote()
        )


def _here() -> str:
    """RAY_ADDRESS, else the head of the cluster that runs on this machine; empty for none."""
    if (given := os.environ.get("RAY_ADDRESS", "auto")) not in ("", "auto"):
        return given
    try:
        return ray._private.services.canonicalize_bootstrap_address("auto") or ""
    except (ConnectionError, RuntimeError, ValueError, OSError):
        return ""


def _answers(address: str) -> bool:
    """Whether a head can be there: something that speaks HTTP/2, as gRPC does. Ray itself would wait for minutes."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _ANSWER_S) as connection:
            if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
                return True
            connection.sendall(_HTTP2_PREFACE)
            return connection.recv(9)[3:4] == _HTTP2_SETTINGS
    except (OSError, ValueError, OverflowError):
        return False


def _unusable(address: str, error: Exception) -> ExecutorError:
    said = " ".join(str(error).split())[:400].rstrip(".")
    return ExecutorError(
        f"The Ray cluster at {address} cannot be used ({said}): give this command on a machine of the cluster, with "
        f"the cluster's Python and Ray; here is Ray {ray.__version__}."
    )


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray takes SIGTERM for itself."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

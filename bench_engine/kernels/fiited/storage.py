"""Makes the compiled storage of a FIITED table; its operations are in csrc/fiited/storage.h."""

from collections.abc import Sequence
from typing import Any

import torch

from bench_engine.kernels.native import extension

LAYOUTS = ("compact", "flat")


def check_device(layout: str, device: torch.device) -> None:
    """Raises ValueError for a device that the layout cannot be on, RuntimeError for a GPU that torch does not see."""
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"a FIITED table is on the CPU or on a CUDA GPU, not on {device}")
    if device.type == "cuda" and layout != "flat":
        raise ValueError(f'layout={layout!r} is for the CPU: on {device} take layout="flat"')
    if device.type == "cuda" and not torch.cuda.is_available():
        why = "finds no GPU" if torch.version.cuda else "was built without CUDA: install one with it"
        raise RuntimeError(f"a FIITED table cannot be on {device}, since this torch {why}")


def make(
    layout: str,
    table_ends: Sequence[int],
    embedding_dim: int,
    num_chunks: int,
    capacity: int,
    scope: str,
    ttl: int,
    admission_filter: int,
    device: torch.device | None = None,
) -> Any:
    """An empty storage for `capacity` live chunks, on the CPU unless a device is given.

    Raises KernelsNotBuiltError, ValueError, RuntimeError where the kernels were built without CUDA.
    """
    extension.load()
    where = device or torch.device("cpu")
    form = "flat_cuda" if where.type == "cuda" else layout
    cls = torch.classes.mirror.FiitedStorage
    return cls(form, list(table_ends), embedding_dim, num_chunks, capacity, scope, ttl, admission_filter, where)

"""Makes the compiled storage of a FIITED table; its operations are in csrc/fiited_storage.h."""

from collections.abc import Sequence
from typing import Any

import torch

from bench_engine.kernels import extension

LAYOUTS = ("compact", "flat")


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
    """An empty storage for `capacity` live chunks. Raises KernelsNotBuiltError, ValueError."""
    extension.load()
    where = device or torch.device("cpu")
    form = f"{layout}_cuda" if where.type == "cuda" else layout
    cls = torch.classes.mirror.FiitedStorage
    return cls(form, list(table_ends), embedding_dim, num_chunks, capacity, scope, ttl, admission_filter, where)

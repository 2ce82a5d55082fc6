"""Loads the ops of quantized rows and tells torch what a lookup looks like. Their schema: csrc/quantized/."""

import threading
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.native import extension

_ready = False
_registering = threading.Lock()


def load() -> None:
    """Load the compiled kernels and register what export needs from Python, once. Raises KernelsNotBuiltError."""
    global _ready
    with _registering:
        if not _ready:
            extension.load()
            torch.library.register_fake("mirror::quantized_pool", _fake_pool)
            torch.library.register_fake("mirror::live_pool", _fake_live_pool)
            _ready = True


def _fake_pool(
    rows: Tensor, ids: Tensor, offsets: Tensor | None, samples: Tensor | None, storage: str, dim: int, *_: Any
) -> Tensor:
    return rows.new_empty((ids.size(0) if offsets is None else offsets.size(0), dim), dtype=torch.float32)


def _fake_live_pool(buckets: Tensor, rows: Tensor, ids: Tensor, *rest: Any) -> Tensor:
    return _fake_pool(rows, ids, *rest)

"""Builds the embedding module of a trial, and says what it weighs.

A method may say of itself what is else told by its parameters, and have what most do not need:

    needs_counts = True                 the constructor takes counts=, int64 (E,): how often each row is looked up in
                                        the training part
    needs_tables = True                 the constructor takes tables=: rows of the tables that the joint one is made of
    training_optimizer(lr, eps)         an optimizer of its own (Adagrad), beside that of the rest of the model
    memory_bytes()                      what inference must keep; by default parameters and buffers
    metadata_bytes()                    how much of that is no weights; by default nothing
    optimizer_bytes(optimizer)          the optimizer's state; by default what it keeps for the parameters
    statistics()                        name -> number: points of its curves over training; by default none
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bench_engine import registry
from bench_engine.data import ClickData
from bench_engine.kernels.bags import EmbeddingBagMethod
from bench_engine.trial import Trial

DEVICE = "cpu"
DTYPE = "float32"
NO_PADDING = -1  # value of the axis padding_idx


class OutOfReachError(ValueError):
    """A method cannot be built at this size and compression; the message is the method's own sentence."""


def build(trial: Trial, num_rows: int, mode: str, data: ClickData | None = None) -> EmbeddingBagMethod:
    """The method's module with its own initial weights, drawn after torch.manual_seed.

    `data` are what it will be trained on, where there is training. Raises OutOfReachError.
    """
    entry = registry.method(trial.method)
    method = entry.load()
    dim, compression = int(trial.config["embedding_dim"]), float(trial.config["compression"])
    keywords: dict[str, Any] = entry.keywords(trial.config)
    if (padding := int(trial.config.get("padding_idx", NO_PADDING))) != NO_PADDING:
        keywords["padding_idx"] = padding
    if getattr(method, "needs_counts", False):
        if data is None:
            raise OutOfReachError(f"{trial.method} needs the frequencies of ids in training, which there is none of.")
        keywords["counts"] = torch.from_numpy(np.bincount(data.train_ids.reshape(-1), minlength=num_rows))
    if data is not None and getattr(method, "needs_tables", False):
        keywords["tables"] = data.field_rows
    try:
        return method(num_rows, dim, compression=compression, mode=mode, **keywords)
    except ValueError as error:
        raise OutOfReachError(f"{trial.method} cannot be run here: {error}") from error


def megabytes(module: nn.Module) -> float:
    """Bytes that inference must keep / 1e6."""
    if own := getattr(module, "memory_bytes", None):
        return own() / 1e6
    return sum(t.nbytes for t in (*module.parameters(), *module.buffers())) / 1e6


def metadata_megabytes(module: nn.Module) -> float:
    """Bytes of them that are no weights / 1e6."""
    own = getattr(module, "metadata_bytes", None)
    return own() / 1e6 if own else 0.0


def own_optimizer(module: nn.Module, lr: float, eps: float) -> torch.optim.Optimizer | None:
    """The optimizer that the module brings along; None for one that any optimizer of parameters trains."""
    own = getattr(module, "training_optimizer", None)
    return own(lr, eps) if own else None


def optimizer_megabytes(optimizer: torch.optim.Optimizer, module: nn.Module) -> float:
    """Bytes of the optimizer's state for a module's weights / 1e6."""
    if own := getattr(module, "optimizer_bytes", None):
        return own(optimizer) / 1e6
    states = (optimizer.state[p].values() for p in module.parameters() if p in optimizer.state)
    return sum(value.nbytes for state in states for value in state if isinstance(value, Tensor)) / 1e6


def statistics(module: nn.Module) -> Mapping[str, float]:
    """What the module tells of itself while it trains."""
    own = getattr(module, "statistics", None)
    return own() if own else {}

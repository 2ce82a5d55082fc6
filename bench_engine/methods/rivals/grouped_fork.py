"""JitFork: each embedding bag as a task of torch.jit.fork, in TorchScript."""

import warnings
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.methods.grouped_methods import ModelMethod
from bench_engine.methods.grouped_models import Bags, GroupedModel


class _ForkedBags(nn.Module):
    """Bags whose tables are looked up by tasks of torch's inter-op threads."""

    def __init__(self, bags: Bags) -> None:
        super().__init__()
        self.tables = bags.tables
        self.relu = bags.relu

    def forward(self, ids: list[Tensor]) -> list[Tensor]:
        tasks: list[torch.jit.Future[Tensor]] = []
        for number, table in enumerate(self.tables):
            tasks.append(torch.jit.fork(table, ids[number]))
        vectors: list[Tensor] = []
        for task in tasks:
            vector = torch.jit.wait(task)
            vectors.append(F.relu(vector) if self.relu else vector)
        return vectors


class JitFork(ModelMethod):
    """The model with scripted bags. Tasks run on as many inter-op threads as the trial has threads.

    Outside TorchScript torch.jit.fork runs its task at once, so the bags are scripted; the rest of the model is not.
    """

    def transformed(self, model: GroupedModel) -> Any:
        """The model with bags that fork, on as many threads as the trial has."""
        if torch.get_num_interop_threads() != torch.get_num_threads():
            torch.set_num_interop_threads(torch.get_num_threads())
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            model.bags = torch.jit.script(_ForkedBags(model.bags))  # type: ignore[arg-type]
        return model

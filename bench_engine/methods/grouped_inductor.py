"""InductorModel: torch.compile of a whole model with many embedding bags."""

from typing import Any

import torch

from bench_engine.methods.grouped_methods import ModelMethod
from bench_engine.methods.grouped_models import GroupedModel


class InductorModel(ModelMethod):
    """The untouched model compiled for each shape: its guards around a call are measured too."""

    def transformed(self, model: GroupedModel) -> Any:
        """The model, compiled by Inductor."""
        return torch.compile(model, dynamic=False)

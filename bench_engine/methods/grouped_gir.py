"""GirModel: the memory-first compiler in a whole model with many embedding bags."""

from typing import Any

import torch

from bench_engine.kernels import gir  # noqa: F401 (registers the backend where the package is not installed)
from bench_engine.methods.grouped_methods import ModelMethod
from bench_engine.methods.grouped_models import GroupedModel


class GirModel(ModelMethod):
    """The untouched model through torch.compile(backend="gir"): its guards around a call are measured too."""

    def transformed(self, model: GroupedModel) -> Any:
        """The model, its memory-bound parts compiled for each shape."""
        return torch.compile(model, backend="gir", dynamic=False)

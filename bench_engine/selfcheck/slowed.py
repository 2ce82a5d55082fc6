"""A method that is ten per cent slower than dense on purpose, to see whether the verdicts notice."""

import time
from collections.abc import Callable
from typing import Any

from torch import Tensor

from bench_engine.kernels.compressed.dense import DenseEmbeddingBag

SLOWER = 1.1


class SlowedDenseEmbeddingBag(DenseEmbeddingBag):
    """Waits after each call for a tenth of the time that it took, less what the waiting itself costs."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._own_ns = 0
        begin = time.perf_counter_ns()
        for _ in range(1000):
            self._slowed(lambda: None)
        self._own_ns = (time.perf_counter_ns() - begin) // 1000

    def forward(self, input: Tensor, offsets: Tensor | None = None) -> Tensor:
        """The lookup of the dense table, then a wait."""
        return self._slowed(super().forward, input, offsets)

    def _slowed(self, call: Callable[..., Any], *arguments: Any) -> Any:
        begin = time.perf_counter_ns()
        output = call(*arguments)
        until = begin + SLOWER * (time.perf_counter_ns() - begin) - self._own_ns
        while time.perf_counter_ns() < until:
            pass
        return output

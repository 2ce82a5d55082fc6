"""A method that is ten per cent slower than dense on purpose, to see whether the verdicts notice."""

import time

from torch import Tensor

from bench_engine.kernels.dense import DenseEmbeddingBag

SLOWER = 1.1


class SlowedDenseEmbeddingBag(DenseEmbeddingBag):
    """Waits after each call for a tenth of the time that it took."""

    def forward(self, input: Tensor, offsets: Tensor | None = None) -> Tensor:
        begin = time.perf_counter_ns()
        output = super().forward(input, offsets)
        until = begin + SLOWER * (time.perf_counter_ns() - begin)
        while time.perf_counter_ns() < until:
            pass
        return output

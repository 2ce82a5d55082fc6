"""A method whose time is known: so many lookups of a dense table, one after another."""

from typing import Any

from torch import Tensor

from bench_engine.kernels.compressed.dense import DenseEmbeddingBag


class RepeatedDenseEmbeddingBag(DenseEmbeddingBag):
    """Looks the same bags up `repeats` times, and gives the last output."""

    def __init__(self, *arguments: Any, repeats: int, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._repeats = repeats

    def forward(self, input: Tensor, offsets: Tensor | None = None) -> Tensor:
        """The lookup of the dense table."""
        for _ in range(self._repeats - 1):
            super().forward(input, offsets)
        return super().forward(input, offsets)

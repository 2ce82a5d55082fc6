"""Two tables of quantized rows: one row for each id, and the product of a remainder row and a quotient row."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from bench_engine.kernels.bags import initial_bound
from bench_engine.kernels.quantized.quantized_table import QuantizedTable


class QuantizedEmbeddingBag(QuantizedTable):
    """A row for each id, in one byte a number: torch.nn.EmbeddingBag in little more than a quarter of its bytes.

    Args:
        num_embeddings: rows E.
        embedding_dim: dimension D.
        compression: share of the dense float32 bytes that the rows may take, scales included, in (0, 1]: a ceiling,
            for what they take follows from the storage.
        mode: sum or mean.
        device, dtype: the CPU and float32, which vectors have.
        storage: `int8` (D + 2 bytes a row), `int4` (2 + 8 for each 16 dimensions begun) or `float16` (2 D).
        budget_bytes: the ceiling in bytes, in the place of compression.
        padding_idx: id that takes no part in any bag; negative counts from the end.
        include_last_offset: whether offsets end with the end of the last bag.
        seed: of the rounding; drawn from torch's generator unless given.

    Starts uniform in ±sqrt(1 / E). Raises ValueError, also where the ceiling is too low, and TypeError.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1.0,
        mode: str = "sum",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        storage: str = "int8",
        budget_bytes: int | None = None,
        padding_idx: int | None = None,
        include_last_offset: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, mode, device, dtype, storage, padding_idx, include_last_offset, seed
        )
        budget = self._budget(compression, budget_bytes)
        capped = budget_bytes is not None or compression < 1  # rows of one or two dimensions are longer in int8
        if capped and budget < self.num_embeddings * self.row_bytes:
            raise self._refuse(budget, self.num_embeddings, "a row for each")
        self.register_buffer("rows", torch.empty(self.num_embeddings, self.row_bytes, dtype=torch.uint8))
        self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, **options: Any) -> "QuantizedEmbeddingBag":
        """A table of given vectors (E, D) float32, rounded at random; options are those of the constructor."""
        if embeddings.dim() != 2:
            raise ValueError(f"embeddings must be (rows, dimension), not {tuple(embeddings.shape)}")
        if not embeddings.isfinite().all():
            raise ValueError("embeddings hold NaN or infinity, which no scale reaches")
        table = cls(*embeddings.shape, **options)
        table._write(0, embeddings.detach())
        return table

    def reset_parameters(self) -> None:
        """Draw all rows anew."""
        bound = initial_bound(self.num_embeddings)
        self._fill(0, self.num_embeddings, lambda part: nn.init.uniform_(part, -bound, bound))


class QuantizedQuotientRemainderEmbeddingBag(QuantizedTable):
    """Vector of id i: row `i mod R` times row `R + i div R`, element by element (Shi et al. 2020, arXiv:1909.02107).

    The remainder rows and after them the quotient rows are one buffer of quantized rows. R is the largest number such
    that R + ceil(E / R) rows with their scales fit into the budget, and at most E - 2. Four times the rows of float32
    tables fit into the same bytes, so that fewer ids share one.

    Starts as QuotientRemainderEmbeddingBag: remainder rows uniform in ±sqrt(1 / E), quotient rows of random signs.
    Arguments are those of QuantizedEmbeddingBag. Raises ValueError where no R fits, and for fewer than four rows.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1.0,
        mode: str = "sum",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        storage: str = "int8",
        budget_bytes: int | None = None,
        padding_idx: int | None = None,
        include_last_offset: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, mode, device, dtype, storage, padding_idx, include_last_offset, seed
        )
        ids = self.num_embeddings
        if ids < 4:
            raise ValueError(
                f"quotient and remainder rows of {ids} ids are more than the ids: num_embeddings must be at least 4"
            )
        budget = self._budget(compression, budget_bytes)
        most = min(budget // self.row_bytes, ids)
        if most * most < 4 * ids:
            raise self._refuse(budget, math.isqrt(4 * ids - 1) + 1, "quotient and remainder rows")
        self.remainders = (most + math.isqrt(most * most - 4 * ids)) // 2  # the largest R with R * (most - R) >= E
        rows = self.remainders + -(-ids // self.remainders)
        self.register_buffer("rows", torch.empty(rows, self.row_bytes, dtype=torch.uint8))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw both kinds of rows anew."""
        bound = initial_bound(self.num_embeddings)
        self._fill(0, self.remainders, lambda part: nn.init.uniform_(part, -bound, bound))
        quotients = len(self.rows) - self.remainders
        self._fill(self.remainders, quotients, lambda part: part.bernoulli_(0.5).mul_(2).sub_(1))

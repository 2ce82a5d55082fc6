"""Two tables of quantized rows: one row for each id, and the product of a remainder row and a quotient row."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from bench_engine.kernels.bags import initial_bound
from bench_engine.kernels.quantized.frozen_table import FrozenTable
from bench_engine.kernels.quantized.quantized_table import QuantizedTable


class _RowsOfIds(QuantizedTable):
    """A table that makes the vector of an id from rows that its number leads to."""

    def to_frozen(self) -> FrozenTable:
        """The same lookups of the same bytes, which it shares, without training: for export, tracing and files."""
        return FrozenTable(
            self.rows, *self._shape(), self.mode, self.padding_idx, self.include_last_offset, self.anchor.dtype
        )


class QuantizedEmbeddingBag(_RowsOfIds):
    """A row for each id, in one byte a number: torch.nn.EmbeddingBag in little more than a quarter of its bytes.

    The ceiling is a ceiling: what the rows take follows from the storage. Starts uniform in ±sqrt(1 / E). Arguments and
    errors are those of QuantizedTable.
    """

    def _count_rows(self, budget: int | None) -> int:
        if budget is not None and budget < self.num_embeddings * self.row_bytes:
            raise self._refuse(budget, self.num_embeddings, "a row for each")
        return self.num_embeddings

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, **options: Any) -> "QuantizedEmbeddingBag":
        """A table of given vectors (E, D) float32, rounded at random; options are those of the constructor."""
        if embeddings.dim() != 2:
            raise ValueError(f"embeddings must be (rows, dimension), not {tuple(embeddings.shape)}")
        table = cls(*embeddings.shape, **options)
        table.write(embeddings)
        return table

    @torch.no_grad()
    def write(self, embeddings: Tensor) -> None:
        """Take over all vectors (E, D), rounded at random. Raises ValueError."""
        if embeddings.shape != (self.num_embeddings, self.embedding_dim):
            wanted = (self.num_embeddings, self.embedding_dim)
            raise ValueError(f"embeddings must be {wanted}, not {tuple(embeddings.shape)}")
        if not embeddings.isfinite().all():
            raise ValueError("embeddings hold NaN or infinity, which no scale reaches")
        self._write(0, embeddings.detach().float())

    def reset_parameters(self, bound: float | None = None) -> None:
        """Draw all rows anew, uniform in ±bound."""
        bound = initial_bound(self.num_embeddings) if bound is None else bound
        self._fill(0, self.num_embeddings, lambda part: nn.init.uniform_(part, -bound, bound))


class QuantizedQuotientRemainderEmbeddingBag(_RowsOfIds):
    """Vector of id i: row `i mod R` times row `R + i div R`, element by element (Shi et al. 2020, arXiv:1909.02107).

    The remainder rows and after them the quotient rows are one buffer of quantized rows. R is the largest number such
    that R + ceil(E / R) rows with their scales fit into the budget, and at most E - 2. Four times the rows of float32
    tables fit into the same bytes, so that fewer ids share one.

    Starts as QuotientRemainderEmbeddingBag: remainder rows uniform in ±sqrt(1 / E), quotient rows of random signs.
    Arguments are those of QuantizedTable. Raises ValueError where no R fits, and for fewer than four rows.
    """

    def _count_rows(self, budget: int | None) -> int:
        ids = self.num_embeddings
        if ids < 4:
            raise ValueError(
                f"quotient and remainder rows of {ids} ids are more than the ids: num_embeddings must be at least 4"
            )
        budget = self._dense_bytes if budget is None else budget
        most = min(budget // self.row_bytes, ids)
        if most * most < 4 * ids:
            raise self._refuse(budget, math.isqrt(4 * ids - 1) + 1, "quotient and remainder rows")
        self.remainders = (most + math.isqrt(most * most - 4 * ids)) // 2  # the largest R with R * (most - R) >= E
        return self.remainders + -(-ids // self.remainders)

    def reset_parameters(self, bound: float | None = None) -> None:
        """Draw both kinds of rows anew, so that vectors are uniform in ±bound."""
        bound = initial_bound(self.num_embeddings) if bound is None else bound
        self._fill(0, self.remainders, lambda part: nn.init.uniform_(part, -bound, bound))
        quotients = len(self.rows) - self.remainders
        self._fill(self.remainders, quotients, lambda part: part.bernoulli_(0.5).mul_(2).sub_(1))

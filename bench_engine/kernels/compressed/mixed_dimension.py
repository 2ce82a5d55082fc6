"""MixedDimensionEmbeddingBag: each field with a dimension of its own, fewer for more rows, brought back to D."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.kernels.bags import PlainEmbeddingBag, at_least, check_compression, initial_bound


class MixedDimensionEmbeddingBag(PlainEmbeddingBag):
    """Vector of row i of a field: its `weight[i] @ projection` (MDE, Ginart et al. 2019, arXiv:1909.11810).

    A row of a field of n rows has the popularity 1 / n, since an example looks up one row of each field, and the field
    the dimension d = lambda * n^-alpha, rounded (halves up), from 1 to D. lambda is the largest for which all
    parameters, matrices (d, D) included, are within the compression; what is left is not spent. A field that would
    take no more with D dimensions has those, and no matrix.

    Starts with weights uniform in ±sqrt(1 / E), with all fields' E, and matrices of variance 1 / d, so that vectors
    have the variance of a dense table's.

    Args:
        num_embeddings, embedding_dim, compression, mode, device, dtype: as EmbeddingBagMethod.
        tables: rows of each field; ids are numbered through. One field unless given.
        alpha: from 0, the same dimension for all fields, to 1.

    Raises ValueError, also where the compression does not hold a dimension for each field.
    """

    needs_tables = True

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1.0,
        mode: str = "sum",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        tables: Sequence[int] | None = None,
        alpha: float = 0.3,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, mode)
        check_compression(compression)
        if not 0 <= alpha <= 1:
            raise ValueError(f"alpha must be from 0 to 1, not {alpha!r}")
        self.tables = tuple(tables or [self.num_embeddings])
        if min(self.tables) < 1 or sum(self.tables) != self.num_embeddings:
            raise ValueError(f"tables must have {num_embeddings} rows together and one at least each: {self.tables}")
        self.dims = self._dims_within(compression, alpha)
        self.weights = nn.ParameterList(
            torch.empty(rows, dim, device=device, dtype=dtype) for rows, dim in zip(self.tables, self.dims, strict=True)
        )
        self.projections = nn.ParameterDict(
            {
                str(f): torch.empty(dim, self.embedding_dim, device=device, dtype=dtype)
                for f, dim in enumerate(self.dims)
                if dim < self.embedding_dim
            }
        )
        self.reset_parameters()

    def _dims_within(self, compression: float, alpha: float) -> list[int]:
        dense = self.num_embeddings * self.embedding_dim
        budget = math.floor(compression * dense * (1 + 1e-12))  # 0.29 * 100 is 28.999999999999996
        changes = [(d + 0.5) * rows**alpha for d in range(1, self.embedding_dim) for rows in set(self.tables)]
        dims = self._dims(0, alpha)
        if (least := self._size(dims)) > budget:
            hint = f": the smallest is {at_least(least / dense)}" if least <= dense else ""
            raise ValueError(
                f"compression {compression!r} leaves no dimension for each of {len(self.tables)} fields{hint}"
            )
        for factor in sorted(changes):
            more = self._dims(factor * (1 + 1e-12), alpha)
            if self._size(more) > budget:
                break
            dims = more
        return dims

    def _dims(self, factor: float, alpha: float) -> list[int]:
        """Dimension of each field by the power law."""
        found = [min(max(math.floor(factor * n**-alpha + 0.5), 1), self.embedding_dim) for n in self.tables]
        full = self.embedding_dim
        return [full if n * full <= (n + full) * dim else dim for n, dim in zip(self.tables, found, strict=True)]

    def _size(self, dims: Sequence[int]) -> int:
        full = self.embedding_dim
        return sum(n * d + (d * full if d < full else 0) for n, d in zip(self.tables, dims, strict=True))

    def reset_parameters(self) -> None:
        """Draw weights and projections anew."""
        bound = initial_bound(self.num_embeddings)
        for weight in self.weights:
            nn.init.uniform_(weight, -bound, bound)
        for projection in self.projections.values():
            projection_bound = math.sqrt(3 / projection.size(0))
            nn.init.uniform_(projection, -projection_bound, projection_bound)

    def vectors(self, ids: Tensor) -> Tensor:
        """The small vectors of these ids, each field's projected: (n, D)."""
        found = self.weights[0].new_zeros(len(ids), self.embedding_dim)
        start = 0
        for f, weight in enumerate(self.weights):
            places = ((ids >= start) & (ids < start + len(weight))).nonzero().squeeze(1)
            small = F.embedding(ids[places] - start, weight)
            key = str(f)
            found = found.index_copy(0, places, small @ self.projections[key] if key in self.projections else small)
            start += len(weight)
        return found

    def extra_repr(self) -> str:
        """Sizes, and the dimension of each field."""
        return f"{super().extra_repr()}, dims={self.dims}"

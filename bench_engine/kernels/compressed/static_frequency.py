"""StaticFrequencyEmbeddingBag: full vectors for the rows that are looked up most, one vector for all others."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.kernels.bags import PlainEmbeddingBag, at_least, check_compression, initial_bound


class StaticFrequencyEmbeddingBag(PlainEmbeddingBag):
    """Which rows have a vector of their own is decided once, from how often each is looked up in the training part.

    `weight` has floor(compression * E) rows: own vectors, the most frequent row's first (of equals the lower row), and
    last the one that all other rows share; at compression 1 all rows have their own. `slots` (E,) says which is whose;
    its 4 bytes a row come on top of the nominal compression.

    Starts with `weight` uniform in ±sqrt(1 / E). Raises ValueError where no row would have its own vector.

    Args:
        counts: integers (E,), look-ups of each row.
    """

    needs_counts = True

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1.0,
        mode: str = "sum",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        counts: Tensor,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, mode)
        check_compression(compression)
        if counts.shape != (self.num_embeddings,):
            raise ValueError(f"counts must be of shape ({self.num_embeddings},), not {tuple(counts.shape)}")
        rows = math.floor(compression * self.num_embeddings * (1 + 1e-12))  # 0.29 * 100 is 28.999999999999996
        self.num_own = rows if rows == self.num_embeddings else rows - 1
        if self.num_own < 1:
            raise ValueError(
                f"compression {compression!r} leaves no row of {num_embeddings} a vector of its own: "
                f"the smallest is {at_least(min(2 / self.num_embeddings, 1.0))}"
            )
        slots = torch.full((self.num_embeddings,), self.num_own, dtype=torch.int32, device=device)
        most = counts.argsort(descending=True, stable=True)[: self.num_own].to(slots.device)
        slots[most] = torch.arange(self.num_own, dtype=torch.int32, device=device)
        self.slots: Tensor
        self.register_buffer("slots", slots)
        self.weight = nn.Parameter(torch.empty(rows, embedding_dim, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight anew; which rows have a vector of their own stays."""
        bound = initial_bound(self.num_embeddings)
        nn.init.uniform_(self.weight, -bound, bound)

    def vectors(self, ids: Tensor) -> Tensor:
        """Each id's own row, or the one that is shared: (n, D)."""
        return F.embedding(self.slots[ids.long()], self.weight)

    def metadata_bytes(self) -> int:
        """Bytes that are no weights."""
        return self.slots.nbytes

    def live_mask(self, rows: Tensor) -> Tensor:
        """Whether rows (n,) have their own vector, bool (n, 1)."""
        return (self.slots[rows.long()] < self.num_own).unsqueeze(1)

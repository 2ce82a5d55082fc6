"""QuotientRemainderEmbeddingBag: the element-wise product of a remainder row and a quotient row."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.kernels.bags import PlainEmbeddingBag, at_least, check_compression, initial_bound


class QuotientRemainderEmbeddingBag(PlainEmbeddingBag):
    """Vector of id i: `remainder_weight[i mod R] * quotient_weight[i div R]` (Shi et al. 2020, arXiv:1909.02107).

    R is the largest number of remainder rows such that R + ceil(E / R) rows fit into compression * E: the fewest ids
    share a remainder row. At compression 1 it is E - 2.

    Starts with remainder rows uniform in ±sqrt(1 / E) and quotient rows of random signs ±1: a product then has the law
    of a dense vector, and gradients reach the remainder rows at the scale they have in a dense table (two small factors
    would damp them by sqrt(1 / E)). Raises ValueError where no R fits: below
    compression 2 / sqrt(E), and for fewer than four rows.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1.0,
        mode: str = "sum",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, mode)
        check_compression(compression)
        self.num_remainders = _num_remainders(self.num_embeddings, compression)
        num_quotients = -(-self.num_embeddings // self.num_remainders)
        remainders = torch.empty(self.num_remainders, embedding_dim, device=device, dtype=dtype)
        self.remainder_weight = nn.Parameter(remainders)
        self.quotient_weight = nn.Parameter(remainders.new_empty(num_quotients, embedding_dim))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw both kinds of rows anew."""
        bound = initial_bound(self.num_embeddings)
        nn.init.uniform_(self.remainder_weight, -bound, bound)
        self.quotient_weight.bernoulli_(0.5).mul_(2).sub_(1)

    def vectors(self, ids: Tensor) -> Tensor:
        """The products of both rows of each id, (n, D)."""
        ids = ids.long()
        quotient = torch.div(ids, self.num_remainders, rounding_mode="floor")
        remainder = ids - quotient * self.num_remainders
        return F.embedding(remainder, self.remainder_weight) * F.embedding(quotient, self.quotient_weight)


def _num_remainders(num_embeddings: int, compression: float) -> int:
    """The largest R with R + ceil(E / R) <= compression * E, that is with R * (K - R) >= E for K = compression * E."""
    if num_embeddings < 4:
        raise ValueError(
            f"quotient and remainder rows of {num_embeddings} ids are more than the ids: "
            "num_embeddings must be at least 4"
        )
    rows = math.floor(compression * num_embeddings * (1 + 1e-12))  # 0.29 * 100 is 28.999999999999996
    discriminant = rows * rows - 4 * num_embeddings
    if discriminant < 0:
        smallest = (math.isqrt(4 * num_embeddings - 1) + 1) / num_embeddings
        raise ValueError(
            f"compression {compression!r} leaves too few rows for quotient and remainder of {num_embeddings} ids: "
            f"the smallest is {at_least(smallest)}"
        )
    return (rows + math.isqrt(discriminant)) // 2

"""DeepHashEmbeddingBag: no table at all, a small network makes the vector of an id from its hashes."""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.kernels.bags import PlainEmbeddingBag, at_least, check_compression, initial_bound
from bench_engine.kernels.hashed.hashing import mixed_hash, table_seed

_SEED = table_seed(0, 0)
_BITS = 24  # of a hash: what float32 holds exactly
_SAMPLE = 4096  # ids whose vectors say how large the last layer starts
_HASHES = 4  # for each unit of a hidden layer
_NETWORK_RATE = 1 / 20  # learning rate of the network, as a part of that of a table


class DeepHashEmbeddingBag(PlainEmbeddingBag):
    """Vector of id i: an MLP of k hashes of i, numbers in [-1, 1) (DHE, Kang et al. 2021, KDD, arXiv:2010.10784).

    Two hidden layers of h units with Mish, and one to D, h the largest that the compression allows, and k = 4 h: these
    are 5 h^2 + (2 + D) h + D parameters. The paper has 1024 hashes and five wide layers, which no budget of a small
    table holds, and batch normalization, which is left out: vectors would depend on the other ids of their batch.

    Its optimizer is Adam at a twentieth of a table's learning rate. That, and 4 hashes a unit, had the higher AUC on
    the validation part of frappe than Adagrad and one hash. Starts so that vectors have the mean and the variance of a
    dense table's. Raises ValueError where h would be 0.
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
        dense = self.num_embeddings * self.embedding_dim
        linear = 2 + self.embedding_dim
        left = math.floor(compression * dense * (1 + 1e-12)) - self.embedding_dim
        square = _HASHES + 1
        units = (math.isqrt(max(0, linear * linear + 4 * square * left)) - linear) // (2 * square)
        if units < 1:
            least = (square + linear + self.embedding_dim) / dense
            hint = f": the smallest is {at_least(least)}" if least <= 1 else ""
            raise ValueError(
                f"compression {compression!r} leaves no network for {num_embeddings} x {embedding_dim} elements{hint}"
            )
        self.hashes = _HASHES * units
        widths = (self.hashes, units, units)
        self.hidden = nn.ModuleList(nn.Linear(a, b, device=device, dtype=dtype) for a, b in itertools.pairwise(widths))
        self.last = nn.Linear(units, self.embedding_dim, device=device, dtype=dtype)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw the network anew."""
        for layer in (*self.hidden, self.last):
            layer.reset_parameters()
        if self.last.weight.is_meta:
            return
        step = max(1, self.num_embeddings // _SAMPLE)
        found = self.vectors(torch.arange(0, self.num_embeddings, step, device=self.last.weight.device))
        scale = initial_bound(self.num_embeddings) / math.sqrt(3) / float((found - found.mean(0)).std(correction=0))
        self.last.weight.mul_(scale if math.isfinite(scale) else 1.0)
        self.last.bias.sub_(found.mean(0)).mul_(scale if math.isfinite(scale) else 1.0)

    def encoded(self, ids: Tensor) -> Tensor:
        """The hashes of these ids, (n, k), multiples of 2^-23 in [-1, 1)."""
        hashes = mixed_hash(ids.unsqueeze(1), torch.arange(self.hashes, device=ids.device), _SEED)
        given = self.last.weight.dtype
        wide = torch.promote_types(given, torch.float32)  # float16 ends at 2^16
        return ((hashes >> (64 - _BITS)).to(wide) / 2 ** (_BITS - 1)).to(given)

    def vectors(self, ids: Tensor) -> Tensor:
        """What the network makes of the hashes of these ids, (n, D)."""
        found = self.encoded(ids)
        for layer in self.hidden:
            found = F.mish(layer(found))
        return self.last(found)

    def training_optimizer(self, lr: float, eps: float) -> torch.optim.Optimizer:
        """Adam, at the learning rate of a network."""
        return torch.optim.Adam(self.parameters(), lr=lr * _NETWORK_RATE)

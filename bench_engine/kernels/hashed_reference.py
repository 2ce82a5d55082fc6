"""The hashed embedding bag in plain PyTorch: oracle of the compiled kernel, and the baseline everyone would write."""

import torch
from torch import Tensor, nn

from bench_engine.kernels.bags import EmbeddingBagMethod, check_compression, initial_bound

ROW_FACTOR = 9824516537
DIM_FACTOR = 57857966300227
OFFSET = 104729
PRIME = 117130198221199


def reference_hash(rows: Tensor, dims: Tensor) -> Tensor:
    """h(row, d) = (row * 9824516537 + d * 57857966300227 + 104729) mod 2^64 mod 117130198221199, int64.

    Exact for rows and dims in [0, 2^63), which broadcast. int64 arithmetic wraps to the bits of the uint64 result;
    where these read as negative, 2^64 is missing and its remainder is added back.
    """
    bits = rows.long() * ROW_FACTOR + dims.long() * DIM_FACTOR + OFFSET
    remainder = torch.remainder(bits, PRIME)
    return torch.where(bits < 0, (remainder + 2**64 % PRIME) % PRIME, remainder)


def slots_of(rows: Tensor, embedding_dim: int, num_slots: int) -> Tensor:
    """Slots (N, D) int64 of the elements of virtual rows (N,)."""
    dims = torch.arange(embedding_dim, device=rows.device)
    return reference_hash(rows.unsqueeze(1), dims) % num_slots


class HashedTable(EmbeddingBagMethod):
    """Parameters and constructor that the compiled and the plain hashed embedding bag share.

    A virtual table of E x D elements that live in one buffer `hashed_weight` of m slots; a hash says which slot holds
    element (row, d). After wanmeihuali/HashedEmbeddingBag, in argument order, names, defaults and hash.

    Args:
        num_embeddings: rows E of the virtual table.
        embedding_dim: dimension D.
        compression: fraction kept, in (0, 1]: m = int(E * D * compression).
        mode: sum, mean or max.
        _weight: 1-D floating-point tensor used as the buffer; compression, device and dtype are then ignored. A given
            nn.Parameter is kept, so several tables can share one buffer.
        device, dtype: of the buffer.

    The buffer starts uniform in ±sqrt(1 / E). Raises ValueError.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1 / 64,
        mode: str = "sum",
        _weight: Tensor | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, mode)
        if _weight is None:
            check_compression(compression)
            num_slots = int(self.num_embeddings * self.embedding_dim * compression)
            if num_slots == 0:
                raise ValueError(
                    f"compression {compression!r} leaves no slot of {num_embeddings} x {embedding_dim} elements: "
                    f"it must be at least 1 / {num_embeddings * embedding_dim}"
                )
            self.hashed_weight = nn.Parameter(torch.empty(num_slots, device=device, dtype=dtype))
            self.reset_parameters()
        else:
            if _weight.dim() != 1 or _weight.numel() == 0 or not _weight.is_floating_point():
                raise ValueError(
                    f"_weight must be a 1-D floating-point tensor with at least one slot, "
                    f"not {tuple(_weight.shape)} {str(_weight.dtype).removeprefix('torch.')}"
                )
            self.hashed_weight = _weight if isinstance(_weight, nn.Parameter) else nn.Parameter(_weight)

    def reset_parameters(self) -> None:
        bound = initial_bound(self.num_embeddings)
        nn.init.uniform_(self.hashed_weight, -bound, bound)

    def vectors(self, ids: Tensor) -> Tensor:
        return self.hashed_weight[slots_of(ids, self.embedding_dim, self.hashed_weight.numel())]

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, slots={self.hashed_weight.numel()}"


class HashedEmbeddingBagReference(HashedTable):
    """HashedEmbeddingBag in plain PyTorch: same arguments, same numbers, no compiled kernel."""

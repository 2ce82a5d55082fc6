"""What the compiled and the plain hashed embeddings share: parameters, constructor and layout of the buffer."""

from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn

from bench_engine.kernels.bags import EmbeddingBagMethod, check_compression, initial_bound, padding_row
from bench_engine.kernels.hashed.hashing import HASHES, HashedLayout, table_seed


class HashedTable(EmbeddingBagMethod):
    """A virtual table of E x D elements that live in one buffer `hashed_weight` of m slots.

    A hash says which slot holds element (row, d). After wanmeihuali/HashedEmbeddingBag, in argument order, names,
    defaults and hash; what follows `_weight` is more than the original has.

    Args:
        num_embeddings: rows E of the virtual table.
        embedding_dim: dimension D.
        compression: fraction kept, in (0, 1]: m = int(E * D * compression).
        mode: sum, mean or max.
        _weight: 1-D floating-point tensor used as the buffer; compression, device and dtype are then ignored. A given
            nn.Parameter is kept, so several tables can share one buffer.
        device, dtype: of the buffer.
        hash: `reference`, bit-exact with the original, whose collisions are row-wise: in a small buffer many rows are
            exact copies of others. `mix64`, a seeded 64-bit mixer, has no such copies.
        seed: of mix64.
        table: number of this table among those with the same seed, so that tables that share a buffer collide anew.
        signs: whether a second hash gives elements a sign (mix64 only), so that collisions cancel in expectation.
        block_size: so many neighbours share one hash and lie side by side in the buffer, as in ROBE.
        padding_idx: id that takes no part in any bag; negative counts from the end.
        include_last_offset: whether offsets end with the end of the last bag.

    The seed, the table's number, signs and block_size are not in the state_dict, whose one entry is the buffer: who
    loads it constructs the module as it was. The buffer starts uniform in ±sqrt(1 / E). Raises ValueError.
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
        *,
        hash: str = "reference",
        seed: int = 0,
        table: int = 0,
        signs: bool = False,
        block_size: int = 1,
        padding_idx: int | None = None,
        include_last_offset: bool = False,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, mode)
        self._load()
        self.hash, self.seed, self.table = _checked_hash(hash, seed, table, signs)
        self.signs, self.block_size = bool(signs), _at_least_one("block_size", block_size)
        self.padding_idx = padding_row(padding_idx, self.num_embeddings)
        self.include_last_offset = bool(include_last_offset)
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
                    f"not {tuple(_weight.shape)} {_name(_weight.dtype)}"
                )
            self.hashed_weight = _weight if isinstance(_weight, nn.Parameter) else nn.Parameter(_weight)

    def reset_parameters(self) -> None:
        """Draw the buffer anew."""
        bound = initial_bound(self.num_embeddings)
        nn.init.uniform_(self.hashed_weight, -bound, bound)

    def _load(self) -> None:
        """Load what the module computes with; called before there are parameters."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._load()  # a copy or an unpickled module was not constructed
        for name, value in _DEFAULTS.items():
            state.setdefault(name, value)  # modules that were pickled before there were options
        super().__setstate__(state)

    @property
    def layout(self) -> HashedLayout:
        """Which slot holds which element."""
        seed = table_seed(self.seed, self.table) if self.hash == "mix64" else 0
        slots = self.hashed_weight.numel()
        return HashedLayout(self.hash, seed, self.signs, self.block_size, self.embedding_dim, slots)

    def vectors(self, ids: Tensor) -> Tensor:
        """The hashed vectors of these ids, (n, D), signed where the table is."""
        layout = self.layout
        vectors = self.hashed_weight[layout.slots(ids)]
        factors = layout.factors(ids, vectors.dtype)
        return vectors if factors is None else vectors * factors

    def _factors(self, input: Tensor, per_sample_weights: Tensor | None) -> Tensor | None:
        """The sample weights of a call, if any, where they fit its ids, the mode and the buffer.

        Raises ValueError and TypeError.
        """
        if per_sample_weights is None:
            return None
        weight = self.hashed_weight
        if self.mode == "max":
            raise ValueError("per_sample_weights are for sum and mean, not for max")
        if per_sample_weights.shape != input.shape:
            raise ValueError(
                f"per_sample_weights must have the shape of the input, {tuple(input.shape)}, "
                f"not {tuple(per_sample_weights.shape)}"
            )
        if per_sample_weights.is_floating_point() and torch.is_autocast_enabled(weight.device.type):
            return per_sample_weights.to(weight.dtype)  # autocast made them another type
        if per_sample_weights.dtype != weight.dtype:
            raise TypeError(
                f"per_sample_weights must be {_name(weight.dtype)} as the weight, not {_name(per_sample_weights.dtype)}"
            )
        return per_sample_weights

    def extra_repr(self) -> str:
        """Sizes, and the options that are not the usual ones."""
        told = [super().extra_repr(), f"slots={self.hashed_weight.numel()}"]
        told += [f"{name}={getattr(self, name)!r}" for name, value in _DEFAULTS.items() if getattr(self, name) != value]
        return ", ".join(told)


_DEFAULTS = {
    "hash": "reference", "seed": 0, "table": 0, "signs": False, "block_size": 1, "padding_idx": None,
    "include_last_offset": False,
}  # fmt: skip


def _checked_hash(hash: str, seed: int, table: int, signs: bool) -> tuple[str, int, int]:
    if hash not in HASHES:
        raise ValueError(f"hash must be {' or '.join(HASHES)}, not {hash!r}")
    for name, value in (("seed", seed), ("table", table)):
        if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= value < 2**63:
            raise ValueError(f"{name} must be a whole number in [0, 2^63), not {value!r}")
    if hash == "reference" and (seed or table or signs):
        raise ValueError("the reference hash has neither seed, table nor signs: use hash='mix64'")
    return hash, int(seed), int(table)


def _at_least_one(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= value < 2**63:
        raise ValueError(f"{name} must be a whole number of at least 1 and below 2^63, not {value!r}")
    return int(value)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")

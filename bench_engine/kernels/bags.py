"""What all embedding-bag methods share: their arguments, their checks, and pooling in plain PyTorch."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Context
from numbers import Integral, Real
from typing import Any

import torch
from torch import Tensor, nn

MODES = ("sum", "mean", "max")
_CHUNK_ELEMENTS = 1 << 22  # rows are materialized in chunks, so that temporaries stay small


@dataclass(frozen=True)
class Bags:
    """The ids of one call.

    Attributes:
        ids: (N,) int32 or int64.
        offsets: (B,) where each bag starts; the last one runs to N.
        bag_size: ids per bag where all bags have the same number, else None.
    """

    ids: Tensor
    offsets: Tensor
    bag_size: int | None


def as_bags(input: Tensor, offsets: Tensor | None) -> Bags:
    """(B, L) ids without offsets, or (N,) ids with (B,) offsets, as Bags. Raises TypeError and ValueError."""
    check_index_type("input", input)
    if offsets is not None:
        check_index_type("offsets", offsets)
    if input.dim() == 2 and offsets is None:
        bags, size = input.shape
        starts = torch.arange(0, input.numel(), size, device=input.device) if size else input.new_zeros(bags).long()
        return Bags(input.reshape(-1), starts, size)
    if input.dim() == 2:
        raise ValueError("a 2-D input has one bag per row: leave offsets out")
    if input.dim() != 1:
        raise ValueError(f"input must be (B, L), or (N,) with offsets, not {tuple(input.shape)}")
    if offsets is None:
        raise ValueError("a 1-D input needs offsets that say where each bag starts")
    if offsets.dim() != 1:
        raise ValueError(f"offsets must have one dimension, not {offsets.dim()}")
    return Bags(input, offsets, None)


def check_index_type(name: str, tensor: Tensor) -> None:
    """Raises TypeError unless the tensor that is named holds int32 or int64."""
    if tensor.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name} must be int32 or int64, not {str(tensor.dtype).removeprefix('torch.')}")


def check_one_device(*tensors: Tensor | None) -> None:
    """Raises ValueError unless the tensors of a call that are there, its weight first, are on one device."""
    devices = [str(tensor.device) for tensor in tensors if tensor is not None]
    if len(set(devices)) > 1:
        raise ValueError(
            "weight, indices, offsets and per_sample_weights must be on one device, "
            f"not on {', '.join(devices[:-1])} and {devices[-1]}"
        )


def check_bags(bags: Bags, num_embeddings: int) -> None:
    """Raises IndexError naming the first id out of range and its position, ValueError for offsets that are wrong.

    Checks read values, so a graph of torch.compile holds none.
    """
    if torch.compiler.is_compiling():
        return
    check_ids(bags.ids, num_embeddings)
    check_offsets(bags)


def check_offsets(bags: Bags) -> None:
    """Raises ValueError for offsets that are wrong; those of bags of equal size were made here and are right."""
    if torch.compiler.is_compiling() or bags.bag_size is not None:
        return
    offsets, count = bags.offsets, bags.ids.numel()
    if offsets.numel() == 0:
        if count:
            raise ValueError(f"there are {count} indices and no bag: offsets is empty")
        return
    if offsets[0] != 0:
        raise ValueError(f"offsets must start at 0, not at {int(offsets[0])}")
    falls = offsets[1:] < offsets[:-1]
    if falls.any():
        at = int(falls.nonzero()[0]) + 1
        raise ValueError(f"offsets must not fall: {int(offsets[at])} at position {at} follows {int(offsets[at - 1])}")
    if offsets[-1] > count:
        raise ValueError(f"offset {int(offsets[-1])} at position {offsets.numel() - 1} runs past the {count} indices")


def check_ids(ids: Tensor, num_embeddings: int) -> None:
    """Raises IndexError naming the first id that is not in [0, num_embeddings), and its position."""
    if ids.numel() == 0:
        return
    low, high = map(int, ids.aminmax())  # a tensor of int32 is compared with a number that wraps
    if low < 0 or high >= num_embeddings:
        at = int(((ids < 0) | (ids.long() >= num_embeddings)).nonzero()[0])
        raise IndexError(
            f"index {int(ids[at])} at position {at} is out of range: "
            f"ids of this table run from 0 to {num_embeddings - 1}"
        )


def check_saved(state_dict: Mapping[str, Any], prefix: str, own: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raises ValueError where the extra state that was saved for a module says other things than its own."""
    saved = state_dict.get(f"{prefix}_extra_state", own)
    for name in names:
        if saved[name] != own[name]:
            raise ValueError(f"the table was saved with {name} {saved[name]}, and this one has {own[name]}")


def pool(vectors: Tensor, bags: Bags, mode: str) -> Tensor:
    """Pool the vector of each id (N, D) to one per bag (B, D).

    An empty bag gives zeros. For max, a NaN wins as in torch.max; of equals the first is taken and has the gradient.
    """
    batch, dim = bags.offsets.numel(), vectors.size(1)
    wide = torch.promote_types(vectors.dtype, torch.float32)  # in 16 bits long sums stand still
    if mode != "max" and bags.bag_size is not None:
        total = vectors.view(batch, bags.bag_size, dim).sum(1, dtype=wide)
        return (total / max(bags.bag_size, 1) if mode == "mean" else total).to(vectors.dtype)
    position = torch.arange(vectors.size(0), device=vectors.device)
    bag = torch.searchsorted(bags.offsets.long(), position, right=True) - 1
    if mode == "max":
        return _pool_max(vectors, bag, position, batch)
    total = vectors.new_zeros(batch, dim, dtype=wide).index_add(0, bag, vectors.to(wide))
    if mode == "mean":
        counts = torch.cat([bags.offsets.long(), bags.offsets.new_tensor([vectors.size(0)]).long()]).diff()
        total = total / counts.clamp_min(1).to(wide).unsqueeze(1)
    return total.to(vectors.dtype)


def _pool_max(vectors: Tensor, bag: Tensor, position: Tensor, batch: int) -> Tensor:
    count, dim = vectors.shape
    values = vectors.detach()
    into = bag.unsqueeze(1).expand(count, dim)
    best = values.new_full((batch, dim), -math.inf).scatter_reduce(0, into, values, "amax")
    wins = (values == best.index_select(0, bag)) | values.isnan()
    rank = torch.where(wins, position.unsqueeze(1), count)
    first = rank.new_full((batch, dim), count).scatter_reduce(0, into, rank, "amin")
    padded = torch.cat([vectors, vectors.new_zeros(1, dim)])  # row `count` is what an empty bag takes
    return padded.gather(0, first)


class EmbeddingBagMethod(nn.Module, ABC):
    """An embedding bag of `num_embeddings` rows that keeps a fraction of the dense parameters.

    The one interface of all methods: `cls(num_embeddings, embedding_dim, compression=..., mode=..., device=None,
    dtype=None)`, `forward(input, offsets=None)`, `materialize(rows=None)`. What a method keeps are plain parameters, so
    its bytes are the sum over parameters and buffers. All methods start with vectors of mean 0 and standard deviation
    `initial_bound(num_embeddings) / sqrt(3)`, so that none starts training at another scale.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, mode: str) -> None:
        super().__init__()
        for name, value in (("num_embeddings", num_embeddings), ("embedding_dim", embedding_dim)):
            if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
        if mode not in MODES:
            raise ValueError(f"mode must be sum, mean or max, not {mode!r}")
        self.num_embeddings = int(num_embeddings)
        self.embedding_dim = int(embedding_dim)
        self.mode = mode

    @abstractmethod
    def vectors(self, ids: Tensor) -> Tensor:
        """The vectors (N, D) of ids (N,) in range, differentiable."""

    def prepare(self, input: Tensor) -> Any:
        """A request (B, L) in the form that costs `forward` no conversion: what a caller of this method has at hand."""
        return input

    @abstractmethod
    def forward(self, input: Tensor, offsets: Tensor | None = None) -> Tensor:
        """Pool the vectors of each bag.

        Args:
            input: ids (B, L), or (N,) with offsets; int32 or int64.
            offsets: (B,) where each bag starts: from 0 on, never falling; the last bag runs to N.

        Returns:
            (B, D); zeros for an empty bag.

        Raises IndexError naming an id out of range and its position, ValueError and TypeError.
        """

    @torch.no_grad()
    def materialize(self, rows: Tensor | Sequence[int] | None = None) -> Tensor:
        """The rows of the virtual table as a dense tensor: (E, D), or (len(rows), D). Raises IndexError."""
        kept = (*self.parameters(), *self.buffers(), torch.empty(0))  # rows may be buffers, or bytes
        parameter = next((tensor for tensor in kept if tensor.is_floating_point()), kept[-1])
        if rows is None:
            ids, count = None, self.num_embeddings
        else:
            ids = torch.as_tensor(rows, dtype=torch.int64, device=parameter.device).reshape(-1)
            check_ids(ids, self.num_embeddings)
            count = ids.numel()
        table = parameter.new_empty(count, self.embedding_dim)
        chunk = max(1, _CHUNK_ELEMENTS // self.embedding_dim)
        for start in range(0, count, chunk):
            stop = min(start + chunk, count)
            part = torch.arange(start, stop, device=parameter.device) if ids is None else ids[start:stop]
            table[start:stop] = self.vectors(part)
        return table

    def extra_repr(self) -> str:
        """What torch prints between the brackets of the module."""
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"


class PlainEmbeddingBag(EmbeddingBagMethod):
    """A method in plain PyTorch that pools after it has made the vector of each id, unless it overrides `pooled`."""

    def pooled(self, bags: Bags) -> Tensor:
        """One vector per bag, (B, D)."""
        check_bags(bags, self.num_embeddings)
        return pool(self.vectors(bags.ids), bags, self.mode)

    def forward(self, input: Tensor, offsets: Tensor | None = None) -> Tensor:
        """Pool the vectors of each bag; arguments, result and errors as for EmbeddingBagMethod.forward."""
        return self.pooled(as_bags(input, offsets))


def padding_row(padding_idx: int | None, num_embeddings: int) -> int | None:
    """The row that a padding_idx names, a negative one counted from the end; None for none. Raises ValueError."""
    if padding_idx is None:
        return None
    if isinstance(padding_idx, bool) or not isinstance(padding_idx, Integral):
        raise ValueError(f"padding_idx must be a row of the table or None, not {padding_idx!r}")
    row = int(padding_idx) + (num_embeddings if padding_idx < 0 else 0)
    if not 0 <= row < num_embeddings:
        raise ValueError(f"padding_idx must be a row of the table, of {num_embeddings}, not {padding_idx}")
    return row


def check_compression(compression: float) -> None:
    """Raises ValueError unless 0 < compression <= 1."""
    if not isinstance(compression, Real) or not 0 < compression <= 1:
        raise ValueError(f"compression is the fraction of parameters kept, in (0, 1], not {compression!r}")


def initial_bound(num_embeddings: int) -> float:
    """Bound of the uniform law that dense vectors start from: sqrt(1 / E), as DLRM has it."""
    return math.sqrt(1 / num_embeddings)


def at_least(fraction: float) -> str:
    """A fraction with four digits, rounded up so that the printed value is enough."""
    return f"{Context(prec=4, rounding=ROUND_UP).create_decimal_from_float(fraction):f}"

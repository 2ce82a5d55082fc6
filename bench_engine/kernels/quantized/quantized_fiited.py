"""QuantizedFIITEDEmbeddingBag: FIITED whose live chunks are quantized rows, beside little that says whose they are."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.fiited import arguments
from bench_engine.kernels.quantized.frozen_table import FrozenBag
from bench_engine.kernels.quantized.quantized_table import SCALE_BYTES, QuantizedTable, Recorded

MAX_CHUNKS = 16
_LEAST_SCALE, _LEAST_DECAY = 2.0**-32, 0.0001
_COUNTERS = 32  # bytes of a bucket's counters
_LONG, _USUAL_WIDTH = 64, 16  # dimensions


class QuantizedFIITEDEmbeddingBag(QuantizedTable):
    """Embedding bags whose vectors find their own dimension within a budget of bytes; what does not live is zeros.

    FIITED (Luo et al. 2024, arXiv:2401.04408) with the index and utilities of a table that fits into caches: a vector
    is `num_chunks` chunks, each a quantized row that lives or reads as zeros. A live chunk has a place in a bucket; 14
    of these are a cache line: two bytes that tell it apart and a utility in bfloat16; with the bucket's 32 counters
    that is about 7 bytes beside the D + 2 of a row of int8. Of chunks that do not live nothing is kept but these
    counters, whatever the number of ids.

    A chunk's utility gains the length of its gradient in every step. A chunk that does not live comes in once it was
    looked up `admission` times, into a free place of its bucket, or in the place of the least utility there, where its
    own, which is estimated by its lookups and the gradient of this step, is more than `margin` times as large. So there
    are no prune events: a step looks at the buckets of its ids and at nothing else. A newcomer starts at zeros, where
    the model did without it. The budget is a ceiling: places that nobody earns stay free, and all are at the start.

    Args:
        compression: share of the dense float32 bytes for all that the table holds: rows, scales, buckets, counters.
        num_chunks: chunks k of a vector, 1 to 16, of which embedding_dim is a multiple; 1 keeps or drops whole vectors.
            Unless given as many of 16 dimensions as there are where vectors have 64 or more, else 1: of shorter ones
            each chunk would weigh less than what says whose it is.
        admission: lookups after which a chunk may live, 1 to 255; long tails want more of them.
        margin: of at least 1; larger ones let fewer chunks change places.
        interval: steps after which utilities are multiplied with `decay`.
        decay: from 0.0001 to 1.

    All other arguments, lookups, training and errors are those of QuantizedTable.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1.0,
        *args: Any,
        num_chunks: int | None = None,
        admission: int = 10,
        margin: float = 1.25,
        interval: int = 1000,
        decay: float = 0.9,
        **options: Any,
    ) -> None:
        if num_chunks is None:
            num_chunks = _usual_chunks(embedding_dim)
        arguments.whole("num_chunks", num_chunks, 1, MAX_CHUNKS)
        arguments.whole("admission", admission, 1, 255)
        arguments.whole("interval", interval, 1)
        if embedding_dim % num_chunks:
            raise ValueError(f"embedding_dim {embedding_dim} is not divisible by num_chunks {num_chunks}")
        if not arguments.is_number(margin) or not 1 <= margin < math.inf:
            raise ValueError(f"margin must be a number of at least 1, not {margin!r}")
        if not arguments.is_number(decay) or not _LEAST_DECAY <= decay <= 1:
            raise ValueError(f"decay must be a number from {_LEAST_DECAY} to 1, not {decay!r}")
        self.num_chunks = int(num_chunks)  # before the base, which asks for the width of a row
        super().__init__(num_embeddings, embedding_dim, compression, *args, **options)
        self.admission, self.margin = int(admission), float(margin)
        self.interval, self.decay = int(interval), float(decay)
        self.utility_scale = 1.0  # stored utilities times this are their values
        self.let_in = self.replaced = 0  # chunks, in all steps

    @property
    def _width(self) -> int:
        return self.embedding_dim // self.num_chunks

    @property
    def _trained_rows(self) -> int:  # live or not
        return self.num_embeddings

    # -- making ----------------------------------------------------------------------------------------------------

    def _count_rows(self, budget: int | None) -> int:
        bucket_bytes, self._places, most = torch.ops.mirror.live_layout()
        each = bucket_bytes + self._places * self.row_bytes
        chunks = self.num_embeddings * self.num_chunks
        least, enough = -(-chunks // most), -(-chunks // self._places)
        count = enough if budget is None else min(budget // each, enough)
        if count < least:
            raise ValueError(
                f"{budget} bytes hold {count} buckets of {each} bytes, too few to tell {chunks} chunks apart: "
                f"the least is {least * each} bytes, compression {least * each / self._dense_bytes:.4g}"
            )
        self.buckets: Tensor
        self.counters: Tensor
        self.register_buffer("buckets", torch.zeros(count, bucket_bytes - _COUNTERS, dtype=torch.uint8, device="cpu"))
        self.register_buffer("counters", torch.zeros(count, _COUNTERS, dtype=torch.uint8, device="cpu"))
        return count * self._places

    @torch.no_grad()
    def reset_parameters(self, bound: float | None = None) -> None:
        """Nothing lives any more; `bound` changes nothing, since newcomers start at zeros."""
        for buffer in (self.buckets, self.counters, self.rows):
            buffer.zero_()
        self._changes += 1

    # -- looking up ------------------------------------------------------------------------------------------------

    def _pool(self, ids: Tensor, starts: Tensor | None, samples: Tensor | None, padding: int | None = None) -> Tensor:
        left_out = self._padding if padding is None else padding
        pooled: Tensor = torch.ops.mirror.live_pool(
            self.buckets, self.rows, ids, starts, samples, *self._live_shape(), left_out, self._mean
        )
        return pooled

    def _live_shape(self) -> tuple[str, int, int, int]:
        return self.storage, self.embedding_dim, self.num_embeddings, self.num_chunks

    def live_mask(self, ids: Tensor | None = None) -> Tensor:
        """Which chunks of ids (n,), or of all, live: bool (n, k). Raises IndexError."""
        return self._places_of(ids) >= 0

    def utilities(self) -> tuple[Tensor, Tensor]:
        """The chunks that live, id * k + part, rising, int64 (n,), and the utility of each, float32 (n,)."""
        chunks, stored = torch.ops.mirror.live_listed(self.buckets, self.rows, *self._live_shape())
        return chunks, stored.float() * self.utility_scale

    def _places_of(self, ids: Tensor | None) -> Tensor:
        which = torch.arange(self.num_embeddings) if ids is None else ids.long().reshape(-1).contiguous()
        places: Tensor = torch.ops.mirror.live_places(self.buckets, self.rows, which, *self._live_shape())
        return places

    def statistics(self) -> Mapping[str, float]:
        """live_chunks, live_vectors (ids with a live chunk), live_dimensions (their mean), free (share of the places),
        let_in and replaced (chunks, in all steps)."""
        chunks = self.utilities()[0]
        vectors = len((chunks // self.num_chunks).unique())
        return {
            "live_chunks": float(len(chunks)),
            "live_vectors": float(vectors),
            "live_dimensions": len(chunks) * self._width / max(vectors, 1),
            "free": 1 - len(chunks) / len(self.rows),
            "let_in": float(self.let_in),
            "replaced": float(self.replaced),
        }

    # -- training --------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def train_step(self, sums: Tensor | None, lr: float, eps: float, step: int, table: int) -> None:
        """Update from what was recorded, and let in what earns it; row-wise Adagrad with `sums`, SGD without them."""
        came, replaced = torch.ops.mirror.live_step(
            self.buckets,
            self.counters,
            self.rows,
            sums,
            *self._recorded_lists(),
            *self._live_shape(),
            lr,
            eps,
            lr * self.learned_step,
            self.slot_start,
            self.seed,
            step,
            table,
            self.admission,
            self.margin,
            self.utility_scale,
        )
        self.let_in += came
        self.replaced += replaced
        if step % self.interval == 0:
            self._decay()
        self._changes += 1
        self.forget_gradients()

    def _decay(self) -> None:
        """Of the scale, so that nothing is rounded; stored utilities follow now and then, by a power of two."""
        self.utility_scale *= self.decay
        if self.utility_scale < _LEAST_SCALE:
            torch.ops.mirror.live_rescale(self.buckets, _LEAST_SCALE)
            self.utility_scale /= _LEAST_SCALE

    def _record_each(self, grad: Tensor, ids: Tensor, starts: Tensor, samples: Tensor | None) -> Recorded:
        bag = self._bag_of(ids, starts)
        there = ids != self._padding
        each = grad[bag]
        if self._mean:
            members = torch.zeros(len(starts), dtype=torch.float32).index_add_(0, bag, there.float())
            each = each / members[bag].clamp_min(1).unsqueeze(1)
        if samples is not None:
            each = each * samples.unsqueeze(1)
        return Recorded(ids[there], torch.arange(int(there.sum()) + 1), each[there].contiguous())

    def sample_gradient(self, grad: Tensor, ids: Tensor, starts: Tensor) -> Tensor:
        """Gradient (N,) of the sample weights, from that of an output (B, D)."""
        bag = self._bag_of(ids, starts)
        there = (ids != self._padding).float()
        each = (grad[bag] * self._pool(ids.unsqueeze(1), None, None, padding=-1)).sum(1) * there
        if not self._mean:
            return each
        members = torch.zeros(len(starts), dtype=torch.float32).index_add_(0, bag, there)
        return each / members[bag].clamp_min(1)

    @staticmethod
    def _bag_of(ids: Tensor, starts: Tensor) -> Tensor:
        return torch.searchsorted(starts, torch.arange(len(ids)), right=True) - 1

    # -- for those who only look up, and what the benchmarks ask ---------------------------------------------------

    def to_frozen(self) -> "FrozenLiveChunks":
        """The same lookups of the same bytes, which it shares, without training: for export and tracing."""
        return FrozenLiveChunks(
            self.buckets,
            self.rows,
            self._live_shape(),
            self.mode,
            self.padding_idx,
            self.include_last_offset,
            self.anchor.dtype,
        )

    def memory_bytes(self) -> int:
        """Bytes of rows, scales, buckets and counters: all that the table holds."""
        return self.rows.nbytes + self.buckets.nbytes + self.counters.nbytes

    def metadata_bytes(self) -> int:
        """Bytes of scales, buckets and counters."""
        return len(self.rows) * SCALE_BYTES[self.storage] + self.buckets.nbytes + self.counters.nbytes

    # -- state -----------------------------------------------------------------------------------------------------

    def get_extra_state(self) -> dict[str, Any]:
        """What the bytes mean, the seed of the rounding, and the scale of the utilities."""
        state = super().get_extra_state() | {"chunks": self.num_chunks}
        return state | {"utility_scale": self.utility_scale, "moved": (self.let_in, self.replaced)}

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *others: Any) -> None:
        if state := state_dict.get(f"{prefix}_extra_state"):
            self._check_chunks(state)  # before any bytes are taken
        super()._load_from_state_dict(state_dict, prefix, *others)

    def _check_chunks(self, state: Mapping[str, Any]) -> None:
        if state.get("chunks") != self.num_chunks:
            raise ValueError(
                f"the table was saved with {state.get('chunks')} chunks, and this one has {self.num_chunks}"
            )

    def set_extra_state(self, state: Mapping[str, Any]) -> None:
        """Raises ValueError where the bytes mean something else here."""
        self._check_chunks(state)
        super().set_extra_state(state)
        self.utility_scale = float(state["utility_scale"])
        self.let_in, self.replaced = state["moved"]

    def extra_repr(self) -> str:
        """Sizes and storage."""
        return f"{super().extra_repr()}, num_chunks={self.num_chunks}, admission={self.admission}"


def _usual_chunks(dim: int) -> int:
    chunks = dim // _USUAL_WIDTH
    return chunks if dim >= _LONG and chunks <= MAX_CHUNKS and dim % _USUAL_WIDTH == 0 else 1


class FrozenLiveChunks(FrozenBag):
    """A QuantizedFIITEDEmbeddingBag without its training.

    Args:
        buckets: uint8 (B, 64): which chunks live, and where.
        rows: uint8 (14 B, bytes of a row).
        shape: storage, embedding_dim, num_embeddings and chunks of a vector.
        mode, padding_idx, include_last_offset, dtype: as the table has them.
    """

    def __init__(
        self,
        buckets: Tensor,
        rows: Tensor,
        shape: tuple[str, int, int, int],
        mode: str = "sum",
        padding_idx: int | None = None,
        include_last_offset: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(shape[1], mode, padding_idx, include_last_offset, dtype)
        self.shape, self.num_embeddings = shape, shape[2]
        self.buckets: Tensor
        self.rows: Tensor
        self.register_buffer("buckets", buckets)
        self.register_buffer("rows", rows)

    def vectors(self, ids: Tensor) -> Tensor:
        """The vectors (N, D) float32 of ids (N,) int64."""
        return self._of_kernel(ids.unsqueeze(1), None, None, -1, False)

    def _pool(self, ids: Tensor, offsets: Tensor | None, samples: Tensor | None) -> Tensor:
        padding = -1 if self.padding_idx is None else self.padding_idx
        return self._of_kernel(ids, offsets, samples, padding, self.mode == "mean")

    def _of_kernel(
        self, ids: Tensor, offsets: Tensor | None, samples: Tensor | None, padding: int, mean: bool
    ) -> Tensor:
        found: Tensor = torch.ops.mirror.live_pool(
            self.buckets, self.rows, ids, offsets, samples, *self.shape, padding, mean
        )
        return found

    def extra_repr(self) -> str:
        """Sizes and storage."""
        storage, dim, ids, chunks = self.shape
        return f"{ids}, {dim}, mode={self.mode!r}, storage={storage!r}, num_chunks={chunks}"

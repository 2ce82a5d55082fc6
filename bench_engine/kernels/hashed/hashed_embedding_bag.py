"""HashedEmbeddingBag and HashedEmbedding: a large virtual table in one small buffer, computed by compiled kernels."""

import torch
from torch import Tensor

from bench_engine.kernels.bags import check_index_type
from bench_engine.kernels.hashed import hashed_ops as _hashed_ops
from bench_engine.kernels.hashed.hashed_table import HashedTable


class HashedEmbeddingBag(HashedTable):
    """`HashedTable` on the compiled kernels: a drop-in for torch.nn.EmbeddingBag that keeps a fraction of its memory.

    float32, float64, bfloat16 and float16 (sums are in float32 at least). On the CPU results and gradients are the same
    bits at any number of threads, on CUDA where torch is asked for deterministic algorithms. Saves no (N, D) tensor for
    backward; differentiable twice, in the weight and in per_sample_weights. One graph for torch.compile and
    torch.export. `materialize` takes the hash in plain PyTorch, so it checks the kernels too. Raises
    KernelsNotBuiltError where the kernels are not built.
    """

    def _load(self) -> None:
        _hashed_ops.load()

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """Pool the vectors of each bag.

        Args:
            input: ids (B, L), or (N,) with offsets; int32 or int64.
            offsets: (B,) where each bag starts, from 0 on and never falling, the last bag running to N; with
                include_last_offset (B + 1,), ending with the end of the last bag.
            per_sample_weights: factors of the vectors, of the shape of input and the type of the buffer; for sum and
                mean. A mean divides by the number of ids, not by the sum of the weights.

        Returns:
            (B, D); zeros for a bag without ids, ids that are padding_idx not counted.

        Raises IndexError naming an id out of range and its position, ValueError and TypeError; on CUDA wrong values of
        ids and offsets are device assertions.
        """
        check_index_type("input", input)
        if offsets is not None:
            check_index_type("offsets", offsets)
        if input.dim() == 2 and offsets is not None:
            raise ValueError("a 2-D input has one bag per row: leave offsets out")
        if input.dim() == 1 and offsets is None:
            raise ValueError("a 1-D input needs offsets that say where each bag starts")
        if input.dim() not in (1, 2):
            raise ValueError(f"input must be (B, L), or (N,) with offsets, not {tuple(input.shape)}")
        return self._pooled(input, offsets, self._factors(input, per_sample_weights))

    def _pooled(self, input: Tensor, offsets: Tensor | None, samples: Tensor | None) -> Tensor:
        weight = self.hashed_weight
        output, _ = torch.ops.mirror.hashed_embedding_bag(
            weight,
            input,
            offsets,
            samples,
            self.num_embeddings,
            self.embedding_dim,
            self.mode,
            self.hash,
            self.layout.seed,
            self.signs,
            self.block_size,
            -1 if self.padding_idx is None else self.padding_idx,
            self.include_last_offset,
            weight.requires_grad and torch.is_grad_enabled(),
        )
        return output


class HashedEmbedding(HashedEmbeddingBag):
    """One vector per id, as torch.nn.Embedding: HashedEmbeddingBag without bags.

    Takes its arguments but mode and include_last_offset. The vector of padding_idx is zero and has no gradient.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1 / 64,
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
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            compression,
            "sum",
            _weight,
            device,
            dtype,
            hash=hash,
            seed=seed,
            table=table,
            signs=signs,
            block_size=block_size,
            padding_idx=padding_idx,
        )

    def forward(self, input: Tensor) -> Tensor:  # type: ignore[override]
        """The vectors (..., D) of ids (...) of any shape, int32 or int64. Raises IndexError and TypeError."""
        check_index_type("input", input)
        vectors = self._pooled(input.reshape(-1, 1), None, None)
        return vectors.view(*input.shape, self.embedding_dim)

    def vectors(self, ids: Tensor) -> Tensor:
        """The vectors of these ids, (n, D); zeros for padding_idx."""
        vectors = super().vectors(ids)
        return vectors if self.padding_idx is None else vectors.masked_fill((ids == self.padding_idx).unsqueeze(1), 0)

"""The hashed embedding bag in plain PyTorch: oracle of the compiled kernel, and the baseline everyone would write."""

import torch
from torch import Tensor

from bench_engine.kernels.bags import Bags, as_bags, check_bags, check_one_device, pool
from bench_engine.kernels.hashed.hashed_table import HashedTable


class HashedEmbeddingBagReference(HashedTable):
    """HashedEmbeddingBag in plain PyTorch: same arguments, same numbers, no compiled kernel."""

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """As HashedEmbeddingBag.forward."""
        bags, samples = as_bags(input, offsets), self._factors(input, per_sample_weights)
        check_one_device(self.hashed_weight, input, offsets, samples)
        if self.include_last_offset and offsets is not None and offsets.numel() == 0:
            raise ValueError(
                "with include_last_offset, offsets hold at least the end of the last bag, and these are empty"
            )
        check_bags(bags, self.num_embeddings)
        if self.include_last_offset and offsets is not None:
            end = int(offsets[-1])
            bags, samples = Bags(bags.ids[:end], offsets[:-1], None), None if samples is None else samples[:end]
        samples = None if samples is None else samples.reshape(-1)
        if self.padding_idx is not None:
            bags, samples = _without(bags, samples, self.padding_idx)
        vectors = self.vectors(bags.ids)
        return pool(vectors if samples is None else vectors * samples.unsqueeze(1), bags, self.mode)


def _without(bags: Bags, samples: Tensor | None, padding_idx: int) -> tuple[Bags, Tensor | None]:
    """The bags without one of the ids."""
    kept = bags.ids != padding_idx
    before = torch.cat([kept.new_zeros(1, dtype=torch.int64), kept.cumsum(0)])  # how many are kept before each place
    return Bags(bags.ids[kept], before[bags.offsets.long()], None), None if samples is None else samples[kept]

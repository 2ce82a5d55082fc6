"""Pooling as torch.nn.EmbeddingBag has it, of vectors that were looked up one by one: factors, and an id left out."""

import math

import torch
from torch import Tensor

from bench_engine.kernels.bags import Bags, as_bags, check_offsets, pool

DTYPES = (torch.float32, torch.bfloat16, torch.float16)  # of outputs


def bags_of(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> Bags:
    """Bags of a call, their offsets checked. Raises TypeError and ValueError.

    A graph that is recorded reads no values: its offsets are held within the ids instead, so that it reads nothing
    else, whatever they are.
    """
    bags = as_bags(input, offsets)
    if offsets is None:
        return bags
    recorded = torch.compiler.is_compiling() or torch.jit.is_tracing()
    if recorded:
        bags = Bags(bags.ids, bags.offsets.clamp(0, bags.ids.size(0)), None)
    else:
        check_offsets(bags)
    if not include_last_offset:
        return bags
    if offsets.numel() == 0:
        raise ValueError("with include_last_offset, offsets hold at least the end of the last bag, and these are empty")
    if recorded:  # what follows the end of the last bag is one bag more, which `of_call` leaves out
        return bags
    return Bags(bags.ids[: int(offsets[-1])], bags.offsets[:-1], None)


def of_call(found: Tensor, offsets: Tensor | None, include_last_offset: bool) -> Tensor:
    """The bags (B, D) of a call, without what a recorded graph pools behind the end of the last one."""
    return found[: offsets.size(0) - 1] if include_last_offset and offsets is not None else found


def checked_samples(input: Tensor, samples: Tensor | None, mode: str, dtype: torch.dtype) -> Tensor | None:
    """per_sample_weights in float32; None for none. Raises ValueError and TypeError."""
    if samples is None:
        return None
    if mode == "max":
        raise ValueError("per_sample_weights are for the modes sum and mean, not for max")
    if samples.shape != input.shape:
        raise ValueError(
            f"per_sample_weights must have the shape of the input, {tuple(input.shape)}, not {tuple(samples.shape)}"
        )
    of_autocast = samples.is_floating_point() and torch.is_autocast_enabled(samples.device.type)
    if samples.dtype not in (torch.float32, dtype) and not of_autocast:
        raise TypeError(f"per_sample_weights must be {name_of(dtype)} as the vectors, not {name_of(samples.dtype)}")
    return samples.float()


def pooled(vectors: Tensor, bags: Bags, mode: str, samples: Tensor | None = None, padding: int | None = None) -> Tensor:
    """Pool the vector of each id (N, D) to one per bag (B, D).

    Args:
        mode: sum, mean or max; a mean divides by the number of ids, not by the sum of the factors.
        samples: factors (N,) of the vectors.
        padding: id that takes no part; a bag of nothing else gives zeros.
    """
    there = None if padding is None else bags.ids != padding
    if mode == "max" and there is not None:
        best = pool(vectors.masked_fill(~there.unsqueeze(1), -math.inf), bags, mode)
        return best.masked_fill(best == -math.inf, 0)
    factors = samples
    if there is not None:  # and no product: 0 times infinity is no number
        factors = there.float() if samples is None else samples.masked_fill(~there, 0.0)
    if factors is not None:
        vectors = vectors * factors.unsqueeze(1)
    if mode != "mean" or there is None:
        return pool(vectors, bags, mode)
    return pool(vectors, bags, "sum") / counts_of(bags.ids, bags.offsets, padding).unsqueeze(1)


def counts_of(ids: Tensor, offsets: Tensor | None, padding: int | None) -> Tensor:
    """Ids that are not padding of each bag, 1 at the least: (B,) float32, of ids (B, L), or (N,) with offsets."""
    there = torch.ones_like(ids, dtype=torch.float32) if padding is None else (ids != padding).float()
    each = there.sum(1) if offsets is None else pool(there.unsqueeze(1), Bags(ids, offsets, None), "sum").squeeze(1)
    return each.clamp_min(1)


def checked_dtype(dtype: torch.dtype | None) -> torch.dtype:
    """The type of outputs; float32 unless said. Raises TypeError."""
    if dtype not in (None, *DTYPES):
        raise TypeError(
            f"vectors are {', '.join(map(name_of, DTYPES[:-1]))} or {name_of(DTYPES[-1])}, not {name_of(dtype)}"
        )
    return dtype or torch.float32


def name_of(dtype: torch.dtype | None) -> str:
    """As torch prints it, without torch."""
    return str(dtype).removeprefix("torch.")

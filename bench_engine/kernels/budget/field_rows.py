"""From ids of several fields to their rows in two tables, and calls with a list of fields."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from bench_engine.kernels.bags import check_ids, check_index_type
from bench_engine.kernels.fiited import arguments

NOWHERE = -(2**31)  # shift of a field that has no such rows: sums with ids stay below 0
SHIFTS = 3  # numbers that are kept for each field


def rows_of(ids: Tensor, shifts: Tensor, live: Tensor, whole: int) -> tuple[Tensor, Tensor]:
    """Rows of ids (N,) int64 of their own and among the shared ones, below 0 where an id has none of these.

    Args:
        shifts: int32 (3, fields): where the ids of a field end, and what leads from an id to its rows of both kinds.
        live: int32, rising: ids whose rows of their own follow `whole` others.
    """
    field = torch.bucketize(ids.int(), shifts[0], right=True).clamp_max(shifts.size(1) - 1)  # the kernel refuses others
    own = ids + shifts[1][field]
    if count := live.numel():
        place = torch.searchsorted(live, ids.int()).clamp_max_(count - 1)
        own = torch.where(live[place] == ids, place + whole, own)
    return own, torch.where(own >= 0, -1, ids + shifts[2][field])


def each_field(
    fields: Sequence[int], input: Any, offsets: Any, samples: Any
) -> Iterator[tuple[Tensor, Tensor | None, Tensor | None]]:
    """The call of each field, its ids numbered through, from lists of what each field is given.

    Raises IndexError, ValueError and TypeError.
    """
    inputs, starts = arguments.per_table(input, offsets, len(fields))
    factors = [None] * len(fields) if samples is None else list(samples)
    if len(factors) != len(fields):
        raise ValueError(f"there are {len(fields)} tables: give a list of {len(fields)} per_sample_weights")
    first = 0
    for rows, ids, start, factor in zip(fields, inputs, starts or factors, factors, strict=True):
        check_index_type("input", ids)
        numbered = ids.long() + first
        recorded = torch.compiler.is_compiling() or torch.jit.is_tracing()
        if recorded:  # -1 is refused, an id of another field would not be
            numbered = torch.where((ids < 0) | (ids >= rows), -1, numbered)
        else:
            check_ids(ids.reshape(-1), rows)
        yield numbered, start if starts else None, factor
        first += rows

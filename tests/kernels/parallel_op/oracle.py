"""What the two ops must compute, slowly and plainly."""

import ast
import functools
import re
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from bench_engine.kernels.parallel_op.plan import Extra, Plan, Source


def grouped_embedding(
    weights: Sequence[Tensor],
    ids: Sequence[Tensor],
    offsets: Sequence[Tensor],
    per_sample_weights: Sequence[Tensor],
    extras: Sequence[Tensor],
    plan: str,
) -> list[Tensor]:
    """One torch op per table and per output, on views of the inputs; differentiable."""
    parsed = Plan.parse(plan)
    results = []
    for table, weight in zip(parsed.tables, weights, strict=True):
        taken = viewed(table.ids, ids)
        assert taken is not None
        if table.mode == "row":
            results.append(F.embedding(taken, weight, table.padding, sparse=table.sparse))
            continue
        starts = viewed(table.offsets, offsets)
        if starts is not None:  # torch wants one type of both
            taken, starts = taken.long(), starts.long()
        results.append(
            F.embedding_bag(
                taken,
                weight,
                starts,
                mode=table.mode,
                sparse=table.sparse,
                per_sample_weights=viewed(table.weights, per_sample_weights),
                include_last_offset=table.last,
                padding_idx=table.padding,
            )
        )
    outputs = []
    for output in parsed.outputs:
        parts = [extras[part.index] if isinstance(part, Extra) else results[part] for part in output.parts]
        if output.kind == "stack":
            outputs.append(torch.stack(parts, dim=1))
        else:
            outputs.append(torch.cat(parts, dim=-1) if output.kind == "cat" else parts[0])
    return outputs


def viewed(source: Source | None, tensors: Sequence[Tensor]) -> Tensor | None:
    if source is None or source.view is None:
        return None if source is None else tensors[source.tensor]
    view = source.view
    if view.length is None:
        return tensors[source.tensor].select(view.dim, view.start)
    return tensors[source.tensor].narrow(view.dim, view.start, view.length)


def side_by_side(inputs: Sequence[Tensor], plan: str) -> list[Tensor]:
    """The branches, one after the other."""
    results = []
    for line in plan.splitlines():
        name, _, written = line.removesuffix(")").partition("(")
        # A complex number says which input.
        arguments = ast.literal_eval("[" + re.sub(r"%([0-9]+)", r"\1+0j", written) + "]")
        arguments = [inputs[int(a.real)] if isinstance(a, complex) else a for a in arguments]
        op = functools.reduce(getattr, name.removeprefix("aten::").split("."), torch.ops.aten)
        keywords = {"approximate": arguments.pop()} if name == "aten::gelu" else {}
        results.append(op(*arguments, **keywords))
    return results

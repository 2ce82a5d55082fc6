"""The compiled ops of Parallel OP: loaded once, with their fake kernels; schemas and gradients are in csrc/grouped/."""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from bench_engine.kernels.native import extension
from bench_engine.kernels.parallel_op.plan import Extra, Output, Plan, Source, Table
from bench_engine.kernels.parallel_op.settings import Settings, active_settings

_ready = False
_direct: Callable[..., list[Tensor] | None] | None = None
_registering = threading.Lock()
_configuring = threading.Lock()
_configured: tuple[object, ...] | None = None
_is_compiling = torch.compiler.is_compiling


def load() -> None:
    """Load the compiled kernels and register what they need from Python, once. Raises KernelsNotBuiltError."""
    global _ready, _direct
    if _ready:
        return
    with _registering:
        if _ready:
            return
        extension.load()
        # side_by_side has none: it is made of aten ops, which have theirs.
        torch.library.register_fake("mirror::grouped_embedding", _fake)
        torch.library.register_fake("mirror::grouped_embedding_backward", _fake_backward)
        module = extension.python_module()
        _direct = module.grouped_embedding if module else None
        _ready = True


def grouped_embedding(
    weights: Sequence[Tensor],
    ids: Sequence[Tensor],
    offsets: Sequence[Tensor],
    per_sample_weights: Sequence[Tensor],
    extras: Sequence[Tensor],
    plan: str,
) -> list[Tensor]:
    """The op `mirror::grouped_embedding`, called by the shortest way that there is."""
    if _direct is not None and not _is_compiling():
        outputs = _direct(weights, ids, offsets, per_sample_weights, extras, plan)
        if outputs is not None:
            return outputs
    return torch.ops.mirror.grouped_embedding.default(weights, ids, offsets, per_sample_weights, extras, plan)


def configure(settings: Settings) -> None:
    """Tell the loaded ops how to run and where to keep their choices. A folder that cannot be written is one line."""
    global _configured
    # The ops forget their choices when they are told anything: settings of others, as `report`, do not count.
    how = (settings.schedule, settings.threads, settings.nested)
    wanted = (*how, settings.cache_dir)
    with _configuring:
        if wanted == _configured:
            return
        torch.ops.mirror.parallel_op_configure(*how, _choices_file(settings))
        _configured = wanted


def use_huge_pages(weights: Sequence[Tensor]) -> int:
    """Put large tables into huge pages where they lie, unless the settings say no; returns the bytes that are now.

    They are to be on the CPU and filled: memory that was never touched stays as it is.
    """
    if not (active_settings() or Settings.from_environment()).huge_pages:
        return 0
    return torch.ops.mirror.use_huge_pages([weight.detach() for weight in weights])


def choices() -> str:
    """What the ops chose per kind of call so far, a line each; empty where they are not loaded."""
    return torch.ops.mirror.parallel_op_choices() if _ready else ""


def unsettled() -> dict[str, int]:
    """Kinds of calls whose ways are still being measured, with the number of calls of each so far."""
    fields = [line.split("\t") for line in choices().splitlines()]
    return {kind: int(calls) for kind, chosen, calls, *_ in fields if chosen == "-"}


def _choices_file(settings: Settings) -> str:
    """The file of this build's choices; empty where none can be kept."""
    if settings.cache_dir is None:
        return ""
    try:
        settings.cache_dir.mkdir(parents=True, exist_ok=True)
        path = settings.cache_dir / f"choices-{extension.provenance()['kernels_build']}.txt"
        if not os.access(path if path.exists() else settings.cache_dir, os.W_OK):
            raise PermissionError(13, os.strerror(13), str(path))
    except OSError as error:
        if settings.report:
            print(
                f"Parallel OP keeps its choices for this process only, since {settings.cache_dir} cannot be written "
                f"({error.strerror}): name another folder with MIRROR_PARALLEL_OP_CACHE.",
                file=sys.stderr,
            )
        return ""
    return os.fspath(Path(path).absolute())


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Plan:
    return Plan.parse(text)


def _fake(
    weights: Sequence[Tensor],
    ids: Sequence[Tensor],
    offsets: Sequence[Tensor],
    per_sample_weights: Sequence[Tensor],
    extras: Sequence[Tensor],
    plan: str,
) -> list[Tensor]:
    _check_devices(weights, ids, offsets, per_sample_weights, extras)
    parsed = _parsed(plan)
    shapes = [
        [*_leading(table, ids, offsets), weight.size(1)] for table, weight in zip(parsed.tables, weights, strict=True)
    ]
    return [_output(output, shapes, weights, extras) for output in parsed.outputs]


def _leading(table: Table, ids: Sequence[Tensor], offsets: Sequence[Tensor]) -> list[int]:
    """Shape of what a table looks up, less its last dimension."""
    if table.offsets is not None:
        return [_taken(table.offsets, offsets).size(0) - int(table.last)]
    shape = list(_taken(table.ids, ids).shape)
    return shape if table.mode == "row" else shape[:1]


def _taken(source: Source, tensors: Sequence[Tensor]) -> Tensor:
    tensor, view = tensors[source.tensor], source.view
    if view is None:
        return tensor
    if view.length is None:
        return tensor.select(view.dim, view.start)
    return tensor.narrow(view.dim, view.start, view.length)


def _output(output: Output, shapes: Sequence[list[int]], weights: Sequence[Tensor], extras: Sequence[Tensor]) -> Tensor:
    parts = [list(extras[p.index].shape) if isinstance(p, Extra) else shapes[p] for p in output.parts]
    first = output.parts[0]
    like = extras[first.index] if isinstance(first, Extra) else weights[first]
    if output.kind == "stack":
        return like.new_empty([parts[0][0], len(parts), parts[0][1]])
    return like.new_empty([*parts[0][:-1], sum(shape[-1] for shape in parts)])


def _fake_backward(
    grads: Sequence[Tensor],
    weights: Sequence[Tensor],
    rows: Sequence[int],
    ids: Sequence[Tensor],
    offsets: Sequence[Tensor],
    per_sample_weights: Sequence[Tensor],
    plan: str,
    wanted: Sequence[bool],
) -> list[Tensor]:
    _check_devices(grads, weights, ids, offsets, per_sample_weights)
    tables = _parsed(plan).tables
    found = []
    for table, grad, count, asked in zip(tables, grads, rows, wanted, strict=False):
        if asked and table.sparse:
            touched = torch.library.get_ctx().new_dynamic_size()
            row = grad.new_empty((1, touched), dtype=torch.int64)
            values = grad.new_empty((touched, grad.size(-1)))
            found.append(torch.sparse_coo_tensor(row, values, (count, grad.size(-1)), check_invariants=False))
        elif asked:
            found.append(grad.new_empty((count, grad.size(-1))))
    samples = zip(per_sample_weights, wanted[len(tables) :], strict=True)
    return [*found, *(torch.empty_like(sample) for sample, asked in samples if asked)]


def _check_devices(*lists: Sequence[Tensor]) -> None:
    """A single meta tensor brings a call here: it must not look as if it had been computed."""
    devices = {str(tensor.device) for tensors in lists for tensor in tensors}
    if len(devices) > 1:
        raise ValueError(
            f"all tensors of a grouped embedding must be on one device, not on {', '.join(sorted(devices))}"
        )

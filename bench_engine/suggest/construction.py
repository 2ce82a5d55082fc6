"""Lines of Python that make a table: what is suggested, in the words of the modules that a model imports."""

from bench_engine.registry import benchmark, method
from bench_engine.suggest.budgets import Sizes
from bench_engine.suggest.suggestion import Table

_QUANTIZED = "bench_engine.kernels.quantized"


def code(table: Table, budget_mb: float, sizes: Sizes) -> str:
    """The lines, which run as they are; `ids`, where they count some, are those of the training data."""
    rows, dim = sizes.rows, sizes.embedding_dim
    if table.method == "dense":
        return f'import torch\n\ntable = torch.nn.EmbeddingBag({rows}, {dim}, mode="sum")'
    if table.method == "field_budget":
        share_mb = table.compression * sizes.dense_bytes / 1e6  # of what was measured, which may be half the budget
        return _field_budget(min(budget_mb, share_mb), sizes)
    entry = method(table.method)
    module, _, name = entry.implementation.partition(":")
    defaults = {axis.name: axis.default for axis in benchmark("training").axes}
    keywords = entry.keywords(defaults)
    told = "".join(f", {key}={value!r}" for key, value in keywords.items())
    size = f", compression={table.compression!r}" if entry.compressible else ""
    kind = entry.load()
    counted, trains = getattr(kind, "needs_counts", False), hasattr(kind, "training_optimizer")
    told += f", tables={list(sizes.field_rows)}" if getattr(kind, "needs_tables", False) else ""
    told += ", counts=counts" if counted else ""
    lines = ["import torch"] if counted else []
    lines += [f"from {_QUANTIZED if module.startswith(_QUANTIZED) else module} import {name}", ""]
    if counted:
        lines += [
            f"counts = torch.bincount(ids.flatten(), minlength={rows})  # of your training data, numbered through"
        ]
    lines += [f"table = {name}({rows}, {dim}{size}{told})"]
    if trains:
        lines += ["optimizer = table.training_optimizer(lr=0.2, eps=3e-3)  # beside that of the rest of the model"]
    return "\n".join(lines)


def _field_budget(budget_mb: float, sizes: Sizes) -> str:
    fields = list(sizes.field_rows)
    return (
        "from bench_engine.kernels.budget import CompressedEmbeddingBag, LookupCounts\n"
        f"from {_QUANTIZED} import QuantizedOptimizer\n\n"
        f"fields = {fields}\n"
        "counts = LookupCounts(fields)\n"
        "counts.add(ids)  # (n, fields) of your training data, numbered through; batch by batch where they are many\n"
        f"table = CompressedEmbeddingBag(fields, {sizes.embedding_dim}, budget_mb={budget_mb:.6g}, counts=counts)\n"
        "optimizer = QuantizedOptimizer(table, lr=0.2, eps=3e-3)  # beside that of the rest of the model"
    )

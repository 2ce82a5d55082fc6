"""GroupedEmbeddingBag: several embedding bags looked up by one op."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Literal

from torch import Tensor, nn

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.entry import switching
from bench_engine.kernels.parallel_op.plan import MODES, Mode, Output, Plan, Source, Table, View


class GroupedEmbeddingBag(nn.Module):
    """T tables of any rows, dimensions and modes, looked up side by side by one op.

    Args:
        weights: T tensors (rows, dim), float32, float64, bfloat16 or float16; parameters are kept as they are, so they
            may be shared with other modules.
        mode: sum, mean, max, or row (each id gives its row, as in torch.nn.Embedding); one for all tables or one each.
        names: of the tables, for error messages; table 0, 1, ... unless given.
        output: cat gives one tensor whose last dimension is the sum of all dims, separate gives a list of T tensors.
        bag_sizes: ids per bag of each table, where the ids of all tables come side by side in one tensor.

    Where the tables are large together, their memory is put into huge pages when the module is made (Linux 6.1 and
    newer; MIRROR_PARALLEL_OP_HUGE_PAGES=0 leaves it as it is). Values and addresses stay the same.

    Raises ValueError for arguments that do not fit one another, KernelsNotBuiltError without the compiled kernels,
    SettingsError.
    """

    def __init__(
        self,
        weights: Sequence[Tensor],
        mode: Mode | Sequence[Mode] = "sum",
        names: Sequence[str] | None = None,
        output: Literal["cat", "separate"] = "cat",
        bag_sizes: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        switching.load()
        tables = range(len(weights))
        modes = [mode] * len(weights) if isinstance(mode, str) else list(mode)
        if not weights:
            raise ValueError("a grouped embedding needs at least one table")
        if unknown := sorted(set(modes) - set(MODES)):
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {unknown[0]!r}")
        names = [str(t) for t in tables] if names is None else list(names)
        if not len(modes) == len(names) == len(weights):
            raise ValueError(f"{len(weights)} tables need as many modes and names, not {len(modes)} and {len(names)}")
        if output not in ("cat", "separate"):
            raise ValueError(f"output must be cat or separate, not {output!r}")
        if bag_sizes is not None and (len(bag_sizes) != len(weights) or min(bag_sizes) < 0 or "row" in modes):
            raise ValueError(f"bag_sizes must hold a size for each of {len(weights)} tables of bags, not {bag_sizes}")
        self.weights = nn.ParameterList(
            w if isinstance(w, nn.Parameter) else nn.Parameter(w, requires_grad=w.requires_grad) for w in weights
        )
        self._joined = output == "cat"
        self._names, self._modes, self._bag_sizes = names, modes, bag_sizes and list(bag_sizes)
        self._width = sum(bag_sizes or ())
        self._plans = self._made_plans()
        ops.use_huge_pages(list(self.weights))

    def __setstate__(self, state: dict[str, Any]) -> None:
        switching.load()  # a copy or an unpickled module was not constructed
        super().__setstate__(state)
        self._plans = self._made_plans()

    def forward(self, ids: Sequence[Tensor] | Tensor, offsets: Sequence[Tensor] | None = None) -> Tensor | list[Tensor]:
        """Look up T id tensors, int32 or int64: (B, L_t), or (N_t,) with offsets (B,); any shape for mode row.

        With bag_sizes the ids are one tensor (B, sum of bag_sizes), which is read where it lies.

        Returns (B, sum of dims), or a list of T tensors (B, dim). Raises IndexError that names the table for an id that
        is out of range, ValueError and TypeError for shapes and types that do not fit.
        """
        bags = offsets is not None
        if self._bag_sizes is not None:
            if not isinstance(ids, Tensor) or bags:
                raise ValueError("with bag_sizes the ids of all tables are one tensor, without offsets")
            if ids.dim() != 2 or ids.size(1) != self._width:
                raise ValueError(f"ids must be (bags, {self._width}), all bag_sizes together, not {tuple(ids.shape)}")
            ids = [ids]
        elif isinstance(ids, Tensor):
            raise ValueError("without bag_sizes the ids are a list, a tensor for each table")
        if bags and "row" in self._modes:
            raise ValueError("a table of mode row has no bags: leave offsets out")
        own = self.weights._parameters
        # Not the list itself, whose elements take a microsecond each, unless one is pruned or parametrized.
        weights: list[Any] = list(own.values()) if [*own] == self._places else list(self.weights)
        outputs = ops.grouped_embedding(weights, ids, offsets or [], [], [], self._plans[bags])
        return outputs[0] if self._joined else outputs

    def _made_plans(self) -> dict[bool, str]:
        """With offsets or without. Made before the first call: a compiler that traces it could not follow."""
        self._places = [str(t) for t in range(len(self._names))]
        without = "row" in self._modes or self._bag_sizes is not None
        return {bags: self._plan(bags) for bags in ((False,) if without else (False, True))}

    def _plan(self, bags: bool) -> str:
        tables = tuple(
            Table(name, ids, offsets=Source(t) if bags else None, mode=mode)
            for t, (name, ids, mode) in enumerate(zip(self._names, self._sources(), self._modes, strict=True))
        )
        everything = tuple(range(len(tables)))
        outputs = (Output("cat", everything),) if self._joined else tuple(Output("out", (t,)) for t in everything)
        return Plan(tables, outputs).text()

    def _sources(self) -> list[Source]:
        """Where the ids of each table are."""
        if self._bag_sizes is None:
            return [Source(t) for t in range(len(self._names))]
        ends = list(accumulate(self._bag_sizes))
        return [Source(0, View(1, end - size, size)) for end, size in zip(ends, self._bag_sizes, strict=True)]

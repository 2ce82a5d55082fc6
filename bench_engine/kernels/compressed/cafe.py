"""CafeEmbeddingBag: rows of their own for the ids of the largest gradients, found while training; others share rows."""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.kernels.bags import (
    Bags,
    PlainEmbeddingBag,
    at_least,
    check_bags,
    check_compression,
    initial_bound,
    pool,
)
from bench_engine.kernels.compressed.hot_sketch import BUCKET_BYTES, HotSketch
from bench_engine.kernels.fiited.table_optimizer import begins_batch, check_alone

_SECOND_LEVEL = 0.3  # of the shared rows, where there are two levels
_MEDIUM = 0.2  # of the threshold, from which on an id reads the second level too
_FIXED_BYTES = 8  # of the sketch
_MOST_ROWS = 2**31 - 1  # ids are kept in 4 bytes
_EPSILON = 1e-8  # of its Adagrad


class CafeEmbeddingBag(PlainEmbeddingBag):
    """A row of its own for each hot id; all others share rows (CAFE, Zhang et al. 2024, SIGMOD, arXiv:2312.03256).

    Vector of id i: `weight[hot row of i]` where HotSketch says that i is hot, else `weight[i mod R]`. With two levels,
    CAFE-ML, an id whose score has come to a fifth of the threshold adds `weight[R + i mod R2]` to that. A step scores
    each lookup by the L2 norm of the gradient of its vector, divided by the mean of these norms. An id that becomes hot
    takes its vector along to a row whose optimizer state is as at the start; one that ceases to be hot shares again.

    `compression` counts all bytes: weights, 48 of the sketch for each hot row, as the paper has it and as it takes
    here, and 8. Of these bytes `hash_rate` is for shared rows, the rest for hot ones. Other than in the authors' code,
    which gives each field shared rows of its own and keeps small fields whole, all ids share the same rows, as in the
    other methods: on the validation parts of frappe and ml-206k that had the higher AUC.

    Args:
        num_embeddings, embedding_dim, compression, mode, device, dtype: as EmbeddingBagMethod.
        levels: tables that an id which is not hot may read, 1 or 2.
        hash_rate, threshold: as the authors advise, 0.7 and 30 for a compression of 0.01 and more, 0.3 and 300 below.
        decay: of the scores.

    With one level its Adagrad has a small epsilon: rows that many ids share, or that a hot id has, are all looked up
    often, and none has to be held back as the row of an id that is seen once. On the validation parts of frappe and
    ml-206k the benchmark's 3e-3 had the lower AUC at 0.1, by 0.024 and 0.004, and at 0.02, by 0.007 and nothing. With
    two levels neither was ahead (two seeds).

    `follow` tells which optimizer steps it: without, nothing becomes hot. Copies follow none. Starts uniform in
    ±sqrt(1 / E). Raises ValueError, also where the bytes do not hold a hot row and a shared one of each level.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        compression: float = 1.0,
        mode: str = "sum",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        levels: int = 1,
        hash_rate: float | None = None,
        threshold: float | None = None,
        decay: float = 0.99,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, mode)
        check_compression(compression)
        if self.num_embeddings > _MOST_ROWS:
            raise ValueError(f"ids are kept in 4 bytes: num_embeddings must be at most {_MOST_ROWS}")
        if levels not in (1, 2):
            raise ValueError(f"levels must be 1 or 2, not {levels!r}")
        hash_rate = (0.7 if compression >= 0.01 else 0.3) if hash_rate is None else hash_rate
        threshold = (30.0 if compression >= 0.01 else 300.0) if threshold is None else threshold
        for name, value, most in (("hash_rate", hash_rate, 1), ("threshold", threshold, 1e30), ("decay", decay, 1)):
            if not 0 < value <= most:
                raise ValueError(f"{name} must be above 0 and at most {most:g}, not {value!r}")
        hot, shared = self._rows_within(compression, hash_rate, int(levels))
        self.levels = int(levels)
        self.second_rows = max(1, math.floor(_SECOND_LEVEL * shared)) if levels == 2 else 0
        self.first_rows = shared - self.second_rows
        self.sketch = HotSketch(hot, threshold, decay, device)
        self.weight = nn.Parameter(torch.empty(shared + hot, embedding_dim, device=device, dtype=dtype))
        self._followed = False
        self._recorded: list[tuple[Tensor, Tensor]] = []  # ids, and norms of the gradients of their vectors
        self.reset_parameters()

    def _rows_within(self, compression: float, hash_rate: float, levels: int) -> tuple[int, int]:
        """Hot rows and shared ones."""
        row, hot_row = self.embedding_dim * 4, self.embedding_dim * 4 + BUCKET_BYTES
        dense = self.num_embeddings * row
        left = math.floor(compression * dense * (1 + 1e-12)) - _FIXED_BYTES  # 0.29 * 100 is 28.999999999999996
        hot = max(1, math.floor(left * (1 - hash_rate) / hot_row))
        shared = (left - hot * hot_row) // row
        if shared < levels:
            least = (_FIXED_BYTES + hot_row + levels * row) / dense
            hint = f": the smallest is {at_least(least)}" if least <= 1 else ""
            raise ValueError(
                f"compression {compression!r} leaves no hot row and shared ones of {self.num_embeddings} ids{hint}"
            )
        return hot, shared

    def reset_parameters(self) -> None:
        """Draw all rows anew; which ids are hot stays."""
        bound = initial_bound(self.num_embeddings)
        nn.init.uniform_(self.weight, -bound, bound)

    # -- looking up ------------------------------------------------------------------------------------------------

    def vectors(self, ids: Tensor) -> Tensor:
        """The hot row of each id, or what it shares: (n, D)."""
        ids = ids.long()
        hot, score = self.sketch.find(ids)
        own = self.first_rows + self.second_rows + hot - 1
        found = F.embedding(torch.where(hot > 0, own, ids % self.first_rows), self.weight)
        if self.levels == 1:
            return found
        medium = (hot == 0) & (score >= _MEDIUM * self.sketch.threshold)
        second = F.embedding(self.first_rows + ids % self.second_rows, self.weight)
        return found + second * medium.unsqueeze(1)

    def pooled(self, bags: Bags) -> Tensor:
        """One vector per bag, (B, D)."""
        check_bags(bags, self.num_embeddings)
        vectors = self.vectors(bags.ids)
        if self._followed and vectors.requires_grad:
            check_alone("a table with hot ids", "train it in one process")
            if begins_batch(self.weight):
                self._recorded.clear()
            ids = bags.ids.long().clone()
            vectors.register_hook(lambda grad: self._record(ids, grad))
        return pool(vectors, bags, self.mode)

    # -- training --------------------------------------------------------------------------------------------------

    def follow(self, optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
        """Score lookups, and move ids between hot and shared rows, after each step of what trains `weight`.

        Gives the optimizer back. Its `step` raises FloatingPointError where the gradient of a lookup is not finite,
        before anything is changed. Raises ValueError where it does not train the table.
        """
        _group_of(optimizer, self.weight)
        self._followed = True
        optimizer.register_step_pre_hook(self._before)
        optimizer.register_step_post_hook(lambda stepped, *_: self._move(stepped))
        return optimizer

    def _record(self, ids: Tensor, grad: Tensor) -> None:
        self._recorded.append((ids, torch.linalg.vector_norm(grad.detach().float(), dim=1)))

    def _before(self, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Checks gradients: of a step with a closure those that it makes."""
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)  # the first argument is the optimizer
        if closure is None:
            return self._check_gradients()

        def checked() -> Any:
            loss = closure()
            self._check_gradients()
            return loss

        return (args[0], checked, *args[2:]), {k: v for k, v in kwargs.items() if k != "closure"}

    def _check_gradients(self) -> None:
        if self.weight.grad is None or not bool(self.weight.grad.any()):  # as zero_grad leaves it
            self._recorded.clear()
        if not all(bool(norms.isfinite().all()) for _, norms in self._recorded):
            raise FloatingPointError(
                "the gradient of a lookup holds NaN or infinity: the step was refused and nothing was changed; "
                "drop this batch with zero_grad(), or look for what overflows in the model"
            )

    @torch.no_grad()
    def _move(self, optimizer: torch.optim.Optimizer) -> None:
        if not self._recorded:
            return
        ids, scores = self._scores()
        self._recorded.clear()
        if len(ids) == 0:
            return
        before = self.vectors(ids)
        hot, rows = self.sketch.insert(ids, scores)
        rows = rows + self.first_rows + self.second_rows
        self.weight[rows] = before[torch.searchsorted(ids, hot)]
        start = _group_of(optimizer, self.weight).get("initial_accumulator_value", 0.0)
        for value in optimizer.state[self.weight].values():
            if isinstance(value, Tensor) and value.shape == self.weight.shape:
                value[rows] = start

    def _scores(self) -> tuple[Tensor, Tensor]:
        """Distinct ids (n,), rising, and what this step adds to their scores, above 0."""
        ids, norms = (torch.cat(parts) for parts in zip(*self._recorded, strict=True))
        ids, norms = ids[norms > 0], norms[norms > 0].double()
        distinct, place = ids.unique(return_inverse=True)
        # Sums by bincount and cumsum: they add in one order at any number of threads.
        return distinct, torch.bincount(place, weights=norms) * (len(norms) / norms.cumsum(0)[-1:])

    # -- state -----------------------------------------------------------------------------------------------------

    def get_extra_state(self) -> Tensor:
        """Shared rows of each level, (2,)."""
        return torch.tensor([self.first_rows, self.second_rows])

    def set_extra_state(self, state: Tensor) -> None:
        """Nothing more than was looked at before."""

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *others: Any) -> None:
        """Raises ValueError where ids lead to other rows here, before any is taken."""
        own, saved = self.get_extra_state(), state_dict.get(f"{prefix}_extra_state")
        if saved is not None and not torch.equal(saved, own):
            raise ValueError(
                f"the table was saved with shared rows of {saved.tolist()} in its two levels, and this one has "
                f"{own.tolist()}"
            )
        super()._load_from_state_dict(state_dict, prefix, *others)

    # -- what the benchmarks ask -----------------------------------------------------------------------------------

    def training_optimizer(self, lr: float, eps: float) -> torch.optim.Optimizer:
        """Adagrad, with one level at a small epsilon of its own."""
        eps = min(eps, _EPSILON) if self.levels == 1 else eps
        return self.follow(torch.optim.Adagrad(self.parameters(), lr=lr, eps=eps))

    def metadata_bytes(self) -> int:
        """Bytes of the sketch."""
        return sum(buffer.nbytes for buffer in self.buffers())

    def live_mask(self, rows: Tensor) -> Tensor:
        """Whether ids (n,) have a row of their own, bool (n, 1)."""
        return (self.sketch.find(rows.long())[0] > 0).unsqueeze(1)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_recorded": [], "_followed": False}

    def extra_repr(self) -> str:
        """Sizes."""
        rows = f"{self.first_rows}" if self.levels == 1 else f"{self.first_rows} + {self.second_rows}"
        return f"{super().extra_repr()}, shared_rows={rows}, hot_rows={self.sketch.num_buckets}"


def _group_of(optimizer: torch.optim.Optimizer, weight: Tensor) -> dict[str, Any]:
    for group in optimizer.param_groups:
        if any(parameter is weight for parameter in group["params"]):
            return group
    raise ValueError("the optimizer does not train this table: give it the table's parameters")

"""How training on planted clicks goes: what of the planted truth an embedding keeps, and its AUC as time goes by.

An id of effective dimension e, of max_dim at most, has ceil(k * e / max_dim) planted chunks of k. An embedding may
learn them in any of its chunks, so of an id the smaller of its planted and its live chunks counts as kept. Only ids
that the training part looks up count.

Where ids exchange their effects on the way, the ids that have become important take the place of neighbours in
popularity: they are restored when RESTORED of the share is kept of them that was kept of these before the swap.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bench_engine.data import ClickData, planted
from bench_engine.data.planted_spec import Spec
from bench_engine.data.quality import auc

RESTORED = 0.9
Curve = tuple[str, int, float]


@dataclass(frozen=True, eq=False)
class Planted:
    """Ids and their planted chunks.

    Attributes:
        rows: int64 (n,), rows of the joint table.
        chunks: int64 (n,), at least 1.
    """

    rows: Tensor
    chunks: Tensor

    def kept(self, live: Any) -> float:
        """Share of the chunks that is kept; `live` tells (n,) rows which of their chunks are live, bool (n, k)."""
        return float(torch.minimum(live(self.rows).sum(1), self.chunks).sum() / self.chunks.sum())


def planted_chunks(rows: np.ndarray, effective_dim: np.ndarray, max_dim: int, num_chunks: int) -> Planted:
    """The planted chunks of those of the rows that matter."""
    rows = rows[effective_dim[rows] > 0]
    chunks = -(-effective_dim[rows] * num_chunks // max_dim)
    return Planted(torch.from_numpy(rows.astype(np.int64)), torch.from_numpy(chunks.astype(np.int64)))


class PlantedCourse:
    """Follows one training. The embedding tells by `live_mask(rows)`, bool (n, k), what it keeps; others keep all.

    Attributes:
        changes: whether the data change with time, so that they are to be passed over once, in their order.
        restoration_lag_steps: steps from the swap to the first point at which ids are restored; None where they are
            not, or nothing is swapped.
    """

    def __init__(self, spec: Spec, data: ClickData, embedding: nn.Module, batch_size: int) -> None:
        self.spec = spec
        self.batch_size = batch_size
        self.swap_step = None if spec.swap_at is None else self._step_of(spec.swap_at)
        self.restoration_lag_steps: int | None = None
        self.kept_before_swap = 0.0
        self.live = getattr(embedding, "live_mask", None)
        if self.live:
            self._plant(np.unique(data.train_ids), self.live(torch.tensor([0])).size(1))
        self.changes = spec.swap_at is not None or spec.drift_share > 0
        self.probes = list(planted.probes(spec)) if self.changes else []

    def _plant(self, seen: np.ndarray, k: int) -> None:
        truth, most = planted.truth(self.spec), self.spec.max_dim
        self.before = planted_chunks(seen, truth.effective_dim, most, k)
        self.after = planted_chunks(seen, truth.effective_dim_after, most, k)
        self.lost = planted_chunks(seen[truth.lost[seen]], truth.effective_dim, most, k)
        self.gained = planted_chunks(seen[truth.gained[seen]], truth.effective_dim_after, most, k)

    def _step_of(self, position: float) -> int:
        return int(position * self.spec.train_examples) // self.batch_size

    def points(self, step: int) -> Iterator[Curve]:
        """What is kept after a step."""
        if not self.live:
            return
        swapped = self.swap_step is not None and step > self.swap_step
        yield "kept_share", step, (self.after if swapped else self.before).kept(self.live)
        if self.swap_step is None or not len(self.gained.rows):
            return
        if not swapped:
            self.kept_before_swap = self.lost.kept(self.live)
            return
        restored = self.gained.kept(self.live)
        yield "restored_share", step, restored
        if self.restoration_lag_steps is None and restored >= RESTORED * self.kept_before_swap > 0:
            self.restoration_lag_steps = step - self.swap_step

    def probed(self, step: int, predict: Any) -> Iterator[Curve]:
        """AUC on examples of this moment, where the data change with time; `predict` gives logits of ids."""
        while self.probes and step >= self._step_of(self.probes[0].position):
            probe = self.probes.pop(0)
            reached = auc(probe.labels, predict(probe.ids))
            yield "probe_auc", step, reached
            yield "probe_regret", step, probe.bayes_auc - reached

    def metrics(self) -> dict[str, float]:
        """What of it are metrics of the trial, when it is over."""
        kept = {"kept_share": self.after.kept(self.live)} if self.live else {}
        lag = self.restoration_lag_steps
        return kept if lag is None else {**kept, "restoration_lag_steps": lag}


def course(dataset: Any, data: ClickData, embedding: nn.Module, batch_size: int) -> PlantedCourse | None:
    """The course of a training on the data of a module; None where nothing is planted in them."""
    spec = getattr(dataset, "SPEC", None)
    return PlantedCourse(spec, data, embedding, batch_size) if isinstance(spec, Spec) else None

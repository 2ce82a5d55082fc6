"""How training on planted clicks goes: what of the planted truth an embedding keeps, and its AUC as time goes by.

What is kept is told by bench_engine.data.planted.truth, over the ids that the training part looks up.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from bench_engine.data import ClickData
from bench_engine.data.planted import clicks as planted
from bench_engine.data.planted.planted_spec import Spec
from bench_engine.data.planted.truth import kept_share, live_dims, regret, restoration_lag
from bench_engine.data.quality import auc

Curve = tuple[str, int, float]
CLOSELY, EVERY = 150, 10  # for so many steps after a swap what is kept is told so often


class PlantedCourse:
    """Follows one training. The embedding tells by `live_mask(rows)`, bool (n, k), what it keeps; others keep all.

    Attributes:
        changes: whether the data change with time, so that they are to be passed over once, in their order.
        swap_step: last step before ids exchange their effects; None where they never do.
    """

    def __init__(self, spec: Spec, data: ClickData, embedding: nn.Module, batch_size: int) -> None:
        self.spec = spec
        self.batch_size = batch_size
        self.changes = spec.swap_at is not None or spec.drift_share > 0
        self.swap_step = None if spec.swap_at is None else self._step_of(spec.swap_at)
        self.probes = list(planted.probes(spec)) if self.changes else []
        self.live_mask = getattr(embedding, "live_mask", None)
        self.embedding_dim = getattr(embedding, "embedding_dim", 0)
        self.steps: list[int] = []  # of the points of `gained` and `lost`
        self.gained: list[float] = []
        self.lost: list[float] = []
        if self.live_mask:
            truth, seen = planted.truth(spec), np.unique(data.train_ids).astype(np.int64)
            self.seen = torch.from_numpy(seen)
            self.dim, self.dim_after = truth.effective_dim[seen], truth.effective_dim_after[seen]
            self.is_gained, self.is_lost = truth.gained[seen], truth.lost[seen]

    def _step_of(self, position: float) -> int:
        return int(position * self.spec.train_examples) // self.batch_size

    def points(self, step: int) -> Iterator[Curve]:
        """What is kept after a step: of all that matters now and, after a swap, of the ids that matter only since."""
        if not self.live_mask or self.steps[-1:] == [step]:
            return
        live = self._live()
        swapped = self.swap_step is not None and step > self.swap_step
        yield "kept_share", step, kept_share(live, self.dim_after if swapped else self.dim)
        if not self.is_gained.any():
            return
        self.steps.append(step)
        self.gained.append(kept_share(live[self.is_gained], self.dim_after[self.is_gained]))
        self.lost.append(kept_share(live[self.is_lost], self.dim[self.is_lost]))
        if swapped:
            yield "restored_share", step, self.gained[-1]

    def after_step(self, step: int, predict: Any) -> Iterator[Curve]:
        """AUC on examples of this moment, where the data change with time, and after a swap points at short intervals;
        `predict` gives logits of ids."""
        since = 0 if self.swap_step is None else step - self.swap_step
        if 0 < since <= CLOSELY and since % EVERY == 0:
            yield from self.points(step)
        while self.probes and step >= self._step_of(self.probes[0].position):
            probe = self.probes.pop(0)
            reached = auc(probe.labels, predict(probe.ids))
            yield "probe_auc", step, reached
            yield "probe_regret", step, regret(reached, probe.bayes_auc)

    def metrics(self) -> dict[str, float]:
        """What of it are metrics of the trial, when it is over."""
        if not self.live_mask:
            return {}
        kept = {"kept_share": kept_share(self._live(), self.dim_after)}
        if self.swap_step is None or not self.steps or self.steps[0] > self.swap_step:
            return kept
        lag = restoration_lag(self.steps, self.gained, self.lost, self.swap_step)
        return kept if lag is None else {**kept, "restoration_lag_steps": lag}

    def _live(self) -> np.ndarray:
        """Live dimensions of the ids that training looks up."""
        assert self.live_mask
        return live_dims(self.live_mask(self.seen).numpy(), self.embedding_dim)


def course(dataset: Any, data: ClickData, embedding: nn.Module, batch_size: int) -> PlantedCourse | None:
    """The course of a training on the data of a module; None where nothing is planted in them."""
    spec = getattr(dataset, "SPEC", None)
    return PlantedCourse(spec, data, embedding, batch_size) if isinstance(spec, Spec) else None

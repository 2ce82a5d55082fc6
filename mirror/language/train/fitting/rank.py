"""Fits the ranker: a hidden layer over what speaks for each candidate, on questions over databases unseen so far."""

from collections.abc import Sequence

import numpy as np
import torch

from mirror.language.ranking.ranker import Ranker
from mirror.language.train.fitting.judged import Judged

HIDDEN, STEPS, DECAY = 24, 1500, 3e-3
_COMPARING = 0.5  # weight of being first among the candidates of a question, beside being right at all


def fit(questions: Sequence[Judged], seed: int = 0) -> Ranker:
    """The ranker of some questions."""
    asked = [q for q in questions if q.features]
    names = tuple(asked[0].features[0])
    given = np.array([[f[n] for n in names] for q in asked for f in q.features], np.float32)
    right = torch.tensor([float(r) for q in asked for r in q.right])
    mean, scale = given.mean(0), np.maximum(given.std(0), 1e-3)
    x = torch.from_numpy((given - mean) / scale)
    owner = torch.tensor([i for i, q in enumerate(asked) for _ in q.features])
    torch.manual_seed(seed)
    inner, outer = torch.nn.Linear(len(names), HIDDEN), torch.nn.Linear(HIDDEN, 1)
    optimizer = torch.optim.AdamW([*inner.parameters(), *outer.parameters()], lr=5e-3, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        told = outer(torch.nn.functional.dropout(torch.relu(inner(x)), 0.2)).squeeze(1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(told, right) + _COMPARING * _first(
            told, right, owner
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    w, b, v = (p.detach().numpy() for p in (inner.weight, inner.bias, outer.weight[0]))
    return Ranker(names, mean, scale, w, b, v, outer.bias.item())


def _first(told: torch.Tensor, right: torch.Tensor, owner: torch.Tensor) -> torch.Tensor:
    """How unlikely it is that a right candidate comes first, over questions that have one."""
    count = int(owner.max()) + 1
    all_of = torch.zeros(count).scatter_add(0, owner, told.clamp(-30, 30).exp())
    right_of = torch.zeros(count).scatter_add(0, owner, told.clamp(-30, 30).exp() * right)
    some = right_of > 0
    return -(right_of[some] / all_of[some]).log().mean()

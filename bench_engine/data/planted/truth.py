"""Judges what an embedding keeps against what was planted: shares kept and wasted, restoration after the swap, regret.

A table that is trained may hold a planted vector in any of its dimensions, since a factorization is as good after a
rotation. So kept dimensions are counted per row and never matched one by one: min(live, planted) of them are kept.
All shares are the same in dimensions and in chunks, as long as both numbers have the same unit.
"""

from collections.abc import Sequence

import numpy as np

from bench_engine.data.planted.clicks import Truth


def live_dims(mask: np.ndarray, embedding_dim: int) -> np.ndarray:
    """int (E,), live dimensions of rows of which bool (E, k) tells the live chunks.

    Raises ValueError when k does not divide the dimension.
    """
    chunks = mask.shape[1]
    if not chunks or embedding_dim % chunks:
        raise ValueError(f"{chunks} chunks do not divide an embedding dimension of {embedding_dim}.")
    return mask.sum(1) * (embedding_dim // chunks)


def kept_share(live: np.ndarray, planted: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Sum of min(live, planted) / sum of planted, over rows; with weights (E,), such as look-ups, each row by its own.

    NaN when nothing was planted. Raises ValueError when the shapes differ.
    """
    return _share(np.minimum(live, planted), planted, weights)


def kept_share_of_rare_important(
    live: np.ndarray, truth: Truth, after: bool = False, weights: np.ndarray | None = None
) -> float:
    """kept_share over the rare ids that matter as much as any; after the swap where `after` is set."""
    rows = truth.rare_important_after if after else truth.rare_important
    planted = truth.effective_dim_after if after else truth.effective_dim
    return kept_share(live[rows], planted[rows], None if weights is None else weights[rows])


def useless_share(live: np.ndarray, planted: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Share of what is live that rows without any planted effect have; NaN when nothing is live."""
    return _share(np.where(planted == 0, live, 0), live, weights)


def restoration_lag(
    steps: Sequence[int], gained: Sequence[float], lost: Sequence[float], swap_step: int, level: float = 0.9
) -> int | None:
    """Steps from the swap until ids that have become important are kept as well as their predecessors were.

    0 where they were kept as well before the swap already; the steps that were left where they never are.

    Args:
        steps: ascending steps at which the shares were taken.
        gained: kept_share of truth.gained, with the dimensions planted after the swap.
        lost: kept_share of truth.lost, with those planted before it.
        swap_step: last step before the swap.
        level: part of the last value of `lost` up to `swap_step` that `gained` must reach.

    None when none of their predecessors were kept. Raises ValueError when the lengths differ, nothing was taken before
    the swap or the level is not above 0.
    """
    if not len(steps) == len(gained) == len(lost):
        raise ValueError(f"One share per step is needed: {len(steps)} steps, {len(gained)} and {len(lost)} shares.")
    if not level > 0:
        raise ValueError(f"level must be above 0, not {level}.")
    before = sum(step <= swap_step for step in steps)
    if not before:
        raise ValueError(f"No share was taken up to the swap at step {swap_step}.")
    wanted = level * lost[before - 1]
    if not wanted > 0:
        return None
    reached = (step for step, share in zip(steps[before - 1 :], gained[before - 1 :], strict=True) if share >= wanted)
    return max(0, next(reached, steps[-1]) - swap_step)


def regret(auc: float, bayes_auc: float) -> float:
    """How far an AUC lies below that of the true probabilities on the same examples."""
    return bayes_auc - auc


def _share(part: np.ndarray, whole: np.ndarray, weights: np.ndarray | None) -> float:
    if part.shape != whole.shape or (weights is not None and weights.shape != whole.shape):
        raise ValueError("One number of live and of planted dimensions per row is needed, and one weight if any.")
    scale = np.ones(whole.shape) if weights is None else weights
    total = float((whole * scale).sum())
    return float((part * scale).sum()) / total if total else float("nan")

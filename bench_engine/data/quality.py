"""How well predicted clicks fit the labels: AUC and logloss."""

import numpy as np


def auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """Area under the ROC curve, exact: the chance that a click scores above a non-click, ties counting a half.

    Computed from mid-ranks (Mann and Whitney 1947) in O(n log n). Only the order of the scores matters.
    Raises ValueError when a score is NaN, the lengths differ or one of the two classes is missing.
    """
    if labels.shape != scores.shape or labels.ndim != 1:
        raise ValueError(f"AUC needs one score per label, not shapes {labels.shape} and {scores.shape}.")
    if np.isnan(scores).any():
        raise ValueError("AUC needs scores that are numbers: some are NaN.")
    clicked = labels > 0.5
    positives = int(clicked.sum())
    negatives = len(labels) - positives
    if not positives or not negatives:
        raise ValueError("AUC needs clicks and non-clicks: all labels are the same.")
    _, group, size = np.unique(scores, return_inverse=True, return_counts=True)
    mid_rank = np.cumsum(size) - (size - 1) / 2
    rank_sum = float(mid_rank[group][clicked].sum())
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


def logloss(labels: np.ndarray, logits: np.ndarray) -> float:
    """Mean binary cross entropy of labels 0 and 1 under sigmoid(logits), in nats, without overflow."""
    logits = logits.astype(np.float64)
    return float(np.mean(np.logaddexp(0.0, logits) - labels * logits))

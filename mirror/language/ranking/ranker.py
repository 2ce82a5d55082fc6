"""The ranker: how likely a reading is what was asked, by a small trained network over what speaks for it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

WEIGHTS = Path(__file__).with_name("ranker.json")
RESULTS_RANKER = Path(__file__).with_name("results_ranker.json")
FOLLOW_UP_RANKER = Path(__file__).with_name("follow_up_ranker.json")
_NUMBERS = ("mean", "scale", "inner", "inner_bias", "outer")


@dataclass(frozen=True)
class Ranker:
    """Weights of one hidden layer.

    Attributes:
        names: features in the order of the weights.
        mean, scale: (features,) by which they are brought to one size.
        inner, inner_bias: (hidden, features), (hidden,).
        outer, bias: (hidden,), number.
        card: what they were trained on.
    """

    names: tuple[str, ...]
    mean: np.ndarray
    scale: np.ndarray
    inner: np.ndarray
    inner_bias: np.ndarray
    outer: np.ndarray
    bias: float
    card: Mapping[str, Any] = field(default_factory=dict)

    def chances(self, features: Sequence[Mapping[str, float]]) -> list[float]:
        """The chance of each reading, from 0 to 1."""
        if not features:
            return []
        given = np.array([[f[name] for name in self.names] for f in features])
        hidden = np.maximum(((given - self.mean) / self.scale) @ self.inner.T + self.inner_bias, 0)
        return [1 / (1 + math.exp(-x)) for x in np.clip(hidden @ self.outer + self.bias, -30, 30)]

    def gains(self, features: Mapping[str, float], other: Mapping[str, float]) -> list[tuple[str, float]]:
        """What each feature would add to the chance if it were like another reading's, the most first."""
        (own,) = self.chances([features])
        apart = [name for name in self.names if features[name] != other[name]]
        changed = self.chances([{**features, name: other[name]} for name in apart])
        return sorted(((n, c - own) for n, c in zip(apart, changed, strict=True)), key=lambda gain: -gain[1])

    def write(self, path: Path) -> None:
        """Write the weights and their card."""
        held = {"card": dict(self.card), "names": list(self.names), "bias": self.bias}
        held |= {name: np.round(getattr(self, name), 5).tolist() for name in _NUMBERS}
        path.write_text(json.dumps(held) + "\n")


@cache
def trained(path: Path = WEIGHTS) -> Ranker:
    """The ranker of a file that ships."""
    held = json.loads(path.read_text())
    mean, scale, inner, inner_bias, outer = (np.array(held[name]) for name in _NUMBERS)
    return Ranker(tuple(held["names"]), mean, scale, inner, inner_bias, outer, held["bias"], held["card"])

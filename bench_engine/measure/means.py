"""The mean of ratios over configurations, with the spread between configurations in its interval.

Random effects: each configuration has a ratio of its own, drawn from a law whose mean is asked for. Their variance is
that of the moments (DerSimonian and Laird 1986), a configuration weighs by one over that and its own variance, and the
interval is Hartung and Knapp's (2001), with Student's quantile of one degree of freedom less than configurations: it
keeps its level with few of them, where the usual one does not (IntHout, Ioannidis and Borm 2014). It is never taken as
narrower than the configurations' own intervals allow (Röver, Knapp and Friede 2015).
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from bench_engine.measure import ratios
from bench_engine.measure.ratios import Ratio


def random_effects(values: Sequence[Ratio]) -> Ratio:
    """Mean of ratios of configurations like these, and its 95 % interval.

    A ratio whose interval is not known weighs as the least certain of the others does. Raises ValueError for no ratios.
    """
    if not values:
        raise ValueError("There are no ratios to take the mean of: give at least one.")
    if len(values) == 1:
        return values[0]
    logs = np.log([value.value for value in values])
    own = np.array([value.variance for value in values])
    known = own[np.isfinite(own)]
    if known.size < own.size:
        own = np.where(np.isfinite(own), own, known.max() if known.size else 0.0)
    own = np.maximum(own, max(float(own.max()) * 1e-6, 1e-12))  # equal values have no interval at all
    weights = 1 / (own + between(logs, own))
    mean = float(weights @ logs / weights.sum())
    scatter = float(weights @ (logs - mean) ** 2) / (len(logs) - 1)
    return ratios.around(math.exp(mean), max(1.0, scatter) / float(weights.sum()), len(logs) - 1)


def over_configurations(found: Iterable[tuple[Hashable, Ratio]]) -> Ratio:
    """The same of ratios, each with its configuration: those of its seeds are one value."""
    grouped: dict[Hashable, list[Ratio]] = defaultdict(list)
    for configuration, ratio in found:
        grouped[configuration].append(ratio)
    return random_effects([random_effects(of_one) for of_one in grouped.values()])


def between(logs: np.ndarray, own: np.ndarray) -> float:
    """Variance between configurations, of values and their own variances (DerSimonian and Laird 1986)."""
    weights = 1 / own
    mean = weights @ logs / weights.sum()
    scatter = float(weights @ (logs - mean) ** 2)
    spread = float(weights.sum() - weights @ weights / weights.sum())
    return max(0.0, (scatter - (len(logs) - 1)) / spread)

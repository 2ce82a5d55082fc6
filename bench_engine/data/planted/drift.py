"""The planted clicks of the module `clicks` as time goes by: a swap in the middle, and drift of popularity.

It is to be trained on once and in order. The test part is drawn at the end, so its Bayes AUC is that after the swap;
`planted.probes(SPEC)` gives test examples along the way.
"""

from dataclasses import replace

from bench_engine.data import ClickData
from bench_engine.data.planted import clicks as planted

SPEC = replace(planted.SPEC, name="planted_drift", swap_at=0.5, drift_share=0.1)


def load() -> ClickData:
    """The data, the same in every process."""
    return replace(planted.click_data(SPEC), train_order="time")

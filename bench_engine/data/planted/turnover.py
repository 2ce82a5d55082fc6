"""The planted clicks of the module `clicks` in order of time: in the middle new ids take the place of old ones.

Three tenths of the frequent ids that matter are hardly looked up from then on, and rare ones that did not matter are in
their place. It is to be trained on once and in order; the test part is drawn at the end.
"""

from dataclasses import replace

from bench_engine.data import ClickData
from bench_engine.data.planted import clicks as planted

SPEC = replace(planted.SPEC, name="planted_turnover", swap_at=0.5, swap_share=0.3, swap_popularity=True)


def load() -> ClickData:
    """The data, the same in every process."""
    return replace(planted.click_data(SPEC), train_order="time")

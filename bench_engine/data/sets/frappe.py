"""Frappe app usage: 10 context fields of one app launch, clicked or a sampled negative (Baltrunas et al. 2015).

The validation part of the published Frappe_x1 split is used for training and its test part for testing, since these
two parts suffice for a trial of seconds; AUCs are therefore lower than those published for the full training part.
The feature numbers of Frappe_x1 are already rows of one joint table, so they are kept, and the size of the table does
not depend on the split. A feature that the training part lacks keeps its initial vector in a dense table; where a
method shares parameters between rows, other features move it.
"""

import numpy as np

from bench_engine.data import ClickData
from bench_engine.data.files import find
from bench_engine.data.formats.libfm import read

# user, item, daytime, weekday, isweekend, homework, cost, weather, country, city
FIELD_ROWS = (957, 4082, 7, 7, 2, 3, 2, 9, 80, 233)


def load() -> ClickData:
    """The data. Raises DataMissingError or LibfmError."""
    train, test = _part("frappe/frappe.validation.libfm"), _part("frappe/frappe.test.libfm")
    note = "Frappe_x1: trained on its validation part, tested on its test part"
    return ClickData.of_parts("frappe", FIELD_ROWS, train, test, note=note)


def _part(file: str) -> tuple[np.ndarray, np.ndarray]:
    ids, labels = zip(*read(find(file), FIELD_ROWS), strict=True)
    return np.concatenate(ids), np.concatenate(labels)

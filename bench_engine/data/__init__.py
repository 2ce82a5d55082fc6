"""Data sets for click models: the form they are handed over in. Light: neither torch nor numpy is imported here.

From outside: the names here, files, problems, quality, requests, validation; rooms below say their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bench_engine.data.problems import too_few

if TYPE_CHECKING:
    import numpy as np

TrainOrder = Literal["time", "user_time", "none"]


@dataclass(frozen=True, eq=False)
class ClickData:
    """Clicks with one id per field, in a training and a test part.

    The T fields share one table: field f owns the rows from `sum(field_rows[:f])` on, and ids are given as rows of
    that joint table.

    Attributes:
        name: registered name of the data set.
        num_rows: rows of the joint table E, the sum of `field_rows`.
        field_rows: rows of each field.
        train_ids, test_ids: integer arrays (n, T), rows of the joint table.
        train_labels, test_labels: float32 arrays (n,), 1 for a click and 0 for none.
        note: where the data come from and how they were split.
        bayes_auc: AUC on the test part of the probabilities the labels were drawn from; None for real data.
        train_order: in what order the rows of the training part stand: all by time, the rows of each user (field 0) by
            time, or none. bench_engine.data.validation cuts by it.
        shared_rows: rows at the start of each field that stand for no value of their own where rare values share the
            first of them; 0 where none do.

    Raises ValueError when the parts do not fit together.
    """

    name: str
    num_rows: int
    field_rows: tuple[int, ...]
    train_ids: "np.ndarray"
    train_labels: "np.ndarray"
    test_ids: "np.ndarray"
    test_labels: "np.ndarray"
    note: str = ""
    bayes_auc: float | None = None
    train_order: TrainOrder = "none"
    shared_rows: int = 0

    def __post_init__(self) -> None:
        if self.num_rows != sum(self.field_rows):
            raise ValueError(
                f"{self.name}: num_rows is {self.num_rows}, but the fields have {sum(self.field_rows)} rows."
            )
        self._check("training", self.train_ids, self.train_labels)
        self._check("test", self.test_ids, self.test_labels)

    @classmethod
    def split(
        cls,
        name: str,
        field_rows: tuple[int, ...],
        ids: "np.ndarray",
        labels: "np.ndarray",
        test: "np.ndarray",
        **about: Any,
    ) -> "ClickData":
        """All examples, ids (n, T) and labels (n,), parted by `test`, bool (n,); `about` are the other attributes.

        Raises DataFileError where one of the parts would be empty, and ValueError where `test` is no such array.
        """
        if str(test.dtype) != "bool" or test.shape != (len(labels),):
            raise ValueError(f"{name}: test must be bool ({len(labels)},), not {test.dtype} {test.shape}.")
        if test.all() or not test.any():
            raise too_few(name)
        return cls.of_parts(name, field_rows, (ids[~test], labels[~test]), (ids[test], labels[test]), **about)

    @classmethod
    def of_parts(
        cls,
        name: str,
        field_rows: tuple[int, ...],
        train: Sequence["np.ndarray"],
        test: Sequence["np.ndarray"],
        **about: Any,
    ) -> "ClickData":
        """Two parts, each (ids (n, T), labels (n,)); `about` are the other attributes."""
        train_labels, test_labels = (part[1].astype("float32", copy=False) for part in (train, test))
        return cls(name, sum(field_rows), field_rows, train[0], train_labels, test[0], test_labels, **about)

    @property
    def num_tables(self) -> int:
        """Number of fields T, each with its own part of the joint table."""
        return len(self.field_rows)

    def _check(self, part: str, ids: "np.ndarray", labels: "np.ndarray") -> None:
        if ids.shape != (len(labels), self.num_tables) or not len(labels):
            raise ValueError(
                f"{self.name}: the {part} part has ids of shape {ids.shape} for {len(labels)} labels and "
                f"{self.num_tables} fields, where (labels, fields) is needed and at least one label."
            )
        if not ((labels == 0) | (labels == 1)).all():
            raise ValueError(f"{self.name}: the {part} part has labels other than 0 and 1.")
        first = 0
        for field, rows in enumerate(self.field_rows):
            low, high = ids[:, field].min(), ids[:, field].max()
            if low < first or high >= first + rows:
                raise ValueError(
                    f"{self.name}: field {field} of the {part} part has ids from {low} to {high}, "
                    f"but its rows are {first} to {first + rows - 1}."
                )
            first += rows

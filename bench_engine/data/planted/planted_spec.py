"""What is planted: sizes, laws, seed, swap and drift of a planted data set."""

import math
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Spec:
    """One planted data set; equal specs give equal data in every process.

    Attributes:
        name: registered name of the data set.
        field_rows: rows of each field, as in ClickData.
        train_examples, test_examples: sizes of the parts. Positions in time are fractions of the training part.
        max_dim: effective dimension of the most important ids.
        zipf_s, zipf_q: the id of rank r = 1, 2, ... in its field has a popularity of (r + zipf_q) ** -zipf_s.
        useless_frequent: share of the frequent ids (the first tenth of their field) that are planted useless.
        important_rare: share of the other ids that are planted with max_dim.
        bias, weight_std, latent_std: of the factorization machine.
        seed: of everything that is drawn.
        swap_at: position from which on ids have exchanged their effects; None for never.
        swap_share: share of the pairs of a useful and a useless neighbour in popularity that exchange their effects.
        swap_popularity: the pairs are of a frequent useful and a rare useless id, and exchange their popularity too, as
            where new items take the place of old ones; swap_share is then that of the frequent useful ids.
        drift_share: share of the ids that gradually exchange their popularity with another one, fully at position 1.

    Raises ValueError with one sentence when a number is out of its range.
    """

    name: str
    field_rows: tuple[int, ...]
    train_examples: int
    test_examples: int
    max_dim: int = 8
    zipf_s: float = 1.1
    zipf_q: float = 10.0
    useless_frequent: float = 0.2
    important_rare: float = 0.05
    bias: float = -1.6
    weight_std: float = 0.4
    latent_std: float = 0.45
    seed: int = 2010
    swap_at: float | None = None
    swap_share: float = 1.0
    swap_popularity: bool = False
    drift_share: float = 0.0

    def __post_init__(self) -> None:
        if not self.field_rows:
            raise ValueError(f"{self.name}: field_rows is empty, but at least one field is needed.")
        for rows in self.field_rows:
            self._check("each of field_rows", rows, 2, 2**31 - 1)
        self._check("the sum of field_rows", sum(self.field_rows), 2, 2**31 - 1)  # ids are int32
        for count, low in (("train_examples", 1), ("test_examples", 1), ("max_dim", 1), ("seed", 0)):
            self._check(count, getattr(self, count), low, 2**63 - 1)
        for field in fields(self):
            if field.type is float:
                self._check(field.name, getattr(self, field.name), -math.inf if field.name == "bias" else 0, math.inf)
        for share in ("useless_frequent", "important_rare", "swap_share", "drift_share"):
            self._check(share, getattr(self, share), 0, 1)
        if self.swap_at is not None:
            self._check("swap_at", self.swap_at, 0, 1)
        elif self.swap_popularity:
            raise ValueError(f"{self.name}: swap_popularity needs swap_at, the position of the swap.")

    def _check(self, what: str, value: float, low: float, high: float) -> None:
        if not low <= value <= high or not math.isfinite(value):
            limits = f"between {low} and {high}" if math.isfinite(high) else "a finite number"
            limits += f" of at least {low}" if math.isinf(high) and math.isfinite(low) else ""
            raise ValueError(f"{self.name}: {what} must be {limits}, not {value}.")

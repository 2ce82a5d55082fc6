"""What a search tries: methods that can keep a budget, and budgets around it, as a sweep of validation trainings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from bench_engine.registry import method
from bench_engine.suggest.suggestion import SuggestError
from bench_engine.sweep import sweep as sweeps

# In the order in which they are trained, those that were ahead at equal bytes first (docs/compression.md).
METHODS = (
    "int8_qr", "field_budget", "small_dim", "int8", "static_frequency", "quotient_remainder", "hashed_block", "hashed",
    "dense",
)  # fmt: skip
AROUND = (1.0, 0.5, 2.0)  # times the budget that was asked for
THREADS = 1
_INDEX_BYTES = {"static_frequency": 4}  # of each row of the whole table, beside what `compression` counts
_DIGITS = 4  # of a share, rounded down: it is an axis that people read


@dataclass(frozen=True)
class Sizes:
    """What is known of data before anything is trained.

    Attributes:
        data: name of the data set.
        field_rows: rows of each field.
        embedding_dim: dimension D.
    """

    data: str
    field_rows: tuple[int, ...]
    embedding_dim: int

    @property
    def rows(self) -> int:
        """Rows of the joint table."""
        return sum(self.field_rows)

    @property
    def dense_bytes(self) -> int:
        """Bytes of a dense float32 table."""
        return self.rows * self.embedding_dim * 4

    @property
    def least_bytes(self) -> int:
        """Bytes of one int8 row, with its scale, for each field."""
        return len(self.field_rows) * (self.embedding_dim + 2)


def checked(budget_mb: float, sizes: Sizes) -> None:
    """Raises SuggestError for a budget that holds no table of any kind."""
    if not math.isfinite(budget_mb) or budget_mb <= 0:
        raise SuggestError(f"The budget must be a number of MB above 0, not {budget_mb:g}.")
    if budget_mb * 1e6 < sizes.least_bytes:
        raise SuggestError(
            f"{budget_mb:g} MB do not hold one row for each of the {len(sizes.field_rows)} fields of {sizes.data} at "
            f"dimension {sizes.embedding_dim}: ask for at least {_up(sizes.least_bytes / 1e6)} MB."
        )


def sweep(budget_mb: float, sizes: Sizes, methods: Sequence[str], seeds: int) -> sweeps.Sweep:
    """The sweep of a search: the budget that was asked for first, so that it is what there is time for.

    Raises SweepError for a method that the benchmark does not run.
    """
    parts = []
    for factors in (AROUND[:1], AROUND[1:]):
        of_parts = methods if factors == AROUND[:1] else [name for name in methods if _compressible(name)]
        for index_bytes in dict.fromkeys(_INDEX_BYTES.get(name, 0) for name in of_parts):
            of_part = [name for name in of_parts if _INDEX_BYTES.get(name, 0) == index_bytes]
            shares = [_share(budget_mb * factor * 1e6, index_bytes, sizes) for factor in factors]
            if tried := [share for share in shares if 0 < share < 1]:
                parts.append(_part(of_part, tried, sizes, seeds))
    head = (
        f"# What to use for {budget_mb:g} MB on {sizes.data}: chosen on the validation part, never on the test part\n"
    )
    return sweeps.parse(head + yaml.safe_dump_all(parts, sort_keys=False), f"suggest_{sizes.data}")


def asked_share(name: str, budget_mb: float, sizes: Sizes) -> float:
    """The compression of a method that stands for the budget that was asked for; 0 where it leaves no weights."""
    return _share(budget_mb * 1e6, _INDEX_BYTES.get(name, 0), sizes) if _compressible(name) else 1.0


def _compressible(name: str) -> bool:
    return method(name).compressible


def _part(methods: Sequence[str], shares: Sequence[float], sizes: Sizes, seeds: int) -> dict[str, object]:
    return {
        "benchmark": "training",
        "methods": list(methods),
        "parameters": {
            "dataset": {"value": sizes.data},
            "split": {"value": "validation"},
            "embedding_dim": {"value": sizes.embedding_dim},
            "compression": {"values": list(dict.fromkeys(shares))},
            "threads": {"value": THREADS},
        },
        "seeds": seeds,
    }


def _share(budget: float, index_bytes: int, sizes: Sizes) -> float:
    """What a budget leaves beside an index, as a share of the dense bytes, rounded down; 0 where that is nothing."""
    left = (budget - index_bytes * sizes.rows) / sizes.dense_bytes
    if budget < sizes.least_bytes or left <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(left)) + 1 - _DIGITS)
    return float(f"{math.floor(left / unit * (1 + 1e-12)) * unit:.{_DIGITS}g}")


def _up(value: float) -> str:
    """A number with three digits, rounded up."""
    digits = 2 - math.floor(math.log10(value))
    return f"{math.ceil(value * 10**digits) / 10**digits:g}"

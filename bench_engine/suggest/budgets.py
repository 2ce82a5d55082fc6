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
        train_rows: examples that it trains on.
    """

    data: str
    field_rows: tuple[int, ...]
    embedding_dim: int
    train_rows: int = 0

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
        together: dict[tuple[float, ...], list[str]] = {}
        for name in methods:
            shares = [share_of(name, budget_mb * factor, sizes) for factor in factors]
            if tried := tuple(dict.fromkeys(share for share in shares if 0 < share < 1)):
                together.setdefault(tried, []).append(name)
        if factors == AROUND[:1] and (of_one_size := [name for name in methods if not method(name).compressible]):
            together.setdefault(next(iter(together), (1.0,)), []).extend(of_one_size)
        parts += [_part(names, tried, sizes, seeds) for tried, names in together.items()]
    head = (
        f"# What to use for {budget_mb:g} MB on {sizes.data}: chosen on the validation part, never on the test part\n"
    )
    return sweeps.parse(head + yaml.safe_dump_all(parts, sort_keys=False), f"suggest_{sizes.data}")


def share_of(name: str, budget_mb: float, sizes: Sizes) -> float:
    """The largest compression at which a method keeps a budget, as far as its constructor tells; 0 where there is none,
    1 for a method of one size."""
    if not method(name).compressible:
        return 1.0
    if budget_mb * 1e6 < sizes.least_bytes:
        return 0.0
    if name == "small_dim":  # whole dimensions, and a matrix beside the rows
        kept = int(budget_mb * 1e6 / (4 * (sizes.rows + sizes.embedding_dim)))
        return min(kept, sizes.embedding_dim) / sizes.embedding_dim
    left = (budget_mb * 1e6 - _INDEX_BYTES.get(name, 0) * sizes.rows) / sizes.dense_bytes
    if left <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(left)) + 1 - _DIGITS)
    return min(1.0, float(f"{math.floor(left / unit * (1 + 1e-12)) * unit:.{_DIGITS}g}"))


def _part(methods: Sequence[str], shares: Sequence[float], sizes: Sizes, seeds: int) -> dict[str, object]:
    return {
        "benchmark": "training",
        "methods": list(methods),
        "parameters": {
            "dataset": {"value": sizes.data},
            "split": {"value": "validation"},
            "embedding_dim": {"value": sizes.embedding_dim},
            "compression": {"values": list(shares)},
            "threads": {"value": THREADS},
        },
        "seeds": seeds,
    }


def _up(value: float) -> str:
    """A number with three digits, rounded up."""
    digits = 2 - math.floor(math.log10(value))
    return f"{math.ceil(value * 10**digits - 1e-6) / 10**digits:g}"

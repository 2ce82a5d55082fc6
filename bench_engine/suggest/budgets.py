"""What a search tries: methods that can keep a budget, and budgets around it, as a sweep of validation trainings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import yaml

from bench_engine.registry import benchmark, method
from bench_engine.suggest.suggestion import SuggestError
from bench_engine.sweep import sweep as sweeps
from bench_engine.trial import Trial

# In the order in which they are trained, those that were ahead at equal bytes first (docs/compression.md).
METHODS = (
    "int8_qr", "field_budget", "small_dim", "int8", "static_frequency", "quotient_remainder", "hashed_block", "hashed",
    "dense",
)  # fmt: skip
AROUND = (0.5, 2.0)  # times the budget that was asked for
THREADS = 1
STEPS = 20  # in a pass at least: data of few rows are trained on in smaller batches
_SMALLEST_BATCH = 32
_ROWS_A_SECOND = 1000  # that are read and trained on at the least: more time is given to what has more of them
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
    def batch_size(self) -> int:
        """Examples in a step: the usual number, or of few rows a smaller power of two."""
        usual = int(benchmark("training").axis("batch_size").default)
        rows = max(_SMALLEST_BATCH, self.train_rows // STEPS)
        return usual if rows >= usual else 2 ** (rows.bit_length() - 1)

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
    asked = _by_share(methods, [budget_mb], sizes)
    _with_one_size(asked, methods)
    around = _by_share(methods, [budget_mb * factor for factor in AROUND], sizes)
    parts = [_training(names, tried, sizes, seeds) for tried, names in (*asked.items(), *around.items())]
    if not parts:
        raise SuggestError(
            f"None of {', '.join(methods)} keeps {budget_mb:g} MB on {sizes.data}, nor twice of it: ask for more, "
            "or try other methods."
        )
    head = (
        f"# What to use for {budget_mb:g} MB on {sizes.data}: chosen on the validation part, never on the test part\n"
    )
    return sweeps.parse(head + yaml.safe_dump_all(parts, sort_keys=False), f"suggest_{sizes.data}")


def lookups(budget_mb: float, sizes: Sizes, methods: Sequence[str]) -> sweeps.Sweep | None:
    """The sweep that times lookups of one id at the budget that was asked for; None where no method has it."""
    timed = [name for name in methods if name in benchmark("lookup").methods]
    asked = _by_share(timed, [budget_mb], sizes)
    _with_one_size(asked, timed)
    if not asked:
        return None
    parts = [_lookup(names, tried, sizes) for tried, names in asked.items()]
    head = f"# How fast is a lookup of what keeps {budget_mb:g} MB at the size of {sizes.data}?\n"
    return sweeps.parse(head + yaml.safe_dump_all(parts, sort_keys=False), f"suggest_{sizes.data}_lookups")


def _by_share(methods: Sequence[str], budgets_mb: Sequence[float], sizes: Sizes) -> dict[tuple[float, ...], list[str]]:
    """The methods that have the same compressions at some budgets, by those."""
    found: dict[tuple[float, ...], list[str]] = {}
    for name in methods:
        shares = (share_of(name, budget_mb, sizes) for budget_mb in budgets_mb)
        if tried := tuple(dict.fromkeys(share for share in shares if 0 < share < 1)):
            found.setdefault(tried, []).append(name)
    return found


def _with_one_size(found: dict[tuple[float, ...], list[str]], methods: Sequence[str]) -> None:
    """Add the methods of one size to the first part, where each runs once."""
    if of_one_size := [name for name in methods if not method(name).compressible]:
        found.setdefault(next(iter(found), (1.0,)), []).extend(of_one_size)


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


def _training(methods: Sequence[str], shares: Sequence[float], sizes: Sizes, seeds: int) -> dict[str, object]:
    axes: dict[str, object] = {"dataset": sizes.data, "split": "validation", "embedding_dim": sizes.embedding_dim}
    axes["batch_size"] = sizes.batch_size
    part = {"benchmark": "training", "methods": list(methods), "parameters": _axes(axes, shares), "seeds": seeds}
    limit_s = sizes.train_rows // _ROWS_A_SECOND
    return {**part, "time_limit_s": limit_s} if limit_s > Trial.time_limit_s else part


def _lookup(methods: Sequence[str], shares: Sequence[float], sizes: Sizes) -> dict[str, object]:
    axes = {"num_rows": sizes.rows, "embedding_dim": sizes.embedding_dim, "bag_size": 1}
    baseline = {"baseline": "dense"} if "dense" in methods else {}
    return {"benchmark": "lookup", "methods": list(methods), **baseline, "parameters": _axes(axes, shares)}


def _axes(axes: Mapping[str, object], shares: Sequence[float]) -> dict[str, object]:
    values = {axis: {"value": value} for axis, value in {**axes, "threads": THREADS}.items()}
    return {**values, "compression": {"values": list(shares)}}


def _up(value: float) -> str:
    """A number with three digits, rounded up."""
    digits = 2 - math.floor(math.log10(value))
    return f"{math.ceil(value * 10**digits - 1e-6) / 10**digits:g}"

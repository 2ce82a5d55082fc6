"""Small results with hand-checked numbers, as the questions of the project give them."""

from mirror.query.spec import ChartWish, Metric, Order, QuerySpec
from mirror.schema.result_columns import result_table
from mirror.table.table import Table

AUC = Metric("auc")
MEMORY = Metric("memory_mb")
MEAN_AUC = Metric("auc", "avg")
MEAN_LATENCY = Metric("latency_us", "avg")

# "memory vs AUC at compression 0.1", the baseline kept.
TRADE_OFF = QuerySpec("points", (MEMORY, AUC), ("method", "dataset", "seed", "compression"), keep_baseline=True)


def trade_off(*datasets: str) -> Table:
    """Three methods, two seeds each. Dense leads in AUC, hashed is smallest, small_dim is beaten by hashed."""
    rows = []
    for k, dataset in enumerate(datasets):
        for seed, noise in ((0, 0.001), (1, -0.001)):
            rows += [
                ("dense", dataset, seed, 1.0, 10.0 + k, 0.79 + noise),
                ("hashed", dataset, seed, 0.1, 1.0, 0.78 + noise),
                ("small_dim", dataset, seed, 0.1, 2.0, 0.76 + noise),
            ]
    return result_table(("method", "dataset", "seed", "compression", "memory_mb", "auc"), tuple(rows))


# "AUC by compression for hashed as a line chart"
BY_COMPRESSION = QuerySpec("groups", (MEAN_AUC,), ("compression", "dataset"), chart=ChartWish("line"))


def by_compression(*datasets: str) -> Table:
    rows = [(c, d, 0.7 + 0.01 * i, 0.001, 3) for d in datasets for i, c in enumerate((0.02, 0.05, 0.1, 0.2, 0.5, 1.0))]
    return result_table(("compression", "dataset", "auc", "stddev_auc", "n"), tuple(rows))


# "average latency by method and batch size"
BY_BATCH = QuerySpec("groups", (MEAN_LATENCY,), ("method", "batch_size"))


def by_batch() -> Table:
    rows = [(m, b, k * b, 0.5, 3) for m, k in (("dense", 0.1), ("hashed", 0.3)) for b in (64, 128, 256)]
    return result_table(("method", "batch_size", "latency_us", "stddev_latency_us", "n"), tuple(rows))


# "top 3 fastest lookups"
FASTEST = QuerySpec(
    "ranking", (MEAN_LATENCY,), ("method", "embedding_dim", "direction"), order=(Order("latency_us"),), limit=3
)


def fastest() -> Table:
    return result_table(
        ("method", "embedding_dim", "direction", "latency_us", "stddev_latency_us", "n"),
        (
            ("dense", 16, "forward", 10.0, 0.4, 3),
            ("hashed", 16, "forward", 12.5, 0.5, 3),
            ("dense", 64, "forward", 40.0, None, 1),
        ),
    )


# "best AUC per data set"
BEST = QuerySpec("best", (MEAN_AUC,), ("dataset", "method"), partitions=("dataset",), order=(Order("auc", True),))


def best() -> Table:
    return result_table(
        ("dataset", "method", "auc", "stddev_auc", "n"),
        (("frappe", "hashed", 0.93, 0.001, 3), ("synthetic", "dense", 0.78, 0.002, 3)),
    )

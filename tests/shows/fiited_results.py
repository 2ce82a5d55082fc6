"""Shows what stored trials say of FIITED, as the tables of docs/fiited.md: python -m tests.shows.fiited_results

Of the sweeps fiited_quality, fiited_study, fiited_drift and fiited_speed, or those that are named, from MIRROR_DB:

    python -m bench_engine --db /tmp/fiited.duckdb ingest db/examples/fiited/*.jsonl.gz
    MIRROR_DB=/tmp/fiited.duckdb python -m tests.shows.fiited_results

Intervals are of 95 %: Student's over seeds, of differences between equal seeds where two methods are compared.
"""

import argparse
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from bench_engine.measure.ratios import by_seed
from db.settings import db_url
from db.store import Store
from tests.shows.tables import Row, groups, of_seeds, table

_SMALL = 0.25  # budgets at which chunks are compared with rows
_CLOSE = 0.001  # AUC
_RIVALS = (
    *("fiited, k=1", "adaembed", "frequency_pruned", "static_frequency"),  # prune whole rows
    *("small_dim", "quotient_remainder", "hashed"),
)
_DEFAULTS = {"num_chunks": 4, "prune_interval": 30, "decay": 0.9, "prune_scope": "global", "utility_score": "gradient"}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("sweeps", nargs="*", metavar="SWEEP", help=", ".join(_SHOWS))
    chosen = arguments.parse_args().sweeps or list(_SHOWS)
    store = Store(db_url())
    for name in chosen:
        if name not in _SHOWS:
            arguments.error(f"there is no sweep {name} here, only {', '.join(_SHOWS)}")
        print(f"# {name}\n")
        _SHOWS[name](store)


# -- quality -----------------------------------------------------------------------------------------------------------


def quality(store: Store) -> None:
    """AUC and memory of every method at every budget; chunks against rows; the least memory near dense."""
    rows = store.rows("SELECT * FROM results WHERE sweep = 'fiited_quality' AND auc IS NOT NULL")
    for row in rows:
        row["method"] = _name(row)
    for (dataset, dim), of_both in groups(rows, "dataset", "embedding_dim").items():
        print(f"{dataset}, D = {dim}: AUC, and MB of the table\n")
        sizes = sorted({row["compression"] for row in of_both}, reverse=True)
        cells = groups(of_both, "method", "compression")
        table(
            ["method", *(f"{size:g}" for size in sizes)],
            (
                [method, *(_cell(cells.get((method, size), [])) for size in sizes)]
                for method in ("dense", "fiited, k=4", *_RIVALS)
                if any((method, size) in cells for size in sizes)
            ),
        )
    print("AUC of FIITED with four chunks minus that of the other, at equal budgets: higher / lower / within noise\n")
    table(["than", *(_sizes := [0.5, 0.25, 0.1, 0.05, 0.02, 0.01]), "at 0.25 and less"], _against(rows, _sizes))
    print("The same at equal MB in place of budgets, those of the other between its own: at 0.25, 0.1, 0.05 and 0.02\n")
    table(["data set", "D", *_RIVALS], _at_equal_memory(rows))
    print(f"Least memory within {_CLOSE} AUC of dense\n")
    table(["data set", "D", "dense", "its MB", "method", "compression", "AUC", "MB", "saved"], _near_dense(rows))


def _against(rows: Sequence[Row], sizes: Sequence[float]) -> Iterable[list[str]]:
    cells = groups(rows, "method", "dataset", "embedding_dim", "compression")
    for rival in _RIVALS:
        verdicts: dict[float, list[str]] = {size: [] for size in sizes}
        for (method, dataset, dim, size), ours in cells.items():
            theirs = cells.get((rival, dataset, dim, size))
            if method == "fiited, k=4" and theirs and size in verdicts:
                verdicts[size].append(_verdict(ours, theirs))
        small = [word for size, words in verdicts.items() if size <= _SMALL for word in words]
        yield [rival, *(_counts(words) for words in verdicts.values()), _counts(small)]


def _verdict(ours: Sequence[Row], theirs: Sequence[Row]) -> str:
    """Which has the higher AUC, by the interval of the differences between equal seeds."""
    mine, other = ({row["seed"]: row["auc"] for row in side} for side in (ours, theirs))
    seeds = sorted(mine.keys() & other.keys())
    ratio = by_seed([other[seed] for seed in seeds], [mine[seed] for seed in seeds])
    return "higher" if ratio.low > 1 else "lower" if ratio.high < 1 else "noise"


def _counts(words: Sequence[str]) -> str:
    return " / ".join(str(words.count(word)) for word in ("higher", "lower", "noise")) if words else ""


def _at_equal_memory(rows: Sequence[Row]) -> Iterable[list[Any]]:
    for (dataset, dim), of_both in groups(rows, "dataset", "embedding_dim").items():
        means = {key: _mean(cell) for key, cell in groups(of_both, "method", "compression").items()}
        line = []
        for rival in _RIVALS:
            curve = sorted((mb, auc) for (name, _), (auc, mb) in means.items() if name == rival)
            ours = [means.get(("fiited, k=4", size)) for size in (0.25, 0.1, 0.05, 0.02)]
            line.append(", ".join(_difference(its, curve) for its in ours) if curve else "")
        yield [dataset, dim, *line]


def _difference(ours: tuple[float, float] | None, curve: Sequence[tuple[float, float]]) -> str:
    """AUC above that of a curve of (MB, AUC) at the same memory; a dash outside of the curve."""
    if not ours or not curve[0][0] <= ours[1] <= curve[-1][0]:
        return "-"
    memory, aucs = zip(*curve, strict=True)
    return f"{ours[0] - float(np.interp(math.log(ours[1]), np.log(memory), aucs)):+.4f}"


def _near_dense(rows: Sequence[Row]) -> Iterable[list[Any]]:
    for (dataset, dim), of_both in groups(rows, "dataset", "embedding_dim").items():
        cells = {key: _mean(cell) for key, cell in groups(of_both, "method", "compression").items()}
        if ("dense", 1.0) not in cells:
            continue
        auc, memory = cells["dense", 1.0]
        close = [(mb, name, size, its) for (name, size), (its, mb) in cells.items() if its >= auc - _CLOSE]
        for mb, name, size, its in (min(close), *sorted(c for c in close if c[1] == "fiited, k=4" and c[2] < 1)[:1]):
            saved = f"{100 * (1 - mb / memory):.1f} %"
            yield [dataset, dim, f"{auc:.4f}", f"{memory:.2f}", name, f"{size:g}", f"{its:.4f}", f"{mb:.2f}", saved]


# -- study and drift ---------------------------------------------------------------------------------------------------


def study(store: Store) -> None:
    """AUC on validation parts, of one hyper-parameter at a time."""
    rows = store.rows("SELECT * FROM results WHERE sweep = 'fiited_study' AND auc IS NOT NULL")
    datasets = sorted({row["dataset"] for row in rows})
    for axis, default in _DEFAULTS.items():
        others = {name: value for name, value in _DEFAULTS.items() if name != axis}
        of_axis = [row for row in rows if all(row[name] == value for name, value in others.items())]
        cells = groups(of_axis, axis, "dataset")
        print(f"{axis}, {default} unless given\n")
        table(
            [axis, *datasets],
            (
                [value, *(_cell(cells.get((value, dataset), [])) for dataset in datasets)]
                for value in sorted({row[axis] for row in of_axis})
            ),
        )


def drift(store: Store) -> None:
    """Chunks that the truth asks for, kept and restored, and what the swap costs."""
    rows = store.rows("SELECT * FROM results WHERE sweep = 'fiited_drift' AND auc IS NOT NULL")
    axes = ("dataset", "method", "compression", "decay", "prune_interval")
    metrics = ("auc", "regret", "kept_share", "restoration_lag_steps")
    table(
        [*axes, *metrics],
        (
            ["" if value is None else value for value in key]
            + [of_seeds([row[metric] for row in cell], 0 if metric.endswith("steps") else 4) for metric in metrics]
            for key, cell in groups(rows, *axes).items()
        ),
    )


# -- speed -------------------------------------------------------------------------------------------------------------


def speed(store: Store) -> None:
    """Time as a multiple of dense with the same optimizer, and of events their share of a step."""
    rows = store.rows("SELECT * FROM results WHERE sweep = 'fiited_speed' AND latency_us IS NOT NULL")
    axes = ("direction", "optimizer", "num_rows", "embedding_dim", "compression", "batch_size", "bag_size", "threads")
    dense = {
        tuple(row[axis] for axis in axes if axis != "compression"): row for row in rows if row["method"] == "dense"
    }
    table(
        [*axes, "layout", "times dense", "us p50", "p95", "p99", "dense p50", "p95", "p99", "prune_share"],
        (
            [
                *("" if row[axis] is None else row[axis] for axis in axes),
                row["layout"] or row["method"],
                _times(row),
                *_percentiles(row),
                *_percentiles(dense.get(tuple(row[axis] for axis in axes if axis != "compression"))),
                "" if row["prune_share"] is None else f"{100 * row['prune_share']:.2f} %",
            ]
            for row in sorted(rows, key=lambda row: tuple(str(row[axis]) for axis in (*axes, "layout")))
            if row["method"] != "dense"
        ),
    )


def _times(row: Row) -> str:
    if row["speedup"] is None:
        return ""
    return f"{1 / row['speedup']:.2f} [{1 / row['speedup_ci_high']:.2f}, {1 / row['speedup_ci_low']:.2f}]"


def _percentiles(row: Row | None) -> list[str]:
    return [f"{row[name]:.1f}" if row else "" for name in ("latency_us", "latency_p95_us", "latency_p99_us")]


# -- tables ------------------------------------------------------------------------------------------------------------


def _name(row: Row) -> str:
    return f"fiited, k={row['num_chunks']}" if row["method"] == "fiited" else str(row["method"])


def _mean(rows: Sequence[Row]) -> tuple[float, float]:
    return (statistics.fmean(row["auc"] for row in rows), statistics.fmean(row["memory_mb"] for row in rows))


def _cell(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    return f"{of_seeds([row['auc'] for row in rows])}, {_mean(rows)[1]:.3g}"


_SHOWS: dict[str, Callable[[Store], None]] = {
    "fiited_quality": quality,
    "fiited_study": study,
    "fiited_drift": drift,
    "fiited_speed": speed,
}

if __name__ == "__main__":
    main()

"""Shows which table keeps the most AUC at a share of the bytes, as docs/quantized.md: python -m tests.shows.best_table

Of the sweep best_table, from MIRROR_DB:

    python -m bench_engine --db /tmp/best.duckdb ingest db/studies/best_table/*.jsonl.gz
    MIRROR_DB=/tmp/best.duckdb python -m tests.shows.best_table

Intervals are of 95 %: Student's over seeds, of differences between equal seeds where two methods are compared. In
brackets the share of dense's bytes that a table takes with all that belongs to it, where it is not the share asked for.
"""

import statistics
from collections.abc import Sequence

from bench_engine.measure.ratios import student
from db.settings import db_url
from db.store import Store
from tests.shows.tables import Row, groups, of_seeds, table

_OURS = "field_budget"
_METHODS = ("field_budget", "int8_qr", "fiited_int8", "quotient_remainder", "hashed_block", "small_dim", "fiited")
_WHOLE = ("dense", "int8")
_NEAR = 0.03  # of the share asked for
Cells = dict[tuple[object, ...], list[Row]]


def main() -> None:
    """Prints the tables."""
    rows = Store(db_url()).rows("SELECT * FROM results WHERE sweep = 'best_table' AND auc IS NOT NULL")
    cells: Cells = groups(rows, "dataset", "method", "compression")
    shares = sorted({row["compression"] for row in rows if row["method"] in _METHODS}, reverse=True)
    for (dataset,), of in groups(rows, "dataset").items():
        dense = statistics.fmean(row["memory_mb"] for row in of if row["method"] == "dense")
        whole = (
            f"{m} {of_seeds([r['auc'] for r in cells[dataset, m, 1.0]])}" for m in _WHOLE if (dataset, m, 1.0) in cells
        )
        print(f"{dataset}: {dense:.3g} MB of float32; {', '.join(whole)}\n")
        table(
            ["method", *(f"{share:g}" for share in shares)],
            ([m, *(_cell(cells.get((dataset, m, share), []), dense) for share in shares)] for m in _METHODS),
        )
    print(f"AUC of `{_OURS}` less that of others, of all data sets and shares that both have: higher, no difference")
    print("or lower by the interval over seeds; then the mean, and the difference where it is furthest behind\n")
    table(["against", "higher", "no difference", "lower", "mean", "furthest behind"], _against(cells, shares))


def _cell(rows: Sequence[Row], dense: float) -> str:
    if not rows:
        return ""
    share = statistics.fmean(row["memory_mb"] for row in rows) / dense
    asked = rows[0]["compression"]
    return of_seeds([row["auc"] for row in rows]) + ("" if abs(share / asked - 1) <= _NEAR else f" ({share:.2g})")


def _against(cells: Cells, shares: Sequence[float]) -> list[list[str]]:
    lines = []
    for other in (*(m for m in _METHODS if m != _OURS), *_WHOLE):
        counts, means = [0, 0, 0], list[tuple[float, str]]()
        for dataset in sorted({str(key[0]) for key in cells}):
            for share in shares:
                theirs = cells.get((dataset, other, 1.0 if other in _WHOLE else share), [])
                above = _paired(cells.get((dataset, _OURS, share), []), theirs)
                if len(above) > 1:
                    half = student(len(above) - 1) * statistics.stdev(above) / len(above) ** 0.5
                    mean = statistics.fmean(above)
                    counts[0 if mean > half else 2 if mean < -half else 1] += 1
                    means.append((mean, f"{dataset} at {share:g}"))
        if means:
            worst, where = min(means)
            mean = statistics.fmean(value for value, _ in means)
            lines.append([f"`{other}`", *map(str, counts), f"{mean:+.4f}", f"{worst:+.4f}, {where}"])
    return lines


def _paired(ours: Sequence[Row], theirs: Sequence[Row]) -> list[float]:
    """Differences between equal seeds."""
    of = {row["seed"]: row["auc"] for row in theirs}
    return [row["auc"] - of[row["seed"]] for row in ours if row["seed"] in of]


if __name__ == "__main__":
    main()

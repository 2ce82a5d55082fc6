"""Shows what hashing costs in AUC, as the tables of docs/hashed.md: python -m tests.shows.hashed_results

Of the sweep hashed_quality, from MIRROR_DB:

    python -m bench_engine --db /tmp/hashed.duckdb ingest db/examples/hashed/*.jsonl.gz
    MIRROR_DB=/tmp/hashed.duckdb python -m tests.shows.hashed_results

Intervals are of 95 %: Student's over seeds, of differences between equal seeds where two methods are compared.
"""

from collections.abc import Sequence

from db.settings import db_url
from db.store import Store
from tests.shows.tables import Row, groups, of_seeds, table

_METHODS = ("hashed", "hashed_mix64", "hashed_signed", "hashed_block", "quotient_remainder", "small_dim")


def main() -> None:
    rows = Store(db_url()).rows("SELECT * FROM results WHERE sweep = 'hashed_quality' AND auc IS NOT NULL")
    cells = groups(rows, "dataset", "compression", "method")
    sizes = sorted({(row["dataset"], row["compression"]) for row in rows if row["method"] != "dense"}, reverse=True)
    print("AUC at equal numbers of parameters\n")
    table(
        ["data set", "dense", "share", *_METHODS],
        (
            [
                dataset,
                of_seeds(_aucs(cells.get((dataset, 1.0, "dense"), []))),
                f"{size:g}",
                *(of_seeds(_aucs(cells.get((dataset, size, method), []))) for method in _METHODS),
            ]
            for dataset, size in sizes
        ),
    )
    print("The same less that of `hashed`, seed by seed\n")
    table(
        ["data set", "share", *_METHODS[1:]],
        (
            [dataset, f"{size:g}", *(_above(cells, dataset, size, method) for method in _METHODS[1:])]
            for dataset, size in sizes
        ),
    )
    print("MB of the table\n")
    table(
        ["data set", "share", *_METHODS],
        (
            [dataset, f"{size:g}", *(_megabytes(cells.get((dataset, size, method), [])) for method in _METHODS)]
            for dataset, size in sizes
        ),
    )


def _aucs(rows: Sequence[Row]) -> list[float]:
    return [row["auc"] for row in rows]


def _above(cells: dict[tuple, list[Row]], dataset: str, size: float, method: str) -> str:
    """Differences of AUC to `hashed` between equal seeds."""
    theirs = {row["seed"]: row["auc"] for row in cells.get((dataset, size, "hashed"), [])}
    of_method = cells.get((dataset, size, method), [])
    return of_seeds([row["auc"] - theirs[row["seed"]] for row in of_method if row["seed"] in theirs], signed=True)


def _megabytes(rows: Sequence[Row]) -> str:
    return "" if not rows else f"{rows[0]['memory_mb']:.4g}"


if __name__ == "__main__":
    main()

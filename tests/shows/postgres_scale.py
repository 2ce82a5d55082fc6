"""Shows that ten thousand recorded trials are no burden in PostgreSQL: ingest, queries, and the load of the app.

    python -m tests.shows.postgres_scale                  # 10,000 trials with 100 samples each, about two minutes
    python -m tests.shows.postgres_scale --trials 1000 --samples 20
    python -m tests.shows.postgres_scale --db postgresql+psycopg://user@host/empty_database

The trials are those of tests.shows.scale. Without --db, a server is started and thrown away (Debian's package
`postgresql`); it does not wait for the disk. The exit status is 0 when every target is met:

    ingest < 60 s      a query on `results` < 1 s (median)      all views into the app's process < 10 s
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from db.store import Store
from tests.db import postgres_server
from tests.shows import scale

INGEST_S, QUERY_MS, LOAD_S = 60.0, 1000.0, 10.0


@contextlib.contextmanager
def database(given: str | None) -> Iterator[str]:
    """URL of a database: the one that was given, else one that is thrown away."""
    if given:
        yield given
    else:
        with postgres_server.server() as server, server.database() as url:
            yield url


def show(url: str, folder: Path, trials: int, samples: int, rounds: int) -> bool:
    """Make the journal, ingest it and print the figures. Returns whether every target was met."""
    report = scale.Report()
    os.environ["MIRROR_JOURNAL"] = str(folder)
    scale.write_varied(folder, trials, samples)
    print(f"Wrote {trials:,} trials with {samples} samples.", flush=True)
    for what in ("ingest into an empty database", "ingest again: all known"):
        ended = scale.command("bench_engine", "ingest", "--db", url)
        print(ended.output.strip())
        report.line(what, [ended.seconds], "s", INGEST_S, ended.peak_mb)
    for name, values in scale.time_queries(url, rounds).items():
        report.line(f"query: {name}", values, "ms", QUERY_MS)
    start = time.perf_counter()
    tables = Store(url).snapshot()
    seconds = time.perf_counter() - start
    print(f"The views hold {sum(table.num_rows for table in tables.values()):,} rows.")
    report.line("all views into a process", [seconds], "s", LOAD_S)
    return report.met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", metavar="URL", help="an empty database, which is then full (default: one of its own)")
    parser.add_argument("--trials", type=int, default=10_000, help="recorded trials")
    parser.add_argument("--samples", type=int, default=100, help="samples of each trial")
    parser.add_argument("--rounds", type=int, default=5, help="repetitions of each query")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder, database(options.db) as url:
            met = show(url, Path(folder), options.trials, options.samples, options.rounds)
    except postgres_server.ServerMissingError as error:
        print(error, file=sys.stderr)
        return 1
    print("Every target is met." if met else "A target is missed.")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())

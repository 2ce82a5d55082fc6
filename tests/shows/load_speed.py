"""Shows how long a CSV file takes to become a table, beside another checkout of the project.

    python -m tests.shows.load_speed                          # a million rows of ten columns, three rounds
    python -m tests.shows.load_speed --beside ../older        # in turns with the code of another folder
    python -m tests.shows.load_speed --rows 100000 --rounds 5 --kind excel

Of each round and checkout, in a process of its own: the seconds from the file to a locked connection, and those until
all that questions need is counted; at the end, the medians of the second and their quotient. The kinds: `plain` is
numbers, ISO dates and words, as most files are; `texts` is money, percent, German dates and flags, which all have to be
told; `excel` is the first as a workbook.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LOAD = """
import sys, tempfile, time
from pathlib import Path
from mirror.data.sources import facts
from mirror.data.sources.location import find
from mirror.data.sources.open_reader import open_reader
import duckdb, pyarrow
duckdb.connect().execute("SELECT 1")
with tempfile.TemporaryDirectory() as scratch:
    started = time.perf_counter()
    reader = open_reader(find(sys.argv[1]), Path(scratch))
    loaded = time.perf_counter()
    facts.database(reader)
    print(loaded - started, time.perf_counter() - started)
"""
_HEADER = ["id", "day", "city", "status", "amount", "share", "quantity", "paid", "comment", "code"]


def _rows(count: int, kind: str) -> Iterator[list[Any]]:
    draw = random.Random(1)
    cities = [f"city {i}" for i in range(200)]
    for i in range(count):
        amount, day, month = draw.random() * 9000, draw.randint(1, 28), draw.randint(1, 12)
        words = f"text {draw.randint(0, 10**6)}"
        rest = [draw.randint(1, 20), "yes" if draw.random() < 0.5 else "no", words, f"{draw.randint(0, 99999):05d}"]
        if kind == "texts":
            yield [
                i,
                f"{day:02d}.{month:02d}.2025",
                draw.choice(cities),
                "open",
                f"${amount:.2f}",
                f"{amount % 100:.1f}%",
                *rest,
            ]
        else:
            rest[1] = "true" if rest[1] == "yes" else "false"
            yield [
                i,
                f"2025-{month:02d}-{day:02d}",
                draw.choice(cities),
                "open",
                round(amount, 2),
                round(amount % 100, 1),
                *rest,
            ]


def _write(folder: Path, count: int, kind: str) -> Path:
    if kind == "excel":
        import openpyxl

        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet("sales")
        sheet.append(_HEADER)
        for row in _rows(count, kind):
            sheet.append(row)
        book.save(folder / "sales.xlsx")
        return folder / "sales.xlsx"
    with (folder / "sales.csv").open("w") as file:
        file.writelines(",".join(map(str, row)) + "\n" for row in (_HEADER, *_rows(count, kind)))
    return folder / "sales.csv"


def _seconds(checkout: Path, file: Path) -> float:
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, str(file)], cwd=checkout, check=True, capture_output=True, text=True, timeout=600
    )
    loaded, described = map(float, done.stdout.split()[-2:])  # before it, how far DuckDB is
    print(f"  {checkout.name:12} {loaded:6.2f} s to load, {described:6.2f} s until it can be asked", flush=True)
    return described


def main() -> None:
    """Print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kind", choices=["plain", "texts", "excel"], default="plain")
    parser.add_argument("--beside", type=Path)
    given = parser.parse_args()
    here = Path(__file__).resolve().parents[2]
    checkouts = [here, *([given.beside.resolve()] if given.beside else [])]
    seconds: dict[Path, list[float]] = {checkout: [] for checkout in checkouts}
    with tempfile.TemporaryDirectory() as folder:
        file = _write(Path(folder), given.rows, given.kind)
        for _ in range(given.rounds):
            for checkout in checkouts:
                seconds[checkout].append(_seconds(checkout, file))
    medians = [statistics.median(seconds[checkout]) for checkout in checkouts]
    print(f"{given.kind}, {given.rows:,} rows: median {', '.join(f'{m:.2f} s' for m in medians)}", end="")
    print(f", {medians[0] / medians[1]:.2f} times" if given.beside else "")


if __name__ == "__main__":
    main()

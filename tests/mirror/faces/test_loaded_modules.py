"""What an answer in the terminal loads, in the process that asks and in the one that runs SQL: most of its time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from db.installation import ROOT

# Seen are imports that are begun, in any process of this environment, by the command line of the process. A module that
# a process refuses to look for is not among them.
SPY = """
import os, sys

class Spy:
    log = os.open(os.path.join(os.path.dirname(__file__), f"{os.getpid()}.imports"), os.O_WRONLY | os.O_CREAT)

    @classmethod
    def find_spec(cls, name, *_):
        os.write(cls.log, f"{name}\\n".encode())

sys.meta_path.insert(0, Spy)
"""
SLOW = {"pandas", "plotly", "sqlalchemy", "scipy", "torch", "sklearn", "streamlit", "pydantic", "psutil", "openai"}


def loaded(folder: Path, *arguments: str) -> tuple[set[str], ...]:
    """The packages that the command `mirror` begins to import: those of the process that asks come first."""
    (folder / "sitecustomize.py").write_text(SPY)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MIRROR_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-m", "mirror", *arguments],
        env=environment | {"PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout
    logs = sorted(folder.glob("*.imports"), key=lambda path: path.stat().st_ctime_ns)
    processes = [{line.partition(".")[0] for line in log.read_text().splitlines()} for log in logs]
    return tuple(sorted(processes, key=lambda packages: "argparse" not in packages))


def test_an_answer_about_results_loads_little(results_file: Path, tmp_path: Path) -> None:
    asking, running = loaded(tmp_path, "ask", "memory vs AUC at compression 0.1", "--db", str(results_file))
    assert {"duckdb", "yaml"} <= asking
    assert asking & (SLOW | {"pyarrow", "sqlglot"}) == set()  # the second reader is numpy
    assert "duckdb" in running
    assert running & (SLOW | {"numpy", "pyarrow", "sqlglot"}) == set()  # a small file is copied by DuckDB alone


def test_an_answer_about_other_data_loads_little(tmp_path: Path) -> None:
    table = tmp_path / "sales.csv"
    table.write_text("country,revenue\nDE,10\nFR,20\nDE,5\n")
    asking, running = loaded(tmp_path, "ask", "total revenue by country", "--db", str(table))
    assert "sqlglot" in asking
    assert asking & (SLOW | {"pyarrow"}) == set()  # the second reader is numpy
    assert {"duckdb", "sqlglot"} <= running
    assert running & (SLOW | {"numpy", "pyarrow"}) == set()


@pytest.mark.parametrize("arguments", [["--help"], ["ask", "--help"]])
def test_help_loads_next_to_nothing(tmp_path: Path, arguments: list[str]) -> None:
    (packages,) = loaded(tmp_path, *arguments)
    assert packages & (SLOW | {"duckdb", "yaml", "numpy", "pyarrow", "sqlglot"}) == set()

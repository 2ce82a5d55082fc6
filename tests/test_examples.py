"""The examples run as their pages say."""

import os
import re
import subprocess
import sys
from pathlib import Path

from bench_engine.kernels.native import extension

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples/wide_and_deep.py"


def run(script: Path, outputs: Path, **variables: str) -> tuple[str, str]:
    """What it printed, and what it said on stderr."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MIRROR_PARALLEL_OP")}
    environment |= {"OMP_WAIT_POLICY": "PASSIVE", "PYTHONPATH": str(ROOT), **variables}
    done = subprocess.run(
        [sys.executable, str(script), str(outputs)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout, done.stderr


def test_wide_and_deep_gives_with_parallel_op_what_it_gives_untouched(tmp_path: Path) -> None:
    extension.build()
    text, edits = re.subn(r"(?m)^(TABLES, .* = .*), 300$", r"\1, 3", EXAMPLE.read_text())
    assert edits == 1
    script, outputs = tmp_path / "wide_and_deep.py", tmp_path / "outputs.pt"
    script.write_text(text)
    untouched, _ = run(script, outputs)
    assert "largest difference" not in untouched
    grouped, report = run(
        script,
        outputs,
        MIRROR_PARALLEL_OP="1",
        MIRROR_PARALLEL_OP_REPORT="1",
        MIRROR_PARALLEL_OP_CACHE=str(tmp_path / "choices"),
    )
    assert re.search("26 (lookups|embeddings at level 0 on cpu) became one op", report)
    found = re.findall(r"(?m)^batch (\d+), largest difference: rows (\S+), sums (\S+), model (\S+)$", grouped)
    assert [int(batch) for batch, *_ in found] == [1, 64, 1024]
    for _, rows, sums, whole in found:
        assert float(rows) == 0
        assert 0 <= float(sums) < 1e-5
        assert 0 <= float(whole) < 1e-5


def test_fiited_trains_in_less_memory_than_a_dense_table(tmp_path: Path) -> None:
    extension.build()
    text, edits = re.subn(
        r"(?m)^(ROWS, .* = )200_000(.*), 600$", r"\g<1>20_000\2, 60", (ROOT / "examples/fiited.py").read_text()
    )
    assert edits == 1
    script = tmp_path / "fiited.py"
    script.write_text(text)
    said, _ = run(script, tmp_path / "unused")
    megabytes = [float(found) for found in re.findall(r"([\d.]+) MB", said)]
    dense, training, frozen = megabytes
    assert frozen <= training < dense / 4
    assert sum(int(found.replace(",", "")) for found in re.findall(r"([\d,]+) vectors of", said)) == 20_000

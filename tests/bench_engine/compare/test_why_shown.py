"""The example of docs/measuring.md, run anew: bytes are the same anywhere, and explain the times that come out here."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench_engine.kernels.native import extension
from db.installation import ROOT, python_path

PAGE = (ROOT / "docs" / "measuring.md").read_text()
EXAMPLE = PAGE[PAGE.index("### An example: why hashed is slower") : PAGE.index("## Intervals and verdicts")]
SENTENCE = re.compile(
    r"hashed touches ([\d.]+)x the bytes at ([\d.]+) GB/s, [\d.]+x the bandwidth of random rows of its size; "
    r"dense: ([\d.]+) GB/s, [\d.]+x(?: \(above 1: from caches\))?\."
)


def said(text: str) -> tuple[float, float, float]:
    """How many times the bytes, and the bandwidths of hashed and of dense, of a sentence."""
    found = SENTENCE.search(" ".join(text.split()))
    assert found, text
    return float(found[1]), float(found[2]), float(found[3])


def test_the_numbers_of_the_page_explain_its_times() -> None:
    more, hashed, dense = said(EXAMPLE)
    dense_us, hashed_ms = map(float, re.findall(r"^ +([\d.]+) µs +([\d.]+) ms ", EXAMPLE, re.MULTILINE)[0])
    assert more * dense / hashed == pytest.approx(1000 * hashed_ms / dense_us, rel=0.05)


@pytest.mark.timeout(600)
@pytest.mark.skipif(not extension.built(), reason=extension.NOT_BUILT)
def test_the_commands_of_the_page_tell_the_same_here(tmp_path: Path) -> None:
    (tmp_path / "why_slower.yaml").write_text(re.findall(r"```yaml\n(.*?)```", EXAMPLE, re.DOTALL)[0])
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MIRROR_")},
        "PYTHONPATH": python_path(),
        "MIRROR_DB": str(tmp_path / "own.duckdb"),
        "MIRROR_LOCK": str(tmp_path / "lock"),
    }

    def told(line: str) -> str:
        words = [sys.executable, *line.split()[1:]]
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280, check=False
        )
        assert done.returncode == 0, (line, done.stderr)
        return done.stdout

    run, compare = re.findall(r"^python -m .*$", EXAMPLE, re.MULTILINE)
    told(run)
    compared = json.loads(told(f"{compare} --json"))
    (configuration,) = compared["configurations"]
    assert configuration["verdict"] == "slower"
    text = " ".join(told(compare).split())
    if f"hashed touches {said(EXAMPLE)[0]:g}x the bytes of dense." in text:
        return  # a machine where bandwidths of rows were not to be had, as beside other tests
    more, hashed, dense = said(text)
    assert more == said(EXAMPLE)[0], "bytes do not depend on the machine"
    assert more * dense / hashed == pytest.approx(configuration["b"] / configuration["a"], rel=0.1), "rounded thrice"

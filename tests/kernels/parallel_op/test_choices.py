"""The op's choice among its ways, beside a simulated neighbour on the machine. No torch, no real time."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = os.environ.get("CXX") or shutil.which("g++") or pytest.skip("no C++ compiler")
    path = tmp_path_factory.mktemp("choices") / "choices"
    sources = [Path(__file__).with_name("choices_beside_a_neighbour.cpp"), _ROOT / "csrc/common/choices.cpp"]
    done = subprocess.run(
        [*compiler.split(), "-std=c++17", "-O1", f"-I{_ROOT / 'csrc'}", "-o", path, *sources, "-pthread"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return path


@pytest.mark.parametrize(
    ("stay", "absence", "slower", "least"),
    [(1e-9, 1e9, 1, 1), (30, 30, 1.6, 0.99), (200, 200, 2, 0.99), (100, 300, 3, 0.98), (3, 6, 3, 0.9)],
)
def test_the_fastest_way_is_chosen_beside_a_neighbour(program, stay, absence, slower, least):
    done = subprocess.run([program, str(stay), str(absence), str(slower)], capture_output=True, text=True, check=True)
    assert float(done.stdout) >= least

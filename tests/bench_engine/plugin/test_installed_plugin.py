"""A plug-in of an installed package is found by its entry point, in the runner and in the trials' processes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from db.installation import python_path

PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "strangers-kernels"
version = "1.0"

[project.entry-points.mirror_plugins]
strangers = "strangers_kernels.kernels"

[tool.setuptools]
packages = ["strangers_kernels"]
"""
KERNELS = """
from bench_engine.plugin import implements, operation
from strangers_kernels.helper import doubled


@operation("doubling")
def reference(x):
    return x * 2


@implements(reference, "stranger_plain")
def plain(x):
    return x * 2


@implements(reference, "stranger_sum", "adds")
def by_sum(x):
    return doubled(x)
"""
SWEEP = """
benchmark: callable
methods: [stranger_plain, stranger_sum]
baseline: stranger_plain
parameters: {shape: {value: 64}}
stop: {min_samples: 10, max_seconds: 0.05}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the package, without a network."""
    folder = tmp_path_factory.mktemp("stranger")
    package = folder / "source" / "strangers_kernels"
    package.mkdir(parents=True)
    (package.parent / "pyproject.toml").write_text(PROJECT)
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("def doubled(x):\n    return x + x\n")
    (package / "kernels.py").write_text(KERNELS)
    words = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(folder / "site")]
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words, str(package.parent)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


def command(site: Path, folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MIRROR_")},
        "PYTHONPATH": f"{python_path()}{os.pathsep}{site}",
        "MIRROR_DB": str(folder / "own.duckdb"),
        "MIRROR_LOCK": str(folder / "lock"),
    }
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=280, check=False
    )


@pytest.mark.timeout(900)
def test_a_package_that_is_installed_is_measured_without_being_named(site: Path, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(SWEEP)
    done = command(site, tmp_path, "-m", "bench_engine", "run", "own.yaml")
    assert done.returncode == 0, done.stderr
    assert "2 trials have results" in done.stdout
    told = command(site, tmp_path, "-m", "bench_engine", "compare", "method:stranger_plain", "method:stranger_sum")
    assert told.returncode == 0, told.stderr
    assert re.search(r"1 configuration: 1 (same|faster|slower|unclear)", told.stdout)


def test_what_lies_in_the_package_is_part_of_the_kernel(site: Path, tmp_path: Path) -> None:
    script = "from bench_engine.registry import METHODS\nprint(*sorted(METHODS['stranger_sum'].sources), sep='\\n')"
    done = command(site, tmp_path, "-c", script)
    assert [Path(line).name for line in done.stdout.splitlines()] == ["helper.py", "kernels.py"]

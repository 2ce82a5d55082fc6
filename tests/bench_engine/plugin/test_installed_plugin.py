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
entries = "strangers_kernels.entries"
bag = "strangers_kernels.plain_bag:StrangersBag"

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
ENTRIES = """
import numpy as np

from bench_engine.data import ClickData
from bench_engine.plugin import benchmark, data_set, method, metric
from bench_engine.kernels.bags import PlainEmbeddingBag
from strangers_kernels.plain_bag import StrangersBag


@method("stranger_bag", "declares itself", benchmarks=("lookup", "training"), compressible=False)
class Declared(StrangersBag):
    pass


@benchmark("stranger_count", "counting", "how many rows", axes=("num_rows",), methods=("dense",))
def run(trial):
    return {"device": "cpu", "row_count": row_count(trial.config["num_rows"])}


@metric("row_count", "rows that were counted", benchmarks=("stranger_count",), unit="rows", better="lower")
def row_count(rows):
    return rows


@data_set("stranger_clicks", "every second one")
def load():
    ids = np.stack([np.arange(2000) % 50, 50 + np.arange(2000) % 20], 1)
    labels = (np.arange(2000) % 2).astype(np.float32)
    return ClickData.split("stranger_clicks", (50, 20), ids, labels, np.arange(2000) >= 1500)


@metric("mean_score", "mean of the scores")
def mean_score(labels, scores):
    return scores.mean()
"""
BAG = """
import torch

from bench_engine.kernels.bags import PlainEmbeddingBag


class StrangersBag(PlainEmbeddingBag):
    def __init__(self, num_embeddings, embedding_dim, compression=1.0, mode="sum"):
        super().__init__(num_embeddings, embedding_dim, mode)
        self.weight = torch.nn.Parameter(torch.randn(num_embeddings, embedding_dim))

    def vectors(self, ids):
        return self.weight[ids]
"""
SWEEPS = {
    "count": "benchmark: stranger_count\nmethods: [dense]\nbaseline: dense\nparameters: {num_rows: {values: [2, 3]}}\n",
    "clicks": """
benchmark: training
methods: [dense, stranger_bag]
baseline: dense
parameters: {dataset: {value: stranger_clicks}, threads: {value: 1}}
metrics: [mean_score]
""",
    "bags": """
benchmark: lookup
methods: [dense, stranger_bag, strangers_bag]
baseline: dense
parameters: {num_rows: {value: 500}, threads: {value: 1}}
stop: {min_samples: 10, max_seconds: 0.05}
""",
}
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
    for name, text in (("kernels", KERNELS), ("entries", ENTRIES), ("plain_bag", BAG)):
        (package / f"{name}.py").write_text(text)
    install(package.parent, folder / "site")
    return folder / "site"


def install(source: Path, target: Path) -> None:
    words = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(target)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words, str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


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


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("sweep", "trials"), [("count", 2), ("clicks", 2), ("bags", 3)])
def test_every_kind_of_entry_is_found(site: Path, tmp_path: Path, sweep: str, trials: int) -> None:
    (tmp_path / "own.yaml").write_text(SWEEPS[sweep])
    done = command(site, tmp_path, "-m", "bench_engine", "run", "own.yaml")
    assert done.returncode == 0, done.stderr
    assert f"{trials} trials have results." in done.stdout


def test_all_of_them_are_listed(site: Path, tmp_path: Path) -> None:
    listed = command(site, tmp_path, "-m", "bench_engine", "list").stdout
    for kind, name in (
        ("method", "stranger_bag"), ("method", "strangers_bag"), ("method", "stranger_sum"),
        ("benchmark", "stranger_count"), ("data set", "stranger_clicks"), ("metric", "row_count"),
    ):  # fmt: skip
        assert re.search(rf"^{kind} +{name}\b", listed, re.MULTILINE), (kind, name)


@pytest.mark.timeout(300)
def test_its_metrics_stay_when_the_package_is_gone(site: Path, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(SWEEPS["count"])
    assert command(site, tmp_path, "-m", "bench_engine", "run", "own.yaml").returncode == 0
    gone = tmp_path / "nothing"
    gone.mkdir()
    assert "stranger_count" not in command(gone, tmp_path, "-m", "bench_engine", "list").stdout
    (tmp_path / "own.duckdb").unlink()
    for words in (["ingest"], ["export", "all.parquet"]):
        done = command(gone, tmp_path, "-m", "bench_engine", *words)
        assert done.returncode == 0, done.stderr
    asked = command(gone, tmp_path, "-m", "mirror", "ask", "SELECT row_count FROM results ORDER BY 1")
    assert re.search(r"^2.*\n3", asked.stdout, re.MULTILINE), asked.stdout
    shown = command(gone, tmp_path, "-m", "bench_engine", "show", "own")
    assert re.search(r"\b3\.00 rows\b", shown.stdout), shown.stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "import no_such_package_at_all",
            "The plug-in broken_kernels cannot be imported (ModuleNotFoundError: No module",
        ),
        ("x = 1", "The plug-in broken_kernels declares no method"),
        (
            "from bench_engine.plugin import metric\n@metric('row_count')\ndef count(labels, scores):\n    pass",
            "Two plug-ins declare a metric row_count: give one of them another name.",
        ),
        (
            "from bench_engine.plugin import method\n@method('stranger_bag', 'x')\nclass Bag:\n    pass",
            "Two plug-ins declare a method stranger_bag: give one of them another name.",
        ),
    ],
)
def test_a_package_that_cannot_be_used_is_one_sentence(site: Path, tmp_path: Path, text: str, told: str) -> None:
    source, target = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    project = PROJECT.replace("strangers-kernels", "broken-kernels").replace("packages = ", "py-modules = ")
    project = project.replace('["strangers_kernels"]', '["broken_kernels"]')
    project = re.sub(r"^(strangers|entries|bag) = .*\n", "", project, flags=re.MULTILINE)
    project = project.replace("mirror_plugins]\n", 'mirror_plugins]\nbroken = "broken_kernels"\n')
    (source / "pyproject.toml").write_text(project)
    (source / "broken_kernels.py").write_text(text + "\n")
    install(source, target)
    done = command(Path(f"{site}{os.pathsep}{target}"), tmp_path, "-m", "bench_engine", "list")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert told in done.stderr

"""`bench_engine.bench` from a script: a class of its own is measured, stored, shown, and measured once."""

import os
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType

import pytest

import bench_engine
from bench_engine.command import benched, notebook
from bench_engine.command.benched import Benched
from bench_engine.plugin import PluginError
from bench_engine.sweep.part import SweepError
from db.installation import python_path
from db.store import Store

SCRIPT = '''
import torch

from bench_engine import bench
from bench_engine.kernels.bags import PlainEmbeddingBag, initial_bound

HALF = 2


class HalfTable(PlainEmbeddingBag):
    """Two neighbours share a row."""

    def __init__(self, num_embeddings, embedding_dim, compression=1.0, mode="sum"):
        super().__init__(num_embeddings, embedding_dim, mode)
        bound = initial_bound(num_embeddings)
        weight = torch.empty(num_embeddings // HALF, embedding_dim).uniform_(-bound, bound)
        self.weight = torch.nn.Parameter(weight)

    def vectors(self, ids):
        return self.weight[ids % len(self.weight)]


sizes = dict(num_rows=400, embedding_dim=8, batch_size=16, stop=dict(min_samples=10, max_seconds=0.05))
result = bench(HalfTable, **sizes)
print(result)
print("AGAIN", bench(HalfTable, **sizes).rows == result.rows)
print("HTML", result._repr_html_())
'''


@pytest.mark.timeout(900)
def test_a_class_of_a_script_is_measured_and_stored(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MIRROR_")}
    url = str(tmp_path / "own.duckdb")
    own = {"PYTHONPATH": python_path(), "MIRROR_DB": url, "MIRROR_LOCK": str(tmp_path / "lock")}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env={**environment, **own}, capture_output=True, text=True,
        timeout=250, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "bench_half_table in own.duckdb: 2 of 2 trials have results." in done.stdout
    assert "half_table against dense: " in done.stdout
    assert "AGAIN True" in done.stdout
    assert "<td" in done.stdout
    stored = Store(url).rows("SELECT method, sweep, verdict, speedup_ci_low FROM results ORDER BY method")
    assert [(row["method"], row["sweep"]) for row in stored] == [
        ("dense", "bench_half_table"),
        ("half_table", "bench_half_table"),
    ]
    assert stored[1]["verdict"]
    assert stored[1]["speedup_ci_low"] > 0
    assert len(Store(url).rows("SELECT trial_id FROM trials")) == 2


def test_what_cannot_be_benched_is_one_sentence(tmp_path: Path) -> None:
    place = {"db": str(tmp_path / "x.duckdb")}
    with pytest.raises(SweepError, match="unknown axis of benchmark lookup 'batchsize'; did you mean batch_size"):
        bench_engine.bench("dense", (), batchsize=3, **place)
    with pytest.raises(SweepError, match="bench takes numbers and texts for batch_size"):
        bench_engine.bench("dense", (), batch_size=object(), **place)
    with pytest.raises(SweepError, match="unknown method 'dens'; did you mean dense"):
        bench_engine.bench("dens", **place)
    with pytest.raises(PluginError, match="A method is a class or a function"):
        bench_engine.bench(3, **place)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_other_libraries_are_numbers() -> None:
    import numpy as np

    loaded = notebook._sweep("dense", "", [], "lookup", np.arange(2), None, {"batch_size": np.array([64, 512])})
    assert loaded.parts[0].values["batch_size"] == (64, 512)
    assert loaded.parts[0].seeds == (0, 1)
    assert tuple(notebook._sweep("dense", "", [], "lookup", np.int64(3), None, {}).parts[0].seeds) == (0, 1, 2)


def test_a_shape_of_torch_is_one_value() -> None:
    assert notebook._shape((64, 512)) == "64x512"
    assert notebook._shape([(8, 2), "3x4"]) == notebook._shape(((8, 2), "3x4")) == ["8x2", "3x4"]


def test_two_methods_of_one_name_are_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(notebook.registry, "with_own", lambda implementation, called, folder: called or "my_bag")
    with pytest.raises(SweepError, match="Two methods are called my_bag"):
        bench_engine.bench(lambda: 1, lambda: 2, db=str(tmp_path / "x.duckdb"))


def row(method: str, batch: int, speedup: float, verdict: str) -> benched.Row:
    times = {"latency_us": 10 / speedup, "latency_ci_low_us": 9 / speedup, "latency_ci_high_us": 11 / speedup}
    interval = {"speedup": speedup, "speedup_ci_low": speedup * 0.9, "speedup_ci_high": speedup * 1.1}
    said = {"status": "ok", "error": None, "verdict": verdict, "memory_mb": 1.5, "is_baseline": False}
    return MappingProxyType({"method": method, "batch_size": batch, **times, **interval, **said, "environment": "{}"})


def test_what_is_said_of_one_few_and_many() -> None:
    of_dense = [row("dense", batch, 1.0, "") for batch in range(5)]

    def said(*rows: benched.Row) -> list[str]:
        return Benched("s", "dense", ("batch_size",), (*of_dense[: len(rows)], *rows), "done").headlines()

    assert said(row("mine", 1, 2.0, "faster")) == ["mine against dense: 2.00x [1.80, 2.20], faster."]
    few = said(row("mine", 1, 2.0, "faster"), row("mine", 2, 1.5, "faster"))
    assert few == ["mine against dense: faster in 2 of 2 trials, 1.50x [1.35, 1.65] to 2.00x [1.80, 2.20]."]
    many = said(*(row("mine", batch, 2.0, "faster") for batch in range(4)), row("mine", 4, 1.0, "unclear"))
    assert many[0].startswith("mine against dense: faster in 4, unclear in 1 of 5 trials, mean 1.7")
    bad = MappingProxyType({"method": "mine", "status": "failed", "error": "It broke."})
    assert said(row("mine", 1, 2.0, "faster"), bad)[1:] == ["mine failed: It broke."]
    shown = Benched("s", "dense", ("batch_size",), tuple(of_dense), "done")
    assert list(shown.df()["batch_size"]) == [0, 1, 2, 3, 4]
    assert "batch_size" in str(shown)


def test_a_speedup_over_another_baseline_is_none_over_this_one() -> None:
    mine = row("mine", 1, 2.0, "faster")
    over_other = MappingProxyType({**mine, "environment": '{"compared_with": "hashed"}'})
    was_baseline = MappingProxyType({**mine, "is_baseline": True})
    for given in (over_other, was_baseline):
        benched_rows = Benched("s", "dense", ("batch_size",), (row("dense", 1, 1.0, ""), given), "done")
        assert benched_rows.speedups() == {}
        assert "2.00x" not in str(benched_rows)
    over_this = MappingProxyType({**mine, "environment": '{"compared_with": "dense"}'})
    assert Benched("s", "dense", (), (over_this,), "done").headlines() == [
        "mine against dense: 2.00x [1.80, 2.20], faster."
    ]


def test_what_is_not_timed_is_shown_without_a_time() -> None:
    timeless = MappingProxyType(
        {**row("mine", 1, 1.0, ""), "latency_us": None, "latency_ci_low_us": None, "speedup": None}
    )
    assert "mine" in str(Benched("s", "dense", (), (timeless,), "done"))

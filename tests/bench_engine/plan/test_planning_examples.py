"""The example results are still known as what they are: a moved file is no changed kernel."""

import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from bench_engine.methods import identity
from bench_engine.plan.planning import Plan, Site, plan
from bench_engine.registry import BENCHMARKS, METHODS
from bench_engine.sweep import sweep
from db.installation import ROOT

TORCH = "2.13.0+cpu"
MACHINES = ["fe52790a6c99", "404fb87b0bca"]  # which measured the examples
# Examples whose kernel has not changed since they were measured. Where a kernel changes, its line goes; where files are
# moved, it stays: `python -m tests.shows.moved_kernels` keeps what was measured before.
KNOWN = {
    "fiited_speed": {"dense_gradient": 4},
    "hashed_lookup": {
        "dense": 55, "hashed_original": 44, "hashed_reference": 8, "row_modulo": 8, "double_hash": 8,
        "quotient_remainder": 6,
    },
    "hashed_quality": {"dense": 9, "small_dim": 18, "quotient_remainder": 18},
    "parallel_op": {
        "eager": 47, "jit_fork": 10, "inductor_model": 21, "fbgemm_tbe_grouped": 30, "fbgemm_tbe_joined": 12,
        "fbgemm_int_nbit": 13, "zentorch_table": 24, "zentorch_compile": 15, "zentorch_batch": 1, "zentorch_ccd": 1,
        "zentorch_hybrid": 1,
    },
}  # fmt: skip


# Those of the examples: trials of one start are measured anew, which is no matter of kernels.
MEASUREMENTS = {"lookup": 3}


@pytest.fixture(autouse=True)
def _as_the_examples_were_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "torch_version", lambda: TORCH)
    for name, number in MEASUREMENTS.items():
        monkeypatch.setitem(BENCHMARKS, name, replace(BENCHMARKS[name], measurement=number))


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all examples, by the names of its files alone: planning reads no more."""
    folder = tmp_path_factory.mktemp("examples")
    for path in (ROOT / "db" / "examples").rglob("*.jsonl.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for trial in (json.loads(line)["trial"] for line in lines):
                (folder / f"{trial['trial_id']}.{trial['status']}.json").touch()
    return folder


@pytest.fixture
def planned(journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Plans a sweep on the machines that measured the examples."""
    monkeypatch.setenv("MIRROR_JOURNAL", str(journal))
    sites = [Site({"machine_id": machine}, lambda trials: [""] * len(trials)) for machine in MACHINES]
    return lambda name: plan(sweep.load(name), url=str(tmp_path / "x.duckdb"), sites=sites)


def known(made: Plan) -> dict[str, int]:
    return dict(Counter(p.trial.method for p in made.of("done")))


@pytest.mark.parametrize("name", KNOWN)
def test_examples_measured_by_kernels_as_they_are_now_are_done(name: str, planned) -> None:
    assert known(planned(name)) == KNOWN[name]


def test_a_changed_kernel_runs_its_examples_anew(planned, monkeypatch: pytest.MonkeyPatch) -> None:
    content = identity._content
    changed = METHODS["small_dim"].implementation.partition(":")[0].replace(".", "/") + ".py"
    identity.kernel.cache_clear()
    monkeypatch.setattr(identity, "_content", lambda path: "changed" if path == changed else content(path))
    try:
        assert known(planned("hashed_quality")) == {"dense": 9, "quotient_remainder": 18}
    finally:
        identity.kernel.cache_clear()

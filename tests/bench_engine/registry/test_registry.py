"""The registry: what re-runs a method, and what one entry is enough for."""

import dataclasses

import pytest

from bench_engine import method as methods
from bench_engine.registry import BENCHMARKS, METHODS, Benchmark, Method

PRUNED = {"fiited", "fiited_frequency", "adaembed", "frequency_pruned"}
HASHED = {"hashed", "hashed_mix64", "hashed_signed", "hashed_block"}
COMPILED = {
    "hashed_original",
    "parallel_op",
    "parallel_op_backend",
    "parallel_op_inductor",
    "grouped_embedding",
    *HASHED,
    *PRUNED,
}


@pytest.fixture
def root(monkeypatch, tmp_path):
    """A repository that holds copies of all sources."""
    for source in {s for method in METHODS.values() for s in method.sources}:
        (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / source).write_bytes((methods._ROOT / source).read_bytes())
    monkeypatch.setattr(methods, "_ROOT", tmp_path)
    methods._source_hash.cache_clear()
    yield tmp_path
    methods._source_hash.cache_clear()


def rerun(root, source: str, old: str, new: str) -> set[str]:
    """Methods whose trials run anew after an edit of a source."""
    before = {name: method.source_hash() for name, method in METHODS.items()}
    text = (root / source).read_text()
    assert old in text
    (root / source).write_text(text.replace(old, new))
    methods._source_hash.cache_clear()
    return {name for name, method in METHODS.items() if method.source_hash() != before[name]}


def test_other_compiler_flags_run_compiled_methods_anew(root):
    assert rerun(root, "bench_engine/kernels/native/extension.py", '"-O3"', '"-O2"') == COMPILED


def test_a_shared_source_runs_all_anew_and_a_methods_own_only_that(root):
    bags = {*BENCHMARKS["lookup"].methods, *BENCHMARKS["training"].methods}
    assert rerun(root, "bench_engine/kernels/bags.py", "MODES", "MODUS") == bags
    assert rerun(root, "bench_engine/kernels/compressed/dense.py", "dense", "thick") == {"dense", "inductor"}


def test_every_compiled_source_is_among_those_of_each_method_that_needs_the_build():
    compiled = {p.relative_to(methods._ROOT).as_posix() for p in (methods._ROOT / "csrc").rglob("*.*")}
    hashed = {path for path in compiled if "hash" in path and "fiited" not in path}
    assert len(hashed) > 3
    original = "csrc/hashed_original.cpp"
    for name in HASHED:
        assert hashed - {original} <= set(METHODS[name].sources)
        assert original not in METHODS[name].sources
    assert {original, "csrc/hash.h"} <= set(METHODS["hashed_original"].sources)
    fiited = {path for path in compiled if "fiited" in path or "host_device" in path}
    for name in PRUNED:
        assert fiited <= set(METHODS[name].sources)
    for name in COMPILED - PRUNED - HASHED - {"hashed_original"}:
        assert compiled - hashed - fiited <= set(METHODS[name].sources)
    assert {name for name, method in METHODS.items() if method.needs_build} == COMPILED


def test_a_benchmark_runs_every_registered_method_unless_it_names_its_own(monkeypatch):
    monkeypatch.setitem(METHODS, "new", Method("new", "", "none:none"))
    fields = {f.name: getattr(BENCHMARKS["lookup"], f.name) for f in dataclasses.fields(Benchmark)}
    del fields["methods"]
    assert Benchmark(**fields).methods == tuple(METHODS)
    assert Benchmark(**fields, methods=("new",)).methods == ("new",)


def test_without_torch_a_source_hash_is_still_there(monkeypatch):
    def absent(name):
        raise methods.PackageNotFoundError(name)

    before = METHODS["hashed"].source_hash()
    monkeypatch.setattr(methods, "version", absent)
    methods._source_hash.cache_clear()
    try:
        assert METHODS["hashed"].source_hash() != before
    finally:
        methods._source_hash.cache_clear()


def test_what_a_method_always_takes_is_part_of_what_it_is():
    plain = METHODS["adaembed"]
    assert plain.keywords({"prune_interval": 5, "decay": 0.9, "prune_scope": "table", "layout": "flat"}) == {
        "num_chunks": 1, "score": "frequency*gradient", "interval": 5, "decay": 0.9, "scope": "table", "layout": "flat"
    }  # fmt: skip
    assert dataclasses.replace(plain, fixed={"num_chunks": 2}).source_hash() != plain.source_hash()


def test_every_axis_that_a_constructor_takes_is_one_of_the_methods():
    for name in BENCHMARKS["training"].methods:
        axes = {a.name for a in BENCHMARKS["training"].axes if a.is_of(name)}
        assert set(METHODS[name].arguments) <= axes

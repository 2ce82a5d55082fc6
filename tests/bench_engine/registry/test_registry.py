"""The registry: what re-runs a method, and what one entry is enough for."""

import dataclasses
import json
import shutil

import pytest

from bench_engine.methods import identity
from bench_engine.registry import BENCHMARKS, METHODS, Benchmark, Method
from db import installation

PRUNED = {"fiited", "fiited_frequency", "adaembed", "frequency_pruned"}
HASHED = {"hashed", "hashed_mix64", "hashed_signed", "hashed_block"}
QUANTIZED = {"int8", "int8_qr", "field_budget", "fiited_int8", "alpt", "mixed_precision"}
COMPILED = {
    "hashed_original",
    "parallel_op",
    "parallel_op_settled",
    "parallel_op_backend",
    "parallel_op_inductor",
    "grouped_embedding",
    *HASHED,
    *PRUNED,
    *QUANTIZED,
}


@pytest.fixture
def root(monkeypatch, tmp_path):
    """A copy of this repository's code."""
    for room in ("bench_engine", "csrc", "db", "mirror"):
        left_out = shutil.ignore_patterns("__pycache__", "examples")
        shutil.copytree(installation.ROOT / room, tmp_path / room, ignore=left_out)
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    for remembered in (identity.kernel, identity._content, identity._moved, identity.torch_version):
        remembered.cache_clear()


def rerun(root, source: str, old: str, new: str) -> set[str]:
    """Methods whose trials run anew after an edit of a source."""
    before = {name: method.source_hash() for name, method in METHODS.items()}
    text = (root / source).read_text()
    assert old in text
    (root / source).write_text(text.replace(old, new))
    forget()
    return {name for name, method in METHODS.items() if method.source_hash() != before[name]}


def test_other_compiler_flags_run_compiled_methods_anew(root):
    assert rerun(root, "bench_engine/kernels/native/flags.py", '"-O3"', '"-O2"') == COMPILED | {"gir"}


def test_how_a_build_is_kept_and_loaded_runs_nothing_anew(root):
    assert rerun(root, "bench_engine/kernels/native/extension.py", "fcntl.LOCK_EX", "fcntl.LOCK_SH") == set()


def test_what_people_have_chosen_is_no_code(root):
    before = METHODS["grammar"].source_hash()
    (root / "db" / "other_data").mkdir(exist_ok=True)
    (root / "db" / "other_data" / "0123456789abcdef.learnt.yaml").write_text("- question: a\n")
    forget()
    assert METHODS["grammar"].source_hash() == before
    (root / "mirror" / "words" / "more.yaml").write_text("a: b\n")
    forget()
    assert METHODS["grammar"].source_hash() != before


def test_a_shared_source_runs_all_anew_and_a_methods_own_only_that(root):
    # A table of FIITED is no table of bags.py.
    bags = {*BENCHMARKS["lookup"].methods, *BENCHMARKS["training"].methods} - PRUNED
    assert rerun(root, "bench_engine/kernels/bags.py", "MODES", "MODUS") == bags
    assert rerun(root, "bench_engine/kernels/compressed/dense.py", "dense", "thick") == {"dense", "inductor"}


def test_every_compiled_source_is_among_those_of_each_method_that_needs_the_build():
    compiled = {p.relative_to(installation.ROOT).as_posix() for p in installation.path("csrc").rglob("*.*")}
    files = {name: {f for f in METHODS[name].files() if f.startswith("csrc/")} for name in COMPILED}
    hashed = {path for path in compiled if "hash" in path and "fiited" not in path}
    assert len(hashed) > 3
    original = "csrc/hashed_original/embedding_bag.cpp"
    shared = {"csrc/common/host_device.h", "csrc/common/share_out.h"}
    shared |= {"csrc/common/threads.cpp", "csrc/common/threads.h"}
    for name in HASHED:
        assert files[name] == (hashed - {original}) | shared | {"csrc/common/cuda/elements.cuh"}
    assert files["hashed_original"] == {original, "csrc/hashed/hash.h", "csrc/common/host_device.h"}
    fiited = {path for path in compiled if "fiited" in path}
    for name in PRUNED:
        assert files[name] == fiited | shared
    quantized = {path for path in compiled if "quantized" in path}
    for name in QUANTIZED:  # rows are grouped as FIITED's are, and read in vectors as hashed ones
        assert quantized | shared <= files[name] <= quantized | shared | fiited | hashed
    for name in COMPILED - PRUNED - HASHED - QUANTIZED - {"hashed_original"}:
        assert files[name] == compiled - hashed - fiited - quantized - {"csrc/common/host_device.h"}
    assert {name for name, method in METHODS.items() if method.needs_build} == COMPILED


def test_a_header_of_several_runs_those_anew_that_include_it(root):
    grouped = COMPILED - PRUNED - HASHED - QUANTIZED - {"hashed_original"}
    assert rerun(root, "csrc/common/share_out.h", "threads <= 1", "threads < 2") == COMPILED - {"hashed_original"}
    assert rerun(root, "csrc/common/choices.cpp", "namespace mirror {", "namespace mirror  {") == grouped


def test_moved_files_are_the_same_kernel(root):
    before = {name: method.kernel() for name, method in METHODS.items()}
    kernels = root / "bench_engine/kernels"
    (root / "csrc/hashed/cpu/layout").mkdir()
    (root / "csrc/hashed/cpu/rows.h").rename(root / "csrc/hashed/cpu/layout/of_rows.h")
    (kernels / "tables").mkdir()
    (kernels / "bags.py").rename(kernels / "tables/bag_checks.py")
    for path in (p for room in ("csrc", "bench_engine") for p in (root / room).rglob("*.*")):
        text = path.read_text()
        text = text.replace('"hashed/cpu/rows.h"', '"hashed/cpu/layout/of_rows.h"')
        text = text.replace("bench_engine.kernels.bags", "bench_engine.kernels.tables.bag_checks")
        path.write_text(text)
    forget()
    assert "bench_engine/kernels/tables/bag_checks.py" in METHODS["hashed"].files()
    assert "csrc/hashed/cpu/layout/of_rows.h" in METHODS["hashed"].files()
    assert {name: method.kernel() for name, method in METHODS.items()} == before


def test_a_kernel_is_the_same_in_every_checkout_but_not_with_another_package(root):
    before = METHODS["dense"].kernel()
    assert METHODS["parallel_op"].variables["MIRROR_PARALLEL_OP_CACHE"].startswith("/")
    elsewhere = {"MIRROR_PARALLEL_OP": "1", "MIRROR_PARALLEL_OP_CACHE": "/elsewhere"}
    assert dataclasses.replace(METHODS["parallel_op"], variables=elsewhere).kernel() == METHODS["parallel_op"].kernel()
    off = {**elsewhere, "MIRROR_PARALLEL_OP": "0"}
    assert dataclasses.replace(METHODS["parallel_op"], variables=off).kernel() != METHODS["parallel_op"].kernel()
    assert rerun(root, "bench_engine/kernels/compressed/dense.py", "import torch\n", "import other as torch\n") >= {
        "dense"
    }
    assert METHODS["dense"].kernel() != before


def test_what_was_measured_before_a_move_keeps_its_hash_until_it_changes(root, monkeypatch):
    kernel, torch = METHODS["dense"].kernel(), identity.torch_version()
    (root / "moved.json").write_text(json.dumps({"dense": {kernel: {torch: "as it was"}}}))
    monkeypatch.setattr(identity, "MOVED", root / "moved.json")
    forget()
    assert METHODS["dense"].source_hash() == "as it was"
    assert METHODS["small_dim"].source_hash() == identity.plain_hash(METHODS["small_dim"].kernel(), torch)
    monkeypatch.setattr(identity, "version", lambda name: "another")
    forget()
    assert METHODS["dense"].source_hash() == identity.plain_hash(kernel, "another")
    monkeypatch.setattr(identity, "version", lambda name: torch)
    assert "dense" in rerun(root, "bench_engine/kernels/compressed/dense.py", "dense", "thick")
    assert METHODS["dense"].source_hash() == identity.plain_hash(METHODS["dense"].kernel(), torch)


def test_a_benchmark_runs_every_registered_method_unless_it_names_its_own(monkeypatch):
    monkeypatch.setitem(METHODS, "new", Method("new", "", "none:none"))
    fields = {f.name: getattr(BENCHMARKS["lookup"], f.name) for f in dataclasses.fields(Benchmark)}
    del fields["methods"]
    assert Benchmark(**fields).methods == tuple(METHODS)
    assert Benchmark(**fields, methods=("new",)).methods == ("new",)


def test_without_torch_a_source_hash_is_still_there(monkeypatch):
    def absent(name):
        raise identity.PackageNotFoundError(name)

    before = METHODS["hashed"].source_hash()
    monkeypatch.setattr(identity, "version", absent)
    forget()
    try:
        assert METHODS["hashed"].source_hash() != before
    finally:
        forget()


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

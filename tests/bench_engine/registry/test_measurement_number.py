"""The number of the measurement method: a change of how trials are measured must raise it, or say that it need not."""

import ast
import hashlib

from bench_engine.registry import BENCHMARKS
from db.settings import ROOT

ALL = (
    "bench_engine/measure/measure.py",
    "bench_engine/run/worker.py",
    "bench_engine/machine/memory.py",
    "bench_engine/run/executors/environment.py",
    "bench_engine/run/executors/local.py",
    "bench_engine/run/executors/pinning.py",
)
OWN = {
    "lookup": ("lookup.py", "caches.py", "modules.py", "requests.py"),
    "grouped_lookup": ("grouped_lookup.py", "grouped_models.py", "grouped_methods.py", "lookup.py", "requests.py"),
    "embedding_step": (
        "embedding_step.py",
        "step_methods.py",
        "step_reference.py",
        "lookup.py",
        "caches.py",
        "modules.py",
        "requests.py",
    ),
    "training": ("training.py", "modules.py", "planted_course.py"),
    "answering": ("answering.py",),
}
# Where this fails: does the change alter what a trial measures? Then raise `measurement` of the benchmark in the
# registry. Put the new hash here in any case.
KNOWN = {
    ("lookup", 3): "0747d1164358",
    ("grouped_lookup", 1): "9edf51343e03",
    ("embedding_step", 1): "ec66fa3f1a6a",
    ("training", 3): "bbc38d83324f",
    ("answering", 1): "f47370a234df",
}


def code(path: str) -> str:
    """The file's code without comments and docstrings."""
    tree = ast.parse((ROOT / path).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.unparse(tree)


def test_a_change_of_how_trials_are_measured_is_noticed() -> None:
    found = {}
    for name, own in OWN.items():
        files = (*ALL, *(f"bench_engine/benchmarks/{file}" for file in own))
        digest = hashlib.sha256("".join(map(code, files)).encode()).hexdigest()[:12]
        found[name, BENCHMARKS[name].measurement] = digest
    assert found == KNOWN

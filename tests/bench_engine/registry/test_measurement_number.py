"""The number of the measurement method: a change of how trials are measured must raise it, or say that it need not."""

import ast
import hashlib

from bench_engine.registry import BENCHMARKS
from db.installation import ROOT

ALL = (
    "bench_engine/measure/measure.py",
    "bench_engine/run/worker.py",
    "bench_engine/machine/memory.py",
    "bench_engine/run/executors/environment.py",
    "bench_engine/run/executors/local.py",
    "bench_engine/run/executors/pinning.py",
)
_LOOKUP, _MODULES, _REQUESTS = "benchmarks/lookup.py", "benchmarks/modules.py", "data/requests.py"
_WATCH = "benchmarks/watch.py"
OWN = {
    "lookup": (_LOOKUP, "benchmarks/caches.py", _MODULES, _REQUESTS, _WATCH),
    "grouped_lookup": (
        "benchmarks/grouped_lookup.py",
        "methods/grouped_models.py",
        "methods/grouped_methods.py",
        _LOOKUP,
        _REQUESTS,
        _WATCH,
    ),
    "embedding_step": (
        "benchmarks/embedding_step.py",
        "benchmarks/step_methods.py",
        "benchmarks/step_reference.py",
        _LOOKUP,
        "benchmarks/caches.py",
        _MODULES,
        _REQUESTS,
        _WATCH,
    ),
    "memory_ops": (
        "benchmarks/memory_ops.py",
        "measure/streams.py",  # the copy
        "methods/operators/memory_operators.py",
        "methods/operators/operator_methods.py",
        _LOOKUP,
        _MODULES,
    ),
    "callable": ("benchmarks/callables.py", _WATCH, "benchmarks/caches.py"),
    "training": ("benchmarks/training.py", _MODULES, "benchmarks/planted_course.py"),
    "answering": ("benchmarks/answering.py",),
}
# Where this fails: does the change alter what a trial measures? Then raise `measurement` of the benchmark in the
# registry. Put the new hash here in any case.
KNOWN = {
    ("lookup", 4): "809272348a1c",
    ("grouped_lookup", 2): "3b2b8964e420",
    ("embedding_step", 1): "d1c32efb7069",
    ("memory_ops", 1): "2c7ea39d806d",
    ("callable", 1): "5c4af6cdad50",
    ("training", 3): "a64e8e9be400",
    ("answering", 1): "b434f7da90e0",
}


def code(path: str) -> str:
    """The file's code without comments, docstrings and imports: where a module lies is no part of how it measures."""
    tree = ast.parse((ROOT / path).read_text())
    tree.body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.unparse(tree)


def test_a_change_of_how_trials_are_measured_is_noticed() -> None:
    found = {}
    for name, own in OWN.items():
        files = (*ALL, *(f"bench_engine/{file}" for file in own))
        digest = hashlib.sha256("".join(map(code, files)).encode()).hexdigest()[:12]
        found[name, BENCHMARKS[name].measurement] = digest
    assert found == KNOWN

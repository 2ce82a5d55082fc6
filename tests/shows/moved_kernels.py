"""Keeps trials what they are when the files of kernels were moved: python -m tests.shows.moved_kernels OLD_COMMIT

Run it after a move, with the commit before it. It compares each method's kernel there and in the working tree, and
writes bench_engine/methods/moved.json: under which hash a kernel that is still the same was measured before the move.
A method whose code differs in more than imports, includes, paths, comments, docstrings and leading underscores of names
is refused, and its trials run anew; so they do when it changes later, since its hash is then another one.

    --torch VERSION    as importlib.metadata has it, once for each version that trials were measured with; the one here
    --left-out PATH    a file of the old kernels that is no part of them any more, such as one that builds them
    --read PATH        a file that moved in parts: its difference was read, and is no change of what is computed; the
                       commit says which part went where
    --root FOLDER      where the repository lay that measured: older hashes hold the folders of some caches; this one
    --dry-run          say it, and write nothing

Files are found by what is in them, whatever they are called now, also when one was split or several were joined.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench_engine.methods import identity
from bench_engine.methods.identity import MOVED, plain_hash, without_places
from db.installation import ROOT

Parts = tuple[str, ...]
_ROOMS = ("bench_engine", "csrc", "db", "mirror")
_SUFFIXES = (".py", ".yaml", ".cpp", ".h", ".cu", ".cuh")
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)
_TELL = """
import dataclasses, importlib.metadata, json, os, sys
torch, root = sys.argv[1:]
found = importlib.metadata.version
importlib.metadata.version = lambda name: torch if name == "torch" else found(name)
from bench_engine.registry import METHODS, SELF_CHECK_METHODS
told = {}
for name, m in {**METHODS, **SELF_CHECK_METHODS}.items():
    m = dataclasses.replace(m, variables={k: v.replace(os.getcwd(), root) for k, v in m.variables.items()})
    told[name] = {
        "files": list(m.files() if hasattr(m, "files") else m.sources),
        "kernel": m.kernel() if hasattr(m, "kernel") else "",
        "hash": m.source_hash(),
        "started": [
            m.implementation.partition(":")[2], m.packages, dict(m.fixed),
            {k: v for k, v in m.variables.items() if not os.path.isabs(v)},
        ],
    }
print(json.dumps(told))
"""


class _Code(ast.NodeTransformer):
    """Takes imports and docstrings out, and makes paths, leading underscores and modules' own names all alike."""

    def __init__(self, tree: ast.Module) -> None:
        own = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and _is_own(str(node.module))]
        self._imported = {alias.asname or alias.name for node in own for alias in node.names}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = node.body[ast.get_docstring(node) is not None :]
        super().generic_visit(node)
        for name in ("id", "name", "attr"):
            if isinstance(value := getattr(node, name, None), str) and not value.startswith("__"):
                setattr(node, name, value.lstrip("_"))
        if not getattr(node, "body", True) and not isinstance(node, ast.Module):
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        return None if _is_own(node.names[0].name) else node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if _is_own(str(node.module)) else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """What is imported for the type checker alone is no code."""
        return None if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """What a module is called is no code, nor is how far above a file the repository's root lies."""
        if isinstance(node.value, ast.Name) and node.value.id in self._imported:
            return self.visit(ast.Name(node.attr, node.ctx))  # type: ignore[no-any-return]
        while node.attr == "parent" and isinstance(node.value, ast.Attribute) and node.value.attr == "parent":
            node = node.value
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "parents" and "__file__" in ast.unparse(node):
            node.value.attr = "parent"
            return self.visit(node.value)  # type: ignore[no-any-return]
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str):
            node.value = without_places("", node.value)
        return node


def _is_own(module: str) -> bool:
    return module.partition(".")[0] in _ROOMS


def parts(path: str, text: str) -> Parts:
    """What a file says, without what a move changes: the statements of a module, any other file as one text."""
    if path.endswith(".py"):
        tree = ast.parse(text)
        tree = _Code(tree).visit(tree)
        return tuple(ast.unparse(statement) for statement in tree.body)
    if not path.endswith(".yaml"):
        text = _COMMENT.sub(lambda m: m[1] or " ", without_places(path, text))
    words = " ".join(text.split())
    return (words,) if words else ()


def covered(one: Parts, same: Collection[Parts], others: Sequence[Parts]) -> bool:
    """Whether a file is one of `same`, or was split off one of the others, or joined of several of them."""
    if one in same or any(set(one) <= set(other) for other in others):
        return True
    return set(one) == {part for other in others if set(other) <= set(one) for part in other}


def differences(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    before: Mapping[str, Parts],
    now: Mapping[str, Parts],
    left_out: Collection[str] = (),
    read: Collection[str] = (),
) -> list[str]:
    """Why a kernel is not the same; empty where it is.

    Args:
        old, new: the method there and here: its `files`, and what it is `started` with.
        before, now: all files there and here, by path.
        left_out: files of the old kernel that need not be there any more.
        read: files, there or here, whose difference a person has found to be none.
    """
    found = [] if old["started"] == new["started"] else ["it is started with something else"]
    whole = [before[path] for path in old["files"]]
    for path in new["files"]:
        if path not in read and not covered(now[path], before.values(), whole):
            found.append(f"{path} is not what it was")
    for path in old["files"]:
        if path not in (*left_out, *read) and not covered(before[path], now.values(), list(now.values())):
            found.append(f"nothing is what {path} was")
    return found


def _contents(root: Path) -> dict[str, Parts]:
    paths = [path for room in _ROOMS for path in (root / room).rglob("*") if path.suffix in _SUFFIXES]
    names = [path.relative_to(root).as_posix() for path in paths]
    return {name: parts(name, (root / name).read_text(encoding="utf-8")) for name in names}


def _told(root: Path, torch: str, said: Path) -> dict[str, Any]:
    """The methods of a checkout, as they are with a version of torch in a checkout that lies there."""
    command = [sys.executable, "-c", _TELL, torch, str(said)]
    done = subprocess.run(command, cwd=root, env={"PYTHONPATH": str(root)}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"The methods of {root} cannot be read: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("--torch", action="append")
    parser.add_argument("--left-out", action="append", default=[])
    parser.add_argument("--read", action="append", default=[])
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--dry-run", action="store_true")
    given = parser.parse_args()
    versions = given.torch or [version("torch")]
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", given.commit], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
        before = _contents(Path(folder))
        older = {torch: _told(Path(folder), torch, given.root) for torch in versions}
    now, new = _contents(ROOT), _told(ROOT, versions[0], given.root)
    moved: dict[str, dict[str, dict[str, str]]] = {}
    refused = 0
    for name, method in new.items():
        old = older[versions[0]].get(name)
        why = differences(old, method, before, now, given.left_out, given.read) if old else ["it was not there"]
        if why:
            refused += 1
            print(f"{name:24} {method['kernel']} refused: {'; '.join(why[:3])}{'; ...' if why[3:] else ''}.")
            continue
        hashes = {torch: str(older[torch][name]["hash"]) for torch in versions}
        hashes = {torch: known for torch, known in hashes.items() if known != plain_hash(method["kernel"], torch)}
        print(
            f"{name:24} {method['kernel']} was", ", ".join(f"{h} (torch {t})" for t, h in hashes.items()) or "the same"
        )
        if hashes:
            moved[name] = {method["kernel"]: hashes}
    print(f"{len(new) - refused} methods are what they were, {refused} are not.")
    if not given.dry_run:
        MOVED.write_text(json.dumps(moved, indent=1) + "\n", encoding="utf-8")
        identity._moved.cache_clear()


if __name__ == "__main__":
    main()

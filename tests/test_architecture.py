"""Imports point one way, and the app's process never meets torch."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# room -> rooms it may import from (its own always).
ALLOWED = {
    "mirror": {"db"},
    "bench_engine": {"db"},
    "bench_engine.kernels": set(),
    "db": set(),
}
ROOMS = sorted(ALLOWED, key=len, reverse=True)


def room_of(module: str) -> str | None:
    return next((r for r in ROOMS if module == r or module.startswith(r + ".")), None)


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found


SOURCES = [p for top in ("mirror", "bench_engine", "db") for p in sorted((ROOT / top).rglob("*.py"))]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    room = room_of(module)
    for name in imported(path):
        other = room_of(name)
        if other is None or other == room:
            continue
        if room == "bench_engine" and other == "bench_engine.kernels":
            continue
        assert other in ALLOWED[room], f"{module} imports {name}"


@pytest.mark.parametrize("path", [p for p in SOURCES if "pages" not in p.parts], ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_imports_pages_or_streamlit(path: Path) -> None:
    assert not any(n.startswith(("mirror.faces.pages", "streamlit")) for n in imported(path))


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_planning_needs_no_torch() -> None:
    out = run(
        "import sys, bench_engine.sweep.sweep, bench_engine.run.runner, bench_engine.command.cli\n"
        "print('torch' in sys.modules)"
    )
    assert out.strip() == "False"


def test_every_module_is_documented() -> None:
    silent = [str(p.relative_to(ROOT)) for p in SOURCES if not ast.get_docstring(ast.parse(p.read_text()))]
    silent = [p for p in silent if (ROOT / p).read_text().strip()]
    assert silent == []

"""The house: what each room may import, no way back, few modules a room, and what of a room others may use."""

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOPS = ("mirror", "bench_engine", "db")

# The rooms of each house, from the ground up: a room imports from rooms before it, and from nothing after it.
FLOORS = {
    "mirror": (
        "words",
        "table",
        "schema",
        "query",
        "data",
        "runs",
        "language",
        "chart",
        "sentence",
        "model",
        "answer",
        "evaluation",
        "faces",
    ),
    "bench_engine": (
        "kernels",
        "trial",
        "progress",
        "machine",
        "measure",
        "data",
        "methods",
        "plugin",
        "registry",
        "benchmarks",
        "sweep",
        "plan",
        "run",
        "compare",
        "report",
        "track",
        "selfcheck",
        "suggest",
        "shipped",
        "command",
    ),
}
# What else a house may import.
MAY_IMPORT = {"mirror": {"db"}, "bench_engine": {"db"}, "db": set()}
MOST_MODULES, MOST_IN_A_CIRCLE = 15, 3
# Files that every room or command has.
EVERYWHERE = {"__init__", "__main__"}
# Modules that lead into the room they lie in, as an __init__ with __all__ does. Their place is part of what others rely
# on: torch calls the first by the name that installed packages have, and the rest is the text of measured kernels.
DOORS = {f"bench_engine.kernels.parallel_op.{name}" for name in ("autoload", "grouped_embedding", "exported_programs")}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


SOURCES = {module_of(path): path for top in TOPS for path in sorted((ROOT / top).rglob("*.py"))}
TREES = {module: ast.parse(path.read_text()) for module, path in SOURCES.items()}
NODES = {module: list(ast.walk(tree)) for module, tree in TREES.items()}


def imported(module: str) -> Iterator[str]:
    """What a module imports from this repository, lazily and for types too."""
    for node in NODES[module]:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: write imports absolute"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in SOURCES else str(node.module) for name in full]
        yield from (name for name in names if name in SOURCES and name != module)


IMPORTS = {module: sorted(set(imported(module))) for module in SOURCES}


def room_of(module: str) -> tuple[str, str]:
    """(house, room): `mirror.chart.draw.bars` is in the room chart of mirror."""
    house, _, rest = module.partition(".")
    return house, rest.partition(".")[0]


def lies_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


PACKAGES = {module for module, path in SOURCES.items() if path.name == "__init__.py"}
ROOMS = sorted(PACKAGES - set(TOPS))


def sub_room_of(module: str, room: str) -> str:
    """The sub-room of a room that a module lies in; the room itself for its loose modules."""
    sub = ".".join(module.split(".")[: room.count(".") + 2])
    return sub if sub in PACKAGES else room


def is_door(module: str) -> bool:
    """Whether a module leads into its room: it may import from all of the room, and nothing there from it."""
    assigned = {ast.unparse(node.targets[0]) for node in TREES[module].body if isinstance(node, ast.Assign)}
    return module in DOORS or (module in PACKAGES and "__all__" in assigned)


def used_from_outside() -> dict[str, set[str]]:
    """package -> its modules, or itself, that modules elsewhere, app.py or the docs import, or name in a text."""
    uses = [(module, name) for module, names in IMPORTS.items() for name in names]
    for module, nodes in NODES.items():
        texts = (node.value for node in nodes if isinstance(node, ast.Constant))
        named = (str(text).partition(":")[0] for text in texts)
        uses += [(module, name) for name in named if name in SOURCES and name not in PACKAGES]
    for path in (ROOT / "app.py", ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for module, names in re.findall(r"^from ([\w.]+) import ([\w, ]+)", path.read_text(), re.MULTILINE):
            full = [f"{module}.{name.strip()}" for name in names.split(",")]
            uses += [(path.name, name if name in SOURCES else module) for name in full]
    found = defaultdict(set)
    for user, name in uses:
        package = name if name in PACKAGES else name.rpartition(".")[0]
        if not lies_in(user, package):
            found[package].add(name)
    return found


USED = used_from_outside()


def circles(edges: dict[str, list[str]]) -> list[list[str]]:
    """The strongly connected components with more than one member (Tarjan 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in edges:
        if node not in order:
            visit(node)
    return found


@pytest.mark.parametrize("module", SOURCES)
def test_imports_point_down(module: str) -> None:
    house, room = room_of(module)
    for name in IMPORTS[module]:
        other_house, other_room = room_of(name)
        if other_house != house:
            assert other_house in MAY_IMPORT[house], f"{module} imports {name}"
            assert room != "kernels", f"{module} imports {name}: kernels stand alone"
        elif house in FLOORS and room and other_room and room != other_room and "__main__" not in (room, other_room):
            floors = FLOORS[house]
            assert room in floors, f"{module} is in no room that is known"
            assert other_room in floors[: floors.index(room)], f"{module} imports {name}, which is above it"


def test_every_room_is_known_and_no_known_room_is_gone() -> None:
    for house, floors in FLOORS.items():
        there = {room_of(module)[1] for module in SOURCES if room_of(module)[0] == house}
        assert there - {"", "__main__"} == set(floors)


def test_no_circle_is_larger_than_a_few_files_of_one_room() -> None:
    for circle in circles(IMPORTS):
        assert len({room_of(module) for module in circle}) == 1, circle
        assert len(circle) <= MOST_IN_A_CIRCLE, circle


@pytest.mark.parametrize("room", ROOMS)
def test_sub_rooms_import_one_way(room: str) -> None:
    edges = defaultdict(set)
    for module in SOURCES:
        for name in IMPORTS[module]:
            if lies_in(module, room) and lies_in(name, room) and sub_room_of(module, room) != sub_room_of(name, room):
                if not is_door(module):
                    edges[sub_room_of(module, room)].add(sub_room_of(name, room))
                assert not is_door(name) or sub_room_of(name, room) != room, f"{module} imports {name}, a way in"
    assert circles({sub: sorted(others) for sub, others in edges.items()}) == []


@pytest.mark.parametrize("room", [room for room in ROOMS if room_of(room)[1] != "kernels"])  # whose modules all may use
def test_a_room_says_what_may_be_used_from_outside(room: str) -> None:
    """`From outside: a, b.` in the docstring of its __init__; `the names here` are those of the __init__ itself."""
    said = re.search(r"From outside: ([^.;]+)[.;]", " ".join(str(ast.get_docstring(TREES[room])).split()))
    assert said, f"{room} does not say what may be used from outside"
    own = {module for module in SOURCES.keys() - PACKAGES if module.rpartition(".")[0] == room}
    short = {"nothing": set(), "every module": own, "the names here": {room}}
    named = set().union(*(short.get(name, {f"{room}.{name}"}) for name in said[1].split(", ")))
    assert named == USED[room]


def test_no_folder_is_crowded() -> None:
    folders = Counter(path.parent for path in SOURCES.values() if path.stem not in EVERYWHERE)
    assert {str(f.relative_to(ROOT)): n for f, n in folders.items() if n > MOST_MODULES} == {}


def test_a_file_name_means_one_thing() -> None:
    by_name = defaultdict(list)
    for module, path in SOURCES.items():
        if path.stem not in EVERYWHERE:
            by_name[room_of(module)[0], path.stem].append(module)
    assert [modules for modules in by_name.values() if len(modules) > 1] == []


def test_every_module_and_room_says_what_it_is_for() -> None:
    assert [module for module, tree in TREES.items() if not ast.get_docstring(tree)] == []
    folders = {path.parent for path in SOURCES.values()}
    assert [str(f.relative_to(ROOT)) for f in sorted(folders) if not (f / "__init__.py").is_file()] == []


def test_only_pages_import_streamlit() -> None:
    def all_imports(nodes: list[ast.AST]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield str(node.module)

    users = {m for m, nodes in NODES.items() if any(n.partition(".")[0] == "streamlit" for n in all_imports(nodes))}
    assert {m for m in users if not m.startswith("mirror.faces.pages.")} == set()
    above = {m for m, names in IMPORTS.items() if any(n.startswith("mirror.faces.pages.") for n in names)}
    assert {m for m in above if not m.startswith("mirror.faces.pages.")} == set()


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

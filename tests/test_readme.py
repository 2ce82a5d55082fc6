"""What README and docs say exists: commands, options, settings, files, modules, names, links."""

import ast
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from test_architecture import FLOORS

from bench_engine.command import cli
from bench_engine.kernels.parallel_op import settings as parallel_op_settings
from bench_engine.registry import BENCHMARKS
from tests.shows import browser_scenarios

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = "\n".join(p.read_text() for p in PAGES)


def code_lines() -> list[str]:
    blocks = re.findall(r"```(?:\w*)\n(.*?)```", TEXT, re.DOTALL)
    return [line.split("   ")[0].strip() for block in blocks for line in block.splitlines() if line.strip()]


def sources(*rooms: str) -> str:
    return "\n".join(path.read_text() for room in rooms for path in sorted((ROOT / room).rglob("*.py")))


ENGINE = [line for line in code_lines() if line.startswith("python -m bench_engine ")]
MIRROR = sorted(set(re.findall(r"python -m mirror (\w+)", TEXT)))
MAKE = sorted(set(re.findall(r"make (\w+)", TEXT)))


@pytest.mark.parametrize("line", ENGINE)
def test_engine_commands_parse(line: str) -> None:
    arguments = shlex.split(line, comments=True)[3:]
    assert cli.parser().parse_args(arguments)


def test_commands_of_mirror_exist() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "mirror", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert [command for command in MIRROR if not re.search(rf"\b{command}\b", shown.stdout)] == []


def test_there_are_commands_to_check() -> None:
    assert len(ENGINE) >= 40
    assert {"ask", "eval"} <= set(MIRROR)
    assert {"app", "test", "bench"} <= set(MAKE)


@pytest.mark.parametrize("target", [t for t in MAKE if t not in ("or",)])
def test_make_targets_exist(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


PYTHON = [block for page in PAGES for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)]
# Files: a path that begins with a folder of ours. What only a person's machine has, or stands for a name, is none.
FILE = re.compile(r"(?<![\w./:-])((?:mirror|bench_engine|csrc|db|examples|sweeps|tests)/[\w./*-]*[\w/*])")
NOT_HERE = re.compile(r"db/(mirror|shared)\.|.*NAME")
MODULE = re.compile(r"(?<![\w./@-])((?:mirror|bench_engine|db|tests)(?:\.[A-Za-z_]\w*)+)")
NO_MODULE = {"mirror.grouped_embedding", "db.example", "mirror.duckdb"}  # an op of torch, a host, a file


@pytest.mark.parametrize("block", PYTHON, ids=range(len(PYTHON)))
def test_imports_of_python_examples_work(block: str) -> None:
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                assert hasattr(module, alias.name) or importlib.import_module(f"{node.module}.{alias.name}")


@pytest.mark.parametrize("before", ["", "import mirror.answer.answer"])
def test_ask_is_what_the_pages_call(before: str) -> None:
    code = f"{before}\nfrom mirror import ask\nassert callable(ask)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False).returncode == 0


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_files_and_modules_that_are_named_exist(page: Path) -> None:
    text = page.read_text()
    files = {name for name in FILE.findall(text) if not NOT_HERE.match(name)}
    assert [name for name in sorted(files) if not list(ROOT.glob(name.rstrip("/")))] == []
    names = {name for name in MODULE.findall(text) if not name.startswith(tuple(NO_MODULE))}
    assert [name for name in sorted(names) if not is_there(name)] == []


def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or something that a module's text has."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        folder = ROOT.joinpath(*parts[:end])
        found = [path for path in (folder.with_suffix(".py"), folder / "__init__.py") if path.is_file()]
        if found or folder.is_dir():
            return end == len(parts) or any(re.search(rf"\b{parts[end]}\b", path.read_text()) for path in found)
    return False


def test_the_page_on_architecture_speaks_of_the_code_as_it_is() -> None:
    """Functions (`name()`), the glossary's last column, and the rooms, in their order from the ground up."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    code = sources("mirror", "bench_engine", "db")
    called = set(re.findall(r"\b([A-Za-z_]\w*)\(\)", text))
    assert [name for name in sorted(called) if not re.search(rf"\b(def|class) {name}\b", code)] == []
    words = re.findall(r"^\|.*\| ((?:`\w+`(?:, )?)+) \|$", text.split("## Words")[1].split("\n## ")[0], re.MULTILINE)
    named = {name for cell in words for name in re.findall(r"`(\w+)`", cell)}
    assert len(named) > 50
    assert [name for name in sorted(named) if not re.search(rf"\b{name}\b", code)] == []
    for house, floors in FLOORS.items():
        table = text.split(f"| `{house}/` |")[1].split("\n\n")[0]
        rooms = re.findall(r"^\| `(\w+)/`", table, re.MULTILINE)
        assert rooms == [room for room in floors if (ROOT / house / room).is_dir()]


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists() or (ROOT / "docs" / target).exists()


def test_the_map_names_what_is_there() -> None:
    table = (ROOT / "README.md").read_text().split("## The house")[1].split("##")[0]
    for name in re.findall(r"^\| `([^`]+)`", table, re.MULTILINE):
        assert (ROOT / name).exists(), name
    listed = set(re.findall(r"^\| `([a-z_]+)/`", table, re.MULTILINE))
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    ours = {name.partition("/")[0] for name in tracked.splitlines() if "/" in name and not name.startswith((".", "_"))}
    if not ours:
        pytest.skip("this is no git clone")
    assert ours <= listed


def test_the_scenarios_of_the_browser_tests_are_listed() -> None:
    """Else: python -m tests.shows.browser_scenarios --write."""
    assert browser_scenarios.section() in browser_scenarios.PAGE.read_text()


def test_every_setting_is_documented() -> None:
    used = set(parallel_op_settings.VARIABLES)
    for room in ("mirror", "bench_engine", "db"):
        for path in (ROOT / room).rglob("*.py"):
            used |= set(re.findall(r"\"(MIRROR_[A-Z_]+|OPENAI_API_KEY)\"", path.read_text()))
    for path in (ROOT / "csrc").rglob("*.cpp"):
        used |= set(re.findall(r"getenv\(\"(MIRROR_[A-Z_]+)\"\)", path.read_text()))
    documented = set(re.findall(r"`(MIRROR_[A-Z_]+|OPENAI_API_KEY)`", (ROOT / "docs" / "settings.md").read_text()))
    assert used == documented


def test_make_app_brings_no_examples_into_results_that_are_kept_elsewhere() -> None:
    (line,) = [x for x in (ROOT / "Makefile").read_text().splitlines() if "ingest --examples" in x]
    assert "MIRROR_DB" in line


def test_measuring_names_the_benchmarks_of_several_starts() -> None:
    text = " ".join((ROOT / "docs/measuring.md").read_text().split())
    assert {b.name for b in BENCHMARKS.values() if b.starts > 1} == {"lookup", "grouped_lookup", "callable"}
    assert "lookups, grouped lookups or anything callable" in text


def test_files_that_shows_name_exist() -> None:
    shows = (path.read_text() for path in (ROOT / "tests/shows").glob("*.py"))
    named = {name for text in shows for name in re.findall(r"ingest (db/[\w./*-]+)", text)}
    assert [name for name in named if not list(ROOT.glob(name))] == []


def test_every_option_of_the_engine_is_documented() -> None:
    options = set(re.findall(r'"(--[a-z][a-z-]+)"', (ROOT / "bench_engine/command/cli_parser.py").read_text()))
    assert sorted(o for o in options - {"--verbose"} if not re.search(rf"{o}(?![a-z-])", TEXT)) == []

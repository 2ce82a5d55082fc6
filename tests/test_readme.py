"""What README and docs say exists: commands, options, settings, files, links."""

import re
import shlex
from pathlib import Path

import pytest

from bench_engine.command import cli
from bench_engine.kernels.parallel_op import settings as parallel_op_settings

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = "\n".join(p.read_text() for p in PAGES)


def code_lines() -> list[str]:
    blocks = re.findall(r"```(?:\w*)\n(.*?)```", TEXT, re.DOTALL)
    return [line.split("   ")[0].strip() for block in blocks for line in block.splitlines() if line.strip()]


ENGINE = [line for line in code_lines() if line.startswith("python -m bench_engine ")]
MAKE = sorted(set(re.findall(r"make (\w+)", TEXT)))


@pytest.mark.parametrize("line", ENGINE)
def test_engine_commands_parse(line: str) -> None:
    arguments = shlex.split(line, comments=True)[3:]
    assert cli.parser().parse_args(arguments)


def test_there_are_commands_to_check() -> None:
    assert len(ENGINE) >= 6
    assert {"app", "test", "bench"} <= set(MAKE)


@pytest.mark.parametrize("target", [t for t in MAKE if t not in ("or",)])
def test_make_targets_exist(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists() or (ROOT / "docs" / target).exists()


def test_the_map_names_what_is_there() -> None:
    table = (ROOT / "README.md").read_text().split("## The house")[1].split("##")[0]
    for name in re.findall(r"^\| `([^`]+)`", table, re.MULTILINE):
        assert (ROOT / name).exists(), name
    listed = set(re.findall(r"^\| `([a-z_]+)/`", table, re.MULTILINE))
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith((".", "_"))}
    ours = {f for f in folders if f not in ("build", "data") and not f.endswith(".egg-info")}
    assert ours <= listed


def test_every_setting_is_documented() -> None:
    used = set(parallel_op_settings.VARIABLES)
    for room in ("mirror", "bench_engine", "db"):
        for path in (ROOT / room).rglob("*.py"):
            used |= set(re.findall(r"\"(MIRROR_[A-Z_]+|OPENAI_API_KEY)\"", path.read_text()))
    documented = set(re.findall(r"`(MIRROR_[A-Z_]+|OPENAI_API_KEY)`", (ROOT / "docs" / "settings.md").read_text()))
    assert used == documented

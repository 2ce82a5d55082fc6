"""The scenarios that the browser tests go through, as docs/app.md lists them; --write puts them there.

python -m tests.shows.browser_scenarios --write
"""

import argparse
import ast
import math
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/app.md"
BEGIN, END = "<!-- scenarios: python -m tests.shows.browser_scenarios --write -->\n", "<!-- end of scenarios -->\n"


def scenarios() -> tuple[int, str]:
    """(number of scenarios, the list as Markdown), a part for each module."""
    total, parts = 0, []
    for path in sorted((ROOT / "tests/browser").glob("test_*.py")):
        tree = ast.parse(path.read_text())
        lines = []
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                times = math.prod(map(_times, node.decorator_list))
                total += times
                words = node.name.removeprefix("test_").replace("_", " ")
                words = re.sub(r"\bsql\b", "SQL", words[:1].upper() + words[1:], flags=re.IGNORECASE)
                lines.append(f"- {words}{f' ({times} times)' if times > 1 else ''}")
        parts.append("\n".join([f"**{(ast.get_docstring(tree) or '').splitlines()[0]}** (`{path.name}`)", "", *lines]))
    return total, "\n\n".join(parts)


def _times(decorator: ast.expr) -> int:
    """How often a decorator has its test run."""
    named = isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.parametrize"
    return len(decorator.args[1].elts) if named and isinstance(decorator.args[1], ast.List) else 1  # type: ignore[attr-defined]


def section() -> str:
    """What stands on the page between its marks, with these."""
    total, listed = scenarios()
    return f"{BEGIN}{total} scenarios.\n\n{listed}\n{END}"


def main() -> int:
    """Print the list, or write it. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put it into docs/app.md")
    if not parser.parse_args().write:
        print(section())
        return 0
    text = PAGE.read_text()
    before, after = text[: text.index(BEGIN)], text[text.index(END) + len(END) :]
    PAGE.write_text(before + section() + after)
    return 0


if __name__ == "__main__":
    sys.exit(main())

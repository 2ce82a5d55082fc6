"""What pyproject.toml cannot say: a wheel holds the kernels' sources, the sweeps and the app, and no package `db`.

In the repository results live in db/, and the code says `from db...`. A package of that name would be in everybody's
way, so a wheel has it as `mirror_db`, and its imports are rewritten on the way (db/installation.py has the whole map).
An editable installation is the clone itself, and stays as it is.
"""

import ast
import re
import shutil
import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from db.installation import INSIDE  # noqa: E402

EDITABLE = bool({"editable_wheel", "develop"} & set(sys.argv))
OLD, NEW = "db", INSIDE["db"]
CARRIED = {source: target for source, target in INSIDE.items() if source != OLD}
LEFT_HERE = ("__pycache__", "secrets.toml")


class BuildPy(build_py):
    """Copies the packages with their imports of `db` rewritten, and beside them what the repository has elsewhere."""

    def build_module(self, module, module_file, package):
        target, copied = super().build_module(module, module_file, package)
        path = Path(target)
        path.write_text(renamed(path.read_text(encoding="utf-8"), module_file), encoding="utf-8")
        return target, copied

    def run(self):
        if self.editable_mode:
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)  # build/ of a clone stays: what was moved must not come again
        super().run()
        for source, target in self._carried():
            self.mkpath(str(target.parent))
            shutil.copyfile(source, target)

    def get_source_files(self):
        return super().get_source_files() + [str(source) for source, _ in self._carried()]

    def get_outputs(self, include_bytecode=1):
        carried = [] if self.editable_mode else [str(target) for _, target in self._carried()]
        return super().get_outputs(include_bytecode) + carried

    def _carried(self):
        """Files outside the packages, each with where it goes."""
        for source, target in CARRIED.items():
            for path in sorted(Path(source).rglob("*")) if Path(source).is_dir() else [Path(source)]:
                if path.is_file() and not set(path.parts) & set(LEFT_HERE):
                    yield path, Path(self.build_lib, target) / path.relative_to(source)


def renamed(text, name):
    """The text of a module with its imports of `db` rewritten. Raises ValueError for what cannot be."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        binds = isinstance(node, ast.Import) and any(is_old(a.name) for a in node.names)
        if binds or (isinstance(node, ast.Constant) and re.fullmatch(rf"{OLD}\.[a-z_.]+", str(node.value))):
            raise ValueError(f"{name}, line {node.lineno}: write `from {OLD}.x import y`, which a wheel can rename.")
        if isinstance(node, ast.ImportFrom) and is_old(node.module or ""):
            line = lines[node.lineno - 1]
            before, after = line[: node.col_offset], line[node.col_offset :]
            lines[node.lineno - 1] = before + after.replace(f"from {OLD}", f"from {NEW}", 1)
    return "".join(lines)


def is_old(module):
    return module.partition(".")[0] == OLD


packages = find_packages(include=["mirror*", "bench_engine*", "db*"], exclude=["mirror.language.train*"])
setup(
    packages=packages if EDITABLE else [NEW + p.removeprefix(OLD) if is_old(p) else p for p in packages],
    package_dir={} if EDITABLE else {NEW: OLD},
    cmdclass={"build_py": BuildPy},
)

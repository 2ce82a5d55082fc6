"""What is copied to another machine: the code as it is in the working tree, and plug-ins, each named by its content."""

import hashlib
import io
import os
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench_engine.machine import machine as this_machine
from bench_engine.plugin import Named, beside, import_root
from bench_engine.run.executors import ExecutorError
from bench_engine.run.far import environment_there
from db.installation import INSTALLED, ROOT

COMMIT = this_machine.COMMIT
_FILES = (*environment_there.FROM, "README.md", "LICENSE", "MANIFEST.in", "mirror/language/neural/text.LICENSE.txt")
_FOLDERS = ("bench_engine", "db", "csrc", "sweeps")
_LEFT_HERE = ("db/examples/",)  # results, which a run needs none of


@dataclass(frozen=True)
class Bundle:
    """Files that go together.

    Attributes:
        kind: the folder there that holds all bundles of the kind.
        files: path in the bundle -> (content, whether it can be executed).
    """

    kind: str
    files: Mapping[str, tuple[bytes, bool]]

    @property
    def digest(self) -> str:
        """Hash of paths and contents (16 hex digits)."""
        digest = hashlib.sha256()
        for name, (content, executable) in sorted(self.files.items()):
            digest.update(f"{name}\0{executable:d}{len(content)}\0".encode() + content)
        return digest.hexdigest()[:16]

    def packed(self) -> bytes:
        """The files as a .tar.gz."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz", compresslevel=6) as archive:
            for name, (content, executable) in sorted(self.files.items()):
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o755 if executable else 0o644
                archive.addfile(entry, io.BytesIO(content))
        return out.getvalue()


def code(app: bool) -> Bundle:
    """The tracked files that a run needs, as they are now; with those of the app where it is what is measured.

    Raises ExecutorError where this is no clone.
    """
    if INSTALLED or not (ROOT / ".git").exists():
        raise ExecutorError("What is copied there is a clone of the project: give this command in one.")
    wanted = [*_FILES, *_FOLDERS, *(["mirror", "app.py"] if app else [])]
    listing = ["git", "-C", str(ROOT), "ls-files", "-z", "--", *wanted]
    try:
        names = subprocess.run(listing, capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError) as error:
        raise ExecutorError(
            f"git cannot say which files belong to the project ({error}): see what `git status` says."
        ) from error
    kept = [name for name in names if name and not name.startswith(_LEFT_HERE)]
    files = dict(_read((name, ROOT / name) for name in kept))
    return Bundle("code", {**files, COMMIT: (this_machine.code_version().encode(), False)})


def plugins(named: Iterable[Named], sources: Iterable[str]) -> tuple[Bundle, list[str]]:
    """The files of plug-ins with what they import from beside them, and the plug-ins as they are named there, with
    `{}` for the folder of the bundle. A module is named as here, and must be installed there.

    Args:
        named: the plug-ins.
        sources: paths that their methods say they are made of; those below a plug-in's folder go along.
    """
    files: dict[str, tuple[bytes, bool]] = {}
    texts: list[str] = []
    roots: list[Path] = []
    sources = tuple(sources)  # gone through once for each plug-in
    for plugin in named:
        target = plugin.target
        if target.endswith(".py"):
            path = Path(target).resolve()
            root = import_root(path)
            if root not in roots:
                roots.append(root)
            top = str(roots.index(root))
            own = [Path(file) for file in (*beside(path), *sources) if Path(file).is_relative_to(root)]
            found = [f for file in own for f in (sorted(file.rglob("*")) if file.is_dir() else [file])]
            files |= dict(_read((f"{top}/{file.relative_to(root).as_posix()}", file) for file in found))
            target = f"{{}}/{top}/{path.relative_to(root).as_posix()}"
        method = f"{plugin.method}=" if plugin.method else ""
        texts.append(f"{method}{target}" + (f"#{plugin.attribute}" if plugin.attribute else ""))
    return Bundle("plugins", files), texts


def _read(paths: Iterable[tuple[str, Path]]) -> Iterable[tuple[str, tuple[bytes, bool]]]:
    for name, path in paths:
        if path.is_file():  # one that was deleted is tracked until that is committed
            yield name, (path.read_bytes(), os.access(path, os.X_OK))

"""Run as a program on the other machine, by whatever Python 3.11 it has: the environment that the engine runs in.

An environment is made once for what it is made from, and counts when the note in it is written, which comes last: one
whose making was ended is made anew. Needs the standard library alone.
"""

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARK = "@mirror "  # of lines for the other side, see bench_engine.run.far.ssh_line
FROM = ("requirements.txt", "pyproject.toml", "setup.py")  # what an environment is made from
_NEEDED = ("torch", "numpy", "sqlalchemy", "duckdb", "duckdb_sqlalchemy", "pyarrow", "psutil", "yaml", "scipy")
_NOTE = "made_from.txt"
_RELEVANT = ("error", "conflict", "no space", "no matching", "could not")  # words of the lines that say why pip failed


class MakingError(RuntimeError):
    """The environment cannot be made; the message is a sentence."""


def environment(folder: Path, code: Path, as_it_is: bool) -> str:
    """Path of the Python that runs the engine.

    Args:
        folder: where environments are kept.
        code: a copy of the project.
        as_it_is: use this Python itself where it has all that is needed.

    Raises MakingError.
    """
    if as_it_is and all(importlib.util.find_spec(name) for name in _NEEDED):
        return sys.executable
    version = ".".join(map(str, sys.version_info[:3]))
    digest = hashlib.sha256(f"{sys.executable}\0{version}\0".encode())
    for name in FROM:
        digest.update((code / name).read_bytes() + b"\0")
    place = folder / "env" / digest.hexdigest()[:16]
    python = place / "bin" / "python"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _alone(place.with_suffix(".lock")):
            if not (place / _NOTE).is_file():
                _tell(say=f"Making the environment in {place} with Python {version}: some minutes, once.")
                _make(place, python, code)
                (place / _NOTE).write_text(f"{version} and {', '.join(FROM)} of {code.name}\n")
    except OSError as error:
        raise MakingError(f"the environment {place} cannot be made ({error.strerror}): mend that there.") from error
    return str(python)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock file. Another that makes the same environment, after a lost line say, is waited for."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _tell(say="The environment is being made already; waiting for that.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(place: Path, python: Path, code: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", str(place)], capture_output=True, text=True, check=False)
    if made.returncode:
        raise MakingError(
            f"{sys.executable} cannot make an environment ({_why(made)}): install its venv there (python3-venv), or "
            "name another Python with MIRROR_SSH_PYTHON."
        )
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    for what in (["-r", "requirements.txt"], ["--no-deps", "-e", str(code)]):
        done = subprocess.run([*pip, *what], cwd=code, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MakingError(
                f"pip cannot install the requirements ({_why(done)}): mend that there, or name a Python that has them "
                "with MIRROR_SSH_PYTHON."
            )


def _why(done: "subprocess.CompletedProcess[str]") -> str:
    """The line of its output that says most of why a program failed."""
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line.lower() for word in _RELEVANT)]
    return (telling or lines or ["no message"])[-1].rstrip(".")[:300]


def _tell(**values: str) -> None:
    print(MARK + json.dumps(values), flush=True)


def main(folder: str, code: str, as_it_is: str) -> int:
    """Say the Python, or an error. Returns the exit status 0: what went wrong is said."""
    os.umask(0o077)
    try:
        _tell(python=environment(Path(folder), Path(code), as_it_is == "as_it_is"))
    except MakingError as error:
        _tell(error=str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

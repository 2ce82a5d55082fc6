"""The packages of rivals: which are here, and how they come here or into an environment of their own.

A rival runs in this environment where its packages are here at exactly the pinned versions. Where they would clash with
what is installed, `rivals/NAME` in the cache folder (build/ of a clone) is an environment for it alone. It counts only
when its note of what is in it says what is wanted; the note is written last, so an installation that was killed is done
over.
"""

import fcntl
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

from bench_engine.kernels.native import cache
from db import installation

_HOME = cache.folder() / "rivals"
_NOTE = "packages.txt"
_OF_A_WORKER = ("torch", "numpy", "psutil")  # what a worker imports of requirements.txt
_RELEVANT = ("error", "conflict", "no module", "no matching")  # words of the lines that say why pip failed

Say = Callable[[str], object]


class RivalError(RuntimeError):
    """A rival cannot be installed; the message says why and what to do."""


def lacking(packages: Sequence[str]) -> list[str]:
    """What is not here at its pinned version: ["jax 0.10.2"], or ["jax 0.10.2 (0.9.0 is here)"]. Imports nothing."""
    missing = []
    for pin in packages:
        name, _, wanted = pin.partition("==")
        found = _version(name)
        if found is None:
            missing.append(f"{name} {wanted}")
        elif found.partition("+")[0] != wanted:  # 2.13.0+cpu is 2.13.0
            missing.append(f"{name} {wanted} ({found} is here)")
    return missing


def missing(name: str, packages: Sequence[str]) -> str:
    """One sentence that says what a rival needs and how it is installed; empty when it can run."""
    lack = lacking(packages)
    if not lack or _installed(name, packages):
        return ""
    clash = any(entry.endswith(" is here)") for entry in lack)
    command = f"`python -m bench_engine rivals install {'--own ' if clash else ''}{name}`"
    what = "gives it an environment of its own" if clash else "installs it"
    return f"{name} needs {' and '.join(lack)}: {command} {what}."


def python(name: str, packages: Sequence[str]) -> str:
    """The interpreter that runs a rival: its own environment's where this one lacks its packages and that has them."""
    return str(_python_of(_HOME / name)) if _runs_apart(name, packages) else sys.executable


def place(name: str, packages: Sequence[str]) -> str:
    """Where a rival that can run runs, in words."""
    return _shown(name) if _runs_apart(name, packages) else "this environment"


def install(name: str, packages: Sequence[str], own: bool, say: Say = print) -> None:
    """Install a rival's packages; nothing to do where they are.

    Args:
        own: into an environment of its own; else into this one, in which no version that is there is changed.
        say: told what is done.

    Raises RivalError.
    """
    if own:
        _install_own(name, packages, say)
    elif lack := lacking(packages):
        say(f"{name}: installing {', '.join(lack)}.")
        _install_here(name, packages)
        say(f"{name}: installed in this environment.")
    else:
        say(f"{name}: all that it needs is here.")


def _install_here(name: str, packages: Sequence[str]) -> None:
    here = [f"{d.name}=={d.version}" for d in distributions() if d.name]
    _HOME.mkdir(parents=True, exist_ok=True)
    with _locked():
        constraints = _HOME / "constraints.txt"
        constraints.write_text("\n".join(sorted(set(here))), encoding="utf-8")
        try:
            _pip(sys.executable, [*packages, "--constraint", str(constraints)])
        except RivalError as error:
            raise RivalError(
                f"{name} was not installed: {error} "
                f"`python -m bench_engine rivals install --own {name}` gives it an environment of its own."
            ) from None


def _install_own(name: str, packages: Sequence[str], say: Say) -> None:
    _HOME.mkdir(parents=True, exist_ok=True)
    folder = _HOME / name
    with _locked():
        if _installed(name, packages):
            say(f"{name}: {_shown(name)} has all that it needs.")
            return
        wanted = _wanted(packages)
        say(f"{name}: installing {', '.join(wanted)} into {_shown(name)}; torch alone takes most of a gigabyte.")
        (folder / _NOTE).unlink(missing_ok=True)
        made = _run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)])
        if made.returncode:
            raise RivalError(f"{name} has no environment of its own: {_reason(made)}")
        try:
            _pip(str(_python_of(folder)), wanted)
        except RivalError as error:
            raise RivalError(f"{name} was not installed: {error}") from None
        if installation.INSTALLED:  # what it has itself comes first
            (site,) = folder.glob("lib/python*/site-packages")
            (site / "mirror.pth").write_text(f"{installation.ROOT}\n", encoding="utf-8")
        part = folder / f"{_NOTE}.part"
        part.write_text("\n".join(wanted), encoding="utf-8")
        part.rename(folder / _NOTE)
        say(f"{name}: installed in {_shown(name)}.")


def _runs_apart(name: str, packages: Sequence[str]) -> bool:
    return bool(lacking(packages)) and _installed(name, packages)


def _installed(name: str, packages: Sequence[str]) -> bool:
    """Whether the environment of its own holds what is wanted now."""
    folder = _HOME / name
    try:
        note = (folder / _NOTE).read_text(encoding="utf-8")
    except OSError:
        return False
    return note == "\n".join(_wanted(packages)) and _python_of(folder).exists()


def _wanted(packages: Sequence[str]) -> list[str]:
    """Pins of an environment of its own: what a worker needs, then the rival."""
    lines = installation.path("requirements.txt").read_text(encoding="utf-8").splitlines()
    base = [line for line in lines if line.partition("==")[0] in _OF_A_WORKER]
    return list(dict.fromkeys([*base, *packages]))


def _pip(interpreter: str, arguments: Sequence[str]) -> None:
    pip = [sys.executable, "-m", "pip", "--python", interpreter, "--disable-pip-version-check"]
    done = _run([*pip, "install", *arguments])
    if done.returncode:
        raise RivalError(_reason(done))


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """The line that says why a command failed, as a sentence."""
    if "ResolutionImpossible" in done.stderr:
        return "its packages clash with what is installed here."
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line.lower() for word in _RELEVANT)]
    line = (telling or lines or [f"exit status {done.returncode}"])[-1].removeprefix("ERROR: ")
    return line[:300].rstrip(".") + "."


def _shown(name: str) -> str:
    return str(_HOME / name) if installation.INSTALLED else f"build/rivals/{name}"


def _python_of(folder: Path) -> Path:
    return folder / "bin" / "python"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@contextmanager
def _locked() -> Iterator[None]:
    """One installation at a time; the system releases the lock when its holder dies."""
    with (_HOME / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

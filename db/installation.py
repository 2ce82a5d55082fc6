"""Where the project's files are, and what is not installed.

Files are at the root of a clone; installed, they are inside the packages, where setup.py puts them. The package alone
brings what kernels need, and not what each command needs.
"""

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
ROOT = _PACKAGE.parent  # of the repository; where it is installed, the folder that holds its packages
# In the repository -> in what is installed. A package of the name `db` would be in everybody's way.
# The app has a folder of its own, since Streamlit puts that of its script before all others on the path.
INSIDE = {
    "db": "mirror_db",
    "sweeps": "mirror_db/sweeps",
    "csrc": "bench_engine/csrc",
    "requirements.txt": "bench_engine/requirements.txt",
    "app.py": "mirror/app/app.py",
    ".streamlit": "mirror/app/.streamlit",
}
_OWN = ("bench_engine", "mirror", __name__.partition(".")[0])
INSTALLED = (_PACKAGE / "sweeps").is_dir()


def path(name: str) -> Path:
    """A file or folder by its place in the repository, as in "csrc/hashed"."""
    top, slash, rest = name.partition("/")
    return ROOT / (INSIDE.get(top, top) + slash + rest if INSTALLED else name)


def python_path() -> str:
    """What PYTHONPATH must be for a child of this process to find this code; what is installed is found anyhow."""
    return os.pathsep.join(p for p in ("" if INSTALLED else str(ROOT), os.environ.get("PYTHONPATH", "")) if p)


def missing(error: ModuleNotFoundError, command: str, extra: str) -> str:
    """What a command needs that is not installed, and the line that installs it. Raises the error where one of our own
    modules is missing."""
    module = (error.name or "").partition(".")[0]
    if not module or module in _OWN:
        raise error
    install = f"`pip install 'mirror-bench[{extra}]'`"
    return f"{command} needs the package {module}, which is not installed: {install} brings all that it needs."

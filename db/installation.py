"""Where the project's files are: at the root of a clone; installed, inside the packages, where setup.py puts them."""

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
INSTALLED = (_PACKAGE / "sweeps").is_dir()


def path(name: str) -> Path:
    """A file or folder by its place in the repository, as in "csrc/hashed"."""
    top, slash, rest = name.partition("/")
    return ROOT / (INSIDE.get(top, top) + slash + rest if INSTALLED else name)


def python_path() -> str:
    """What PYTHONPATH must be for a child of this process to find this code; what is installed is found anyhow."""
    return os.pathsep.join(p for p in ("" if INSTALLED else str(ROOT), os.environ.get("PYTHONPATH", "")) if p)

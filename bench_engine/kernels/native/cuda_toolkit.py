"""The CUDA toolkit that the kernels in csrc/*/cuda are compiled with: one that fits torch, or none."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_OLDEST = (12, 1)  # the first that takes all of C++20 and GCC 12


@dataclass(frozen=True)
class Toolkit:
    """nvcc, the folder above its bin/, and what it says about itself, as in "release 13.0, V13.0.88"."""

    nvcc: Path
    home: Path
    release: str

    @property
    def version(self) -> tuple[int, int]:
        """Major and minor."""
        major, minor = self.release.removeprefix("release ").partition(",")[0].split(".")
        return int(major), int(minor)


def for_torch() -> Toolkit | None:
    """The toolkit for the torch that is installed.

    None where torch or the machine has no CUDA, or another major version of it than the other, whose libraries do not
    mix, or where the toolkit is older than 12.1.
    """
    wanted = torch_cuda()
    found = installed() if wanted else None
    if wanted is None or found is None or found.version < _OLDEST:
        return None
    return found if str(found.version[0]) == wanted.partition(".")[0] else None


def installed() -> Toolkit | None:
    """The toolkit under $CUDA_HOME, else on the PATH, else in /usr/local/cuda."""
    homes = (os.environ.get("CUDA_HOME"), "/usr/local/cuda")
    first, last = (Path(home) / "bin/nvcc" if home else None for home in homes)
    for nvcc in (first, shutil.which("nvcc"), last):
        if nvcc is None or not os.access(nvcc, os.X_OK):
            continue
        said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, errors="replace", check=False).stdout
        release = re.search(r"release \d+\.\d+, V[\d.]+", said)
        home = _home(Path(nvcc))
        if release and home:
            return Toolkit(Path(nvcc), home, release.group())
    return None


def _home(nvcc: Path) -> Path | None:
    """The nvcc on the PATH may be a link into the toolkit, or a script beside it."""
    homes = (nvcc.resolve().parents[1], Path("/usr/local/cuda"))
    return next((home for home in homes if (home / "include/cuda_runtime_api.h").exists()), None)


def torch_cuda() -> str | None:
    """The CUDA version that torch was built for, as in "13.0", read without importing torch, which is slow."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    found = re.search(r"^cuda\b.*=\s*['\"]([\d.]+)['\"]", text, re.MULTILINE)
    return found.group(1) if found else None

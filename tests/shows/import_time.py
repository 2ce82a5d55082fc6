"""Shows what the package adds to `import torch`: python -m tests.shows.import_time [ROUNDS]

Fresh interpreters take turns: without the package, with it, and with MIRROR_PARALLEL_OP=1. Each sees the same
site-packages, through a folder of links, so that "without" differs by the package alone.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from statistics import median

TARGET_MS = 20
_IMPORT = """
import site, sys, time
site.addsitedir(sys.argv[1])
start = time.perf_counter()
import torch
took = time.perf_counter() - start
print(took * 1e3, "torch._dynamo" in sys.modules or "torch._inductor" in sys.modules or "sympy" in sys.modules)
"""


def links(folder: Path, *, with_package: bool) -> Path:
    """A site-packages like this environment's, with or without mirror-bench."""
    folder.mkdir()
    for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
        ours = path.name.startswith(("mirror_bench-", "__editable__", "__editable___"))
        if with_package or not (ours and "mirror_bench" in path.name):
            (folder / path.name).symlink_to(path)
    return folder


def import_ms(site: Path, variable: str) -> float:
    """Wall-clock of `import torch` in a fresh interpreter, in ms."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MIRROR_PARALLEL_OP")}
    done = subprocess.run(
        [sys.executable, "-S", "-c", _IMPORT, str(site)],
        env=environment | ({"MIRROR_PARALLEL_OP": variable} if variable else {}),
        cwd=site,
        capture_output=True,
        text=True,
        check=True,
    )
    took, slow_parts = done.stdout.split()
    assert slow_parts == "False", "import torch brought Dynamo, Inductor or sympy"
    return float(took)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as folder:
        without = links(Path(folder) / "without", with_package=False)
        installed = links(Path(folder) / "installed", with_package=True)
        cases = {"not installed": (without, ""), "installed": (installed, ""), "switched on": (installed, "1")}
        took: dict[str, list[float]] = {name: [] for name in cases}
        for site, variable in cases.values():
            import_ms(site, variable)  # files into the page cache
        for _ in range(rounds):
            for name, (site, variable) in cases.items():
                took[name].append(import_ms(site, variable))
    base = took["not installed"]
    for name, times in took.items():
        added = median(time - before for time, before in zip(times, base, strict=True))
        print(f"import torch, {name}: {median(times):.0f} ms (best {min(times):.0f}), {added:+.1f} ms in its round")
    added = median(time - before for time, before in zip(took["installed"], base, strict=True))
    print(f"the package adds {added:+.1f} ms while the variable is not set; target: under {TARGET_MS} ms")
    sys.exit(added >= TARGET_MS)


if __name__ == "__main__":
    main()

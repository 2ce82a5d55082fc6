"""Shows what the package adds to `import torch`: python -m tests.shows.import_time [ROUNDS]

Fresh interpreters take turns: without the package, with it, and with MIRROR_PARALLEL_OP=1. Each sees the same
site-packages, through a folder of links, so that "without" differs by the package alone. The verdict goes by the time
on the processor: on a machine with neighbours, wall-clock differs by more from run to run.
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
wall, processor = time.perf_counter(), time.process_time()
import torch
wall, processor = time.perf_counter() - wall, time.process_time() - processor
print(wall * 1e3, processor * 1e3, not {"torch._dynamo", "torch._inductor", "sympy"}.isdisjoint(sys.modules))
"""


def links(folder: Path, *, with_package: bool) -> Path:
    """A site-packages like this environment's, with or without mirror-bench."""
    folder.mkdir()
    for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
        ours = path.name.startswith(("mirror_bench-", "__editable__", "__editable___"))
        if with_package or not (ours and "mirror_bench" in path.name):
            (folder / path.name).symlink_to(path)
    return folder


def import_ms(site: Path, variable: str) -> tuple[float, float]:
    """Wall-clock and processor time of `import torch` in a fresh interpreter, in ms."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MIRROR_PARALLEL_OP")}
    done = subprocess.run(
        [sys.executable, "-S", "-c", _IMPORT, str(site)],
        env=environment | ({"MIRROR_PARALLEL_OP": variable} if variable else {}),
        cwd=site,
        capture_output=True,
        text=True,
        check=True,
    )
    wall, processor, slow_parts = done.stdout.split()
    assert slow_parts == "False", "import torch brought Dynamo, Inductor or sympy"
    return float(wall), float(processor)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as folder:
        without = links(Path(folder) / "without", with_package=False)
        installed = links(Path(folder) / "installed", with_package=True)
        cases = {"not installed": (without, ""), "installed": (installed, ""), "switched on": (installed, "1")}
        took: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
        for site, variable in cases.values():
            import_ms(site, variable)  # files into the page cache
        for _ in range(rounds):
            for name, (site, variable) in cases.items():
                took[name].append(import_ms(site, variable))
    base = took["not installed"]
    for name, times in took.items():
        wall, processor = (median(side) for side in zip(*times, strict=True))
        more_wall, more = (median(b - a for a, b in zip(*two, strict=True)) for two in zip_sides(base, times))
        print(
            f"import torch, {name}: {wall:.0f} ms, {processor:.0f} ms on the processor; "
            f"in its round {more_wall:+.1f} ms, {more:+.1f} ms on the processor"
        )
    _, (before, after) = zip_sides(base, took["installed"])
    added = median(b - a for a, b in zip(before, after, strict=True))
    print(f"the package adds {added:+.1f} ms while the variable is not set; target: under {TARGET_MS} ms")
    sys.exit(added >= TARGET_MS)


def zip_sides(
    base: list[tuple[float, float]], times: list[tuple[float, float]]
) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Wall-clock of both, then processor time of both."""
    return list(zip(zip(*base, strict=True), zip(*times, strict=True), strict=True))


if __name__ == "__main__":
    main()

"""Compiles the bindings of csrc/*/cuda for the host, where loops take the place of the launches of kernels."""

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from bench_engine.kernels.native import extension
from bench_engine.kernels.native.cuda_toolkit import Toolkit

SOURCES = Path(extension.__file__).parents[3] / "csrc"
# The CPU build of torch lacks a header that says how its CUDA libraries were linked.
_WITHOUT_MACROS = "-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE"


def library(sources: Sequence[Path], toolkit: Toolkit, folder: Path) -> Path:
    """Of these sources; it needs the built kernels, which are loaded with it."""

    def compiled(source: Path) -> str:
        target = str(folder / f"{source.stem}.o")
        command = extension.compile_command(extension.compiler(), toolkit, source, target)
        options = [_WITHOUT_MACROS, "-O1", "-Wno-unknown-pragmas"]
        subprocess.run([*command, *options], check=True)
        return target

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compiled, sources))
    kernels = extension.build()
    target = folder / "host.so"
    found = [f"-L{kernels.parent}", f"-l:{kernels.name}", f"-L{Path(torch.__file__).with_name('lib')}"]
    link = [*extension.compiler(), "-shared", *objects, *found, "-lc10", "-ltorch_cpu", "-Wl,-z,defs"]
    subprocess.run([*link, f"-Wl,-rpath,{kernels.parent}", "-o", str(target)], check=True)
    return target

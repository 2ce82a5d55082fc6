"""Compiles the bindings of csrc/*/cuda for the host, where loops take the place of the launches of kernels."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import torch

from bench_engine.kernels.native import extension
from bench_engine.kernels.native.cuda_toolkit import Toolkit

SOURCES = Path(extension.__file__).parents[3] / "csrc"
# The CPU build of torch lacks a header that says how its CUDA libraries were linked.
_WITHOUT_MACROS = "-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE"


def library(sources: Sequence[Path], toolkit: Toolkit, folder: Path) -> Path:
    """Of these sources; it needs the built kernels, which are loaded with it.

    They are one translation unit, in their order: most of the time goes into the headers of torch.
    """
    unit = folder / "unit.cpp"
    unit.write_text("".join(f'#include "{source}"\n' for source in sources))
    compiled = str(folder / "unit.o")
    command = extension.compile_command(extension.compiler(), toolkit, unit, compiled)
    subprocess.run([*command, _WITHOUT_MACROS, "-O1", "-Wno-unknown-pragmas"], check=True)
    kernels = extension.build()
    target = folder / "host.so"
    found = [f"-L{kernels.parent}", f"-l:{kernels.name}", f"-L{Path(torch.__file__).with_name('lib')}"]
    link = [*extension.compiler(), "-shared", compiled, *found, "-lc10", "-ltorch_cpu", "-Wl,-z,defs"]
    subprocess.run([*link, f"-Wl,-rpath,{kernels.parent}", "-o", str(target)], check=True)
    return target

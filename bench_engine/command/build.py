"""The command `build`: compiles the kernels ahead of their first use. Needs nothing but torch and a compiler."""

import sys

from bench_engine.kernels.native import extension


def build() -> int:
    """Returns the exit status: 0 built, 1 one sentence says why not."""
    try:
        path = extension.build()
    except extension.KernelsNotBuiltError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The kernels are built: {path.parent.name}.")
    return 0

"""What torch calls at the end of `import torch`: nothing, unless MIRROR_PARALLEL_OP is set.

It never raises, since that would break `import torch`, and loads nothing slow: with the variable set, hooks wait for
the first embedding module and for Inductor.
"""

import os
import sys


def autoload() -> None:
    """Switch Parallel OP on where MIRROR_PARALLEL_OP=1; what is wrong is one line on stderr, and it stays off."""
    said = os.environ.get("MIRROR_PARALLEL_OP")
    if not said:
        return
    try:
        from bench_engine.kernels.parallel_op.settings import SWITCH, Settings, switch

        if switch(SWITCH, said):
            from bench_engine.kernels.parallel_op.entry.switching import enable

            enable(Settings.from_environment())
    except Exception as error:
        print(f"Parallel OP is off: {_in_one_line(error)}", file=sys.stderr)


def _in_one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    # These are sentences of ours; anything else is told with its type, so that it can be reported.
    return text if type(error).__module__.startswith("bench_engine.") else f"{type(error).__name__}: {text}"

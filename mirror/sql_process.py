"""What the processes that run SQL have in common: replies as lines, an end that leaves nothing open, column names."""

import contextlib
import queue
import subprocess
from collections.abc import Iterable
from typing import IO


def read_lines(pipe: IO[bytes], lines: "queue.Queue[bytes | None]") -> None:
    """Put each line of a pipe into the queue, and None at its end. Closes the pipe."""
    with pipe:
        for line in pipe:
            lines.put(line)
    lines.put(None)


def end_process(process: "subprocess.Popen[bytes]", errors: IO[bytes]) -> None:
    """Kill the process, and close what it was asked and has complained through."""
    process.kill()
    process.wait()
    if process.stdin:
        with contextlib.suppress(OSError):
            process.stdin.close()
    errors.close()


def unique_names(names: Iterable[str]) -> list[str]:
    """`a, a` becomes `a, a_2`: a chart must be able to name a column."""
    taken: dict[str, None] = {}
    for name in names:
        number, free = 1, name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        taken[free] = None
    return list(taken)

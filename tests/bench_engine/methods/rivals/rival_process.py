"""A rival's process, asked by tests."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest


def asked_of(rival: str, own: bool, process: ProcessPoolExecutor) -> Callable[..., Any]:
    """Calls functions with the rival's name in its process.

    A binary of other people that crashes here (an instruction the processor lacks, a fault of its own) says nothing of
    this project: the test is skipped with those words. One of our own fails.
    """

    def ask(function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return process.submit(function, rival, *arguments).result()
        except BrokenProcessPool:
            if own:
                raise
            pytest.skip(f"{rival} crashes on this machine: its process was ended from outside Python")

    return ask

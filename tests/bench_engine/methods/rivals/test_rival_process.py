"""A crash in a rival's process is excused only where the rival crashes without this project too."""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import pytest
import rival_process
from rival_process import ALONE, asked_of, crashes_alone

from bench_engine.methods.rivals import RIVALS

PINNED = [m for m in RIVALS if m.packages]


@pytest.fixture
def process() -> Iterator[ProcessPoolExecutor]:
    crashes_alone.cache_clear()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        yield process
    crashes_alone.cache_clear()


def crash(_rival: str) -> None:
    os.abort()


def test_every_rival_that_needs_a_package_can_be_tried_by_itself():
    assert {m.implementation.partition(":")[2] for m in PINNED} == set(ALONE)
    assert not any("bench_engine" in code for code in ALONE.values())


@pytest.mark.parametrize(("rival", "code"), [("jax", "pass"), ("jax", "raise ValueError"), ("inductor", None)])
def test_a_crash_that_the_rival_alone_does_not_have_is_ours(monkeypatch, process, rival, code):
    monkeypatch.setitem(rival_process.ALONE, "JaxEmbeddingBag", code)
    with pytest.raises(BrokenProcessPool):
        asked_of(rival, process)(crash)


def test_a_crash_that_the_rival_has_alone_too_is_skipped(monkeypatch, process):
    monkeypatch.setitem(rival_process.ALONE, "JaxEmbeddingBag", "import os; os.abort()")
    with pytest.raises(pytest.skip.Exception, match="jax crashes on this machine without this project too"):
        asked_of("jax", process)(crash)

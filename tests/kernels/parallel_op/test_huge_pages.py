"""Huge pages under large tables: same values at the same place, and only where memory is there and large."""

import mmap
import re
from pathlib import Path

import pytest
import torch

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.grouped_embedding import GroupedEmbeddingBag

pytestmark = pytest.mark.usefixtures("grouped_ops")

HUGE = 2 << 20


def untouched(size: int) -> mmap.mmap:
    """Memory of this process alone, of which no page is there yet."""
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def collapsible() -> bool:
    """Whether this system has huge pages and collapses memory into them (Linux 6.1)."""
    switch = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not switch.exists() or "[never]" in switch.read_text():
        return False
    memory = untouched(2 * HUGE)
    memory.write(bytes(2 * HUGE))
    try:
        memory.madvise(25, 0, 2 * HUGE)
    except OSError:
        return False
    return True


def huge_kb(weights: list[torch.Tensor]) -> int:
    """Memory in huge pages among what the weights stand in, which other tests may have had before."""
    mappings = re.findall(
        r"^([0-9a-f]+)-([0-9a-f]+) .*?^AnonHugePages: +(\d+)",
        Path("/proc/self/smaps").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    places = [(w.data_ptr(), w.data_ptr() + w.nbytes) for w in weights]
    return sum(
        int(kb)
        for low, high, kb in mappings
        if any(int(low, 16) < end and start < int(high, 16) for start, end in places)
    )


needs_huge_pages = pytest.mark.skipif(not collapsible(), reason="this system collapses no memory into huge pages")


def tables() -> list[torch.Tensor]:
    """Each smaller than what is left alone, together larger."""
    return [torch.randn(100_000, 16) for _ in range(3)]


@needs_huge_pages
def test_large_tables_keep_their_values_and_their_place() -> None:
    weights = tables()
    places, copies = [w.data_ptr() for w in weights], [w.clone() for w in weights]
    taken = torch.ops.mirror.use_huge_pages(weights)
    assert taken >= 3 * HUGE
    assert huge_kb(weights) >= taken // 1024
    assert [w.data_ptr() for w in weights] == places
    assert all(torch.equal(w, copy) for w, copy in zip(weights, copies, strict=True))


@needs_huge_pages
def test_a_module_does_it_unless_told_not_to(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    inner = ops.use_huge_pages
    monkeypatch.setattr(ops, "use_huge_pages", lambda weights: taken.append(inner(weights)))
    GroupedEmbeddingBag(tables())
    monkeypatch.setenv("MIRROR_PARALLEL_OP_HUGE_PAGES", "0")
    GroupedEmbeddingBag(tables())
    assert taken[0] >= 3 * HUGE
    assert taken[1] == 0


def test_small_tables_are_left_alone() -> None:
    assert torch.ops.mirror.use_huge_pages([torch.randn(10_000, 16) for _ in range(3)]) == 0
    assert torch.ops.mirror.use_huge_pages([torch.empty(0, 16)]) == 0


def test_memory_that_was_never_touched_is_not_taken() -> None:
    table = torch.frombuffer(untouched(32 * HUGE), dtype=torch.float32).view(-1, 16)
    assert torch.ops.mirror.use_huge_pages([table]) == 0

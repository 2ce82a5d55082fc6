"""Memory that outputs share is kept from call to call: the system would have to find its pages anew."""

import ctypes
import resource

import pytest
import torch

from bench_engine.kernels.parallel_op import GroupedEmbeddingBag

pytestmark = pytest.mark.usefixtures("grouped_ops")

BATCH, TABLES, DIM, PAGE = 1024, 26, 16, 4096


def bags(output: str) -> GroupedEmbeddingBag:
    return GroupedEmbeddingBag([torch.randn(100, DIM) for _ in range(TABLES)], output=output)


def page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


@pytest.mark.parametrize("output", ["separate", "cat"])
def test_a_call_meets_no_new_pages(output):
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        pytest.skip("this system's allocator has no malloc_trim")
    op = bags(output)
    ids = [torch.randint(0, 100, (BATCH, 1)) for _ in range(TABLES)]
    with torch.no_grad():
        for _ in range(60):
            op(ids)
        trim(0)
        before = page_faults()
        op(ids)
    assert page_faults() - before < BATCH * TABLES * DIM * 4 // PAGE // 2


def test_what_is_held_is_not_given_again():
    op = bags("separate")
    ids = [torch.randint(0, 100, (BATCH, 1)) for _ in range(TABLES)]
    with torch.no_grad():
        held = op(ids)
        copies = [one.clone() for one in held]
        last = held[-1]
        for seed in range(10):
            torch.manual_seed(seed)
            op([torch.randint(0, 100, (BATCH, 1)) for _ in range(TABLES)])
        assert all(map(torch.equal, held, copies))
        del held
        for _ in range(10):
            op([torch.randint(0, 100, (BATCH, 1)) for _ in range(TABLES)])
        assert torch.equal(last, copies[-1])  # a part keeps the whole


def test_outputs_can_be_resized():
    op = bags("cat")
    with torch.no_grad():
        result = op([torch.randint(0, 100, (BATCH, 1)) for _ in range(TABLES)])
    result.resize_(2 * BATCH, TABLES * DIM).zero_()
    assert result.sum() == 0

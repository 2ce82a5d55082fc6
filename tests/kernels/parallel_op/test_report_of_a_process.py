"""What a process tells when it ends, and that it tells nothing unless asked."""

import pytest

from tests.kernels.parallel_op.processes import run

pytestmark = [pytest.mark.usefixtures("built_kernels"), pytest.mark.timeout(240)]

COMPILED = """
import torch
from tests.kernels.parallel_op.wide_and_deep import WideAndDeep, ids
call = torch.compile(WideAndDeep(), backend="parallel_op")
with torch.no_grad():
    for _ in range(20):
        call(ids(5))
"""


@pytest.mark.parametrize("asked", ["", "1", "2"])
def test_torch_compile_alone(asked, tmp_path):
    said = run(COMPILED, MIRROR_PARALLEL_OP_REPORT=asked, MIRROR_PARALLEL_OP_CACHE=str(tmp_path)).stderr
    if not asked:
        assert said == ""
        return
    assert "Parallel OP, graph 1: 12 embeddings" in said or "Parallel OP, graph 1: 6 embeddings" in said
    assert "Parallel OP, op (T=" in said
    assert ("at level" in said) == (asked == "2")
    assert len(said.splitlines()) <= 24

"""The memory of a process that trains a compact table falls with the pruning ratio, and the table counts it right."""

import pytest

from tests.shows import fiited_memory
from tests.shows.fiited_memory import Measured

ROWS = 1_000_000
# Of a table this small, what the C library and torch keep anyway is as much as the table: a step's temporaries, code
# that was never run before. It does not grow with the table.
FIXED = 4_000_000


@pytest.fixture(scope="module")
def compact() -> dict[float, Measured]:
    return {ratio: fiited_memory.measured_apart("compact", ratio, ROWS) for ratio in (0.9, 0.99)}


@pytest.mark.parametrize("ratio", [0.9, 0.99])
def test_what_is_counted_and_what_the_process_takes_are_within_the_bound(compact, ratio):
    found = compact[ratio]
    assert found.live_chunks == found.capacity == round((1 - ratio) * ROWS * fiited_memory.CHUNKS)
    assert found.live_chunks / fiited_memory.CHUNKS < found.known_rows < ROWS
    assert found.counted <= found.bound
    assert found.rss <= found.bound + FIXED
    assert found.rss >= found.counted - FIXED  # else something is not resident, or counted twice


def test_both_fall_with_the_ratio(compact):
    assert compact[0.9].counted > 5 * compact[0.99].counted
    assert compact[0.9].rss - compact[0.99].rss > 20_000_000


def test_the_bound_is_told_from_the_figures():
    found = Measured("compact", 0.9, 150, 150, 0, 0, {"weights": 100, "index": 60}, 1, 1, 3, chunk_bytes=100)
    assert (found.live, found.counted, found.bound) == (100, 160, 1.5 * 100 + 16 * 3)
    assert found.within()
    assert not Measured("compact", 0.9, 199, 150, 0, 0, {"weights": 100}, 1, 1, 3, chunk_bytes=100).within()

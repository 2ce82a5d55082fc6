"""What a table outlives: want of memory, other threads, damaged states and numbers that overflow."""

import subprocess
import sys
import threading
import time

import pytest
import torch

from bench_engine.kernels.fiited import FIITEDEmbeddingBag, FIITEDOptimizer

each_layout = pytest.mark.parametrize("layout", ["compact", "flat"])

OUT_OF_MEMORY = """
import resource, sys
import torch
from bench_engine.kernels.fiited import FIITEDEmbeddingBag, FIITEDOptimizer

torch.set_num_threads(1)
layout, megabytes, rows = sys.argv[1], int(sys.argv[2]), 500_000
module = FIITEDEmbeddingBag(rows, 64, pruning_ratio=0.5, interval=3, layout=layout)
optimizer = FIITEDOptimizer(module, "adagrad", lr=0.1)

def step():
    module(torch.randint(0, rows, (20000, 2))).sum().backward()
    optimizer.step()

step()
optimizer.zero_grad()
with open("/proc/self/status") as status:
    used = next(int(line.split()[1]) for line in status if line.startswith("VmData")) * 1024
_, most = resource.getrlimit(resource.RLIMIT_DATA)
resource.setrlimit(resource.RLIMIT_DATA, (used + megabytes * 1_000_000, most))
errors = 0
for _ in range(12):
    try:
        step()
    except (RuntimeError, MemoryError):
        errors += 1
    optimizer.zero_grad()
module.verify()
assert errors, "there was memory enough"
resource.setrlimit(resource.RLIMIT_DATA, (most, most))
for _ in range(3):
    step()
module.verify()
print("done")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory as Linux does")
@pytest.mark.parametrize("megabytes", [6, 8])
@each_layout
def test_table_goes_on_after_it_was_out_of_memory(layout, megabytes):
    command = [sys.executable, "-c", OUT_OF_MEMORY, layout, str(megabytes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "done" in done.stdout


@each_layout
def test_threads_read_while_another_trains(layout):
    rows = 50_000
    module = FIITEDEmbeddingBag(rows, 32, pruning_ratio=0.9, interval=5, layout=layout)
    optimizer = FIITEDOptimizer(module, "adagrad", lr=0.1)
    stop = threading.Event()
    lookups, failures = [0, 0], []

    def serve(reader):
        try:
            while not stop.is_set():
                with torch.no_grad():
                    out = module(torch.randint(0, rows, (2000, 5)))
                assert torch.isfinite(out).all()
                module.statistics()
                lookups[reader] += 1
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=serve, args=(reader,)) for reader in range(2)]
    for reader in readers:
        reader.start()
    steps, end = 0, time.monotonic() + 2
    while time.monotonic() < end:
        module(torch.randint(0, rows, (2000, 5))).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
    stop.set()
    for reader in readers:
        reader.join()
    assert not failures
    assert min(steps, *lookups) > 5, "someone had to wait for ever"
    module.verify()


def storage(layout="compact", ends=(10,), chunks=2, capacity=8, ttl=2):
    FIITEDEmbeddingBag(4, 4, pruning_ratio=0.5, layout=layout)
    return torch.classes.mirror.FiitedStorage(
        layout, list(ends), 4, chunks, capacity, "global", ttl, 0, torch.device("cpu")
    )


def state(slots=4, utility=1.0, age=1):
    return [
        torch.tensor([1, 3]),
        torch.tensor([1, 3], dtype=torch.int32),
        torch.tensor([[1.0, 0.0], [2.0, utility]]).bfloat16(),
        torch.tensor([0, age]),
        torch.ones(3, 2),
        torch.ones(3, slots),
        torch.zeros(0, dtype=torch.uint8),
        torch.zeros(1, dtype=torch.long),
    ]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"slots": 2}, "2 optimizer slots for each chunk, and this table 4"),
        ({"slots": 0}, "0 optimizer slots for each chunk, and this table 4"),
        ({"utility": -1.0}, "utility of row 3 .* negative or not finite"),
        ({"utility": float("nan")}, "utility of row 3 .* negative or not finite"),
        ({"utility": float("inf")}, "utility of row 3 .* negative or not finite"),
        ({"age": -1}, "age of row 3 .* is -1"),
        ({"age": 65536}, "age of row 3 .* is 65536"),
        ({"age": 2**32}, "age of row 3 .* is 4294967296"),
    ],
)
@each_layout
def test_state_that_is_damaged_is_refused(layout, changes, says):
    table = storage(layout)
    table.set_slots("adam", 0.0)
    table.load_state(state())
    before = table.state()
    with pytest.raises(ValueError, match=says):
        table.load_state(state(**changes))
    table.verify()
    for kept, part in zip(table.state(), before, strict=True):
        assert torch.equal(kept, part)


@pytest.mark.parametrize("index", [2**63 - 1, 2**63 - 5, -(2**63), -1])
@each_layout
def test_ids_far_out_of_range_are_refused_in_every_table(layout, index):
    table = storage(layout, ends=(10, 20))
    inputs = [torch.tensor([[1]]), torch.tensor([[index]])]
    with pytest.raises(IndexError, match=f"index {index} at position 0 of table 1 is out of range"):
        table.bags(inputs, [], None, False)


@each_layout
def test_more_rows_than_can_be_counted_are_refused(layout):
    for rows in (2**62, 2**63 - 1):
        with pytest.raises(ValueError, match="weights in all rows"):
            storage(layout, ends=(rows,))
    with pytest.raises(ValueError, match=f"the {layout} layout takes fewer"):
        storage(layout, ends=(2**33,))
    with pytest.raises(ValueError, match="cannot have 100 live chunks"):
        storage(layout, capacity=100)


@each_layout
def test_module_of_too_many_rows_is_refused(layout):
    with pytest.raises(ValueError, match=str(2**62)):
        FIITEDEmbeddingBag(2**62, 4, num_chunks=1, pruning_ratio=0.999, layout=layout)

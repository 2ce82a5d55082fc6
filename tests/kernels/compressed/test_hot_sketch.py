"""HotSketch against the same in plain Python, one id after another."""

import random

import pytest
import torch

from bench_engine.kernels.compressed.hot_sketch import BUCKET_BYTES, HotSketch


class Oracle:
    """Slots are [id, score, row counted from 1]."""

    def __init__(self, buckets, threshold, decay):
        self.threshold, self.decay, self.received = threshold, decay, 0.0
        self.buckets = [[[-1, 0.0, 0] for _ in range(4)] for _ in range(buckets)]

    def slots(self):
        return [slot for bucket in self.buckets for slot in bucket]

    def insert(self, scores):
        if self.received > 10 * len(self.buckets) * self.threshold:
            for slot in self.slots():
                slot[1] *= self.decay
                if slot[1] < self.threshold:
                    slot[2] = 0
            self.received = 0.0
        self.received += sum(scores.values())
        hit, new = [], []
        for i, score in sorted(scores.items()):
            known = [slot for slot in self.buckets[i % len(self.buckets)] if slot[0] == i]
            if known:
                known[0][1] += score
                hit.append(known[0])
            else:
                new.append((i, score))
        for i, score in new:
            least = min(self.buckets[i % len(self.buckets)], key=lambda slot: slot[1])
            if least[2] == 0:
                least[0], least[1] = i, least[1] + score
        free = sorted(set(range(1, len(self.buckets) + 1)) - {slot[2] for slot in self.slots()})
        for slot in sorted(hit, key=lambda slot: -slot[1]):
            if slot[1] >= self.threshold and slot[2] == 0 and free:
                slot[2] = free.pop(0)


@pytest.mark.parametrize(("buckets", "steps"), [(1, 40), (3, 60), (20, 200)])
def test_it_does_what_the_oracle_does(buckets, steps):
    draw = random.Random(buckets)
    sketch, oracle = HotSketch(buckets, 6.0, 0.5), Oracle(buckets, 6.0, 0.5)
    lost, found = set(), set()
    for _ in range(steps):
        # Quarters, so that sums are exact in float32; ids of a law with a long tail.
        scores = {int(draw.paretovariate(0.6)) % 97: draw.randint(1, 12) / 4 for _ in range(draw.randint(1, 30))}
        before = {slot[0] for slot in oracle.slots() if slot[2]}
        ids = sorted(scores)
        promoted, rows = sketch.insert(torch.tensor(ids), torch.tensor([scores[i] for i in ids]))
        oracle.insert(scores)
        slots = oracle.slots()
        assert sketch.ids.view(-1).tolist() == [slot[0] for slot in slots]
        assert sketch.scores.view(-1).tolist() == pytest.approx([slot[1] for slot in slots], rel=1e-6)
        assert sketch.rows.view(-1).tolist() == [slot[2] for slot in slots]
        after = {slot[0]: slot[2] for slot in slots if slot[2]}
        assert all(after[i] == row + 1 for i, row in zip(promoted.tolist(), rows.tolist(), strict=True))
        lost, found = lost | (before - set(after)), found | set(promoted.tolist())
        held = [row for row in sketch.rows.view(-1).tolist() if row]
        assert len(held) == len(set(held)) <= buckets
    assert lost
    assert found


def test_it_finds_what_it_holds_and_nothing_of_others():
    sketch = HotSketch(2, 2.0, 0.9)
    sketch.insert(torch.tensor([0, 1, 2]), torch.tensor([5.0, 1.0, 0.5]))
    promoted, rows = sketch.insert(torch.tensor([0, 2]), torch.tensor([1.0, 1.0]))
    assert (promoted.tolist(), rows.tolist()) == ([0], [0])  # 2 has no more than 1.5
    rows, scores = sketch.find(torch.tensor([0, 1, 2, 4, 0]))
    assert rows.tolist() == [1, 0, 0, 0, 1]
    assert scores.tolist() == [6.0, 1.0, 1.5, 0.0, 6.0]


def test_its_bytes_are_those_of_the_paper_and_no_change_of_type_touches_them():
    sketch = HotSketch(5, 2.0, 0.9)
    sketch.insert(torch.tensor([7]), torch.tensor([1 / 3]))
    before = [buffer.clone() for buffer in sketch.buffers()]
    assert sum(buffer.nbytes for buffer in before) == 5 * BUCKET_BYTES + 8 == 5 * 48 + 8
    assert all(map(torch.equal, sketch.half().double().buffers(), before))

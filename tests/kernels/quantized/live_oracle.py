"""The rules of QuantizedFIITEDEmbeddingBag in plain Python: which chunks live, and their utilities."""

import numpy as np

PLACES, COUNTERS = 14, 32
_MASK = (1 << 64) - 1


def scramble(number, seed):
    """splitmix64."""
    x = (number + seed * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def as_bfloat16(value, draw=None):
    """Bits of the nearest bfloat16, or with 16 random bits of the one above or below."""
    bits = int(np.float32(value).view(np.uint32))
    bits += (0x7FFF + (bits >> 16 & 1)) if draw is None else draw
    return min(bits >> 16, 0x7F7F)


def value_of(bits):
    """The number that a bfloat16 is."""
    return np.uint32(bits << 16).view(np.float32)


class LiveOracle:
    """Buckets of chunks as lists of [chunk, utility bits]; None where a place is free."""

    def __init__(self, buckets, admission, margin):
        self.count, self.admission, self.margin = buckets, admission, np.float32(margin)
        self.places = [[None] * PLACES for _ in range(buckets)]
        self.counters = [[0] * COUNTERS for _ in range(buckets)]
        self.seen = [0] * buckets

    def bucket_of(self, chunk):
        """Where a chunk may live."""
        high, low = divmod(chunk, self.count)
        return (low + (scramble(high, 0) * self.count >> 64)) % self.count

    def step(self, chunks, number, scale=1.0):
        """`chunks` are (chunk, times, length of its gradient) in the order of their first lookup."""
        others = []
        for chunk, times, length in chunks:
            bucket = self.bucket_of(chunk)
            mine = next((place for place in self.places[bucket] if place and place[0] == chunk), None)
            if mine:
                gained = value_of(mine[1]) + np.float32(length) / np.float32(scale)
                mine[1] = as_bfloat16(gained, scramble(chunk, number) >> 48)
                continue
            seen = self._counted(bucket, chunk, times)
            if seen >= self.admission:
                each = np.float32(length) / np.float32(times)
                others.append((bucket, chunk, each * np.float32(seen) / np.float32(scale)))
        for bucket, chunk, utility in others:
            places = self.places[bucket]
            free = next((e for e, place in enumerate(places) if place is None), None)
            at = min(range(PLACES), key=lambda e: places[e][1]) if free is None else free
            if free is not None or utility > self.margin * value_of(places[at][1]):
                places[at] = [chunk, as_bfloat16(utility)]

    def _counted(self, bucket, chunk, times):
        digest = scramble(chunk, 1)
        first = digest % COUNTERS
        second = (first + 1 + (digest >> 32) % (COUNTERS - 1)) % COUNTERS
        counters = self.counters[bucket]
        now = min(min(counters[first], counters[second]) + times, 255)
        for at in (first, second):
            counters[at] = max(counters[at], now)
        self.seen[bucket] += min(times, 255)
        if self.seen[bucket] >= COUNTERS * max(self.admission, 16) // 2:
            self.counters[bucket] = [c // 2 for c in counters]
            self.seen[bucket] = 0
        return now

    def live(self):
        """Chunks that live, rising, with the bits of their utilities."""
        return sorted(tuple(place) for places in self.places for place in places if place)

"""What FIITED must compute, slowly and plainly: one dict entry per live chunk, one loop per rule.

Arithmetic is float32 with one rounding per operation, in the order of torch's optimizers, unless a comment says more.
torch's square root rounds some values the wrong way where it is MKL's; the fixture `exact_roots` gives it a right one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bag = Sequence[int]

LARGEST = float(torch.finfo(torch.bfloat16).max)
WARM_START = (3, 30, 300)


def fma(a: Floats | np.float32, b: Floats | np.float32, c: Floats) -> Floats:
    """a * b + c of float32 values with one rounding.

    The product is exact in float64. The sum is rounded to odd there, after which a second rounding to half the digits
    cannot go wrong (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        product = np.asarray(a, np.float64) * np.asarray(b, np.float64)
        addend = np.asarray(c, np.float64)
        total = np.asarray(product + addend)
        back = total - product
        lost = (product - (total - back)) + (addend - back)
        even = (total.view(np.int64) & 1) == 0
        odd = np.nextafter(total, np.where(lost > 0, np.inf, -np.inf))
        return np.where((lost != 0) & even & np.isfinite(total), odd, total).astype(np.float32)


def _torch_fuses() -> tuple[bool, bool]:
    """Whether torch rounds once in `add_(alpha=)` and in `addcmul_` on this machine."""
    x = torch.full((64,), 1 + 2**-12)
    added = torch.full((64,), -1.0).add_(x, alpha=1 + 2**-12)
    multiplied = torch.full((64,), -1.0).addcmul_(x, x)
    return bool((added != 2**-11).all()), bool((multiplied != 2**-11).all())


ADD_FUSES, ADDCMUL_FUSES = _torch_fuses()


def bfloat16(value: np.float32) -> np.float32:
    """The nearest bfloat16, of two the even one, at most the largest."""
    return np.float32(torch.tensor(min(float(value), LARGEST), dtype=torch.bfloat16).item())


def drawn_bfloat16(value: np.float32, chunk: int, step: int) -> np.float32:
    """The bfloat16 above or below by splitmix64 of the chunk with the step as its seed, at most the largest."""
    wrap = 2**64 - 1
    x = (chunk + step * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15) & wrap
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & wrap
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & wrap
    draw = (x ^ (x >> 31)) >> 48
    bits = (int(np.float32(value).view(np.uint32)) + draw) & ~0xFFFF
    return np.float32(min(float(np.uint32(bits).view(np.float32)), LARGEST))


def square_added(total: Floats, value: Floats) -> Floats:
    """total + value * value, rounded as `total.addcmul_(value, value)` is."""
    return fma(value, value, total) if ADDCMUL_FUSES else total + value * value


@dataclass(frozen=True)
class Optimizer:
    method: str
    lr: float
    eps: float = 1e-8
    betas: tuple[float, float] = (0.9, 0.999)
    initial_accumulator_value: float = 0.0

    def fresh(self, size: int) -> list[Floats]:
        """The slots of a chunk without a past."""
        if self.method == "sgd":
            return []
        if self.method == "adagrad":
            return [np.full(size, self.initial_accumulator_value, np.float32)]
        if self.method == "rowwise_adagrad":
            return [np.full(1, self.initial_accumulator_value, np.float32)]
        return [np.zeros(size, np.float32), np.zeros(size, np.float32)]

    def update(self, chunk: "Chunk", g: Floats, step: int) -> None:
        """One step, the `step`-th of the module, on one chunk."""
        lr, eps = np.float32(self.lr), np.float32(self.eps)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.method == "sgd":
                chunk.weights = fma(g, -lr, chunk.weights)
            elif self.method == "adagrad":
                chunk.slots[0] = square_added(chunk.slots[0], g)
                chunk.weights = chunk.weights + (-lr * g) / (np.sqrt(chunk.slots[0]) + eps)
            elif self.method == "rowwise_adagrad":
                mean = np.float32(sum(float(x) * float(x) for x in g) / len(g))
                chunk.slots[0] = chunk.slots[0] + mean
                chunk.weights = chunk.weights - (lr * g) / (np.sqrt(chunk.slots[0]) + eps)
            else:
                self._adam(chunk, g, step)

    def _adam(self, chunk: "Chunk", g: Floats, step: int) -> None:
        beta1, beta2 = self.betas
        first, second = chunk.slots
        first = first + (g - first) * np.float32(1 - beta1)
        second = second + (g * g - second) * np.float32(1 - beta2)
        size = self.lr * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        chunk.weights = chunk.weights + np.float32(-size) * (first / (np.sqrt(second) + np.float32(self.eps)))
        chunk.slots = [first, second]


@dataclass
class Chunk:
    """What a live chunk owns: (D/k,) weights and the slots of its optimizer."""

    weights: Floats
    slots: list[Floats]


@dataclass(frozen=True)
class Event:
    """A prune event: the virtual chunks that went and came, in rising order."""

    moved: int
    skipped: bool
    evicted: list[int]
    restored: list[int]


@dataclass
class Oracle:
    """FIITED over one or many tables; row r of the module is row r - base of its table. Chunk q is row * k + j."""

    tables: Sequence[int]
    dim: int
    num_chunks: int
    pruning_ratio: float
    optimizer: Optimizer
    interval: int = 1000
    decay: float = 0.9
    scope: str = "global"
    score: str = "gradient"
    mode: str = "sum"
    min_turnover: float = 0.05
    candidate_share: float = 1.0
    ttl: int = 0
    live: dict[int, Chunk] = field(default_factory=dict)
    utility: dict[int, np.float32] = field(default_factory=dict)  # as stored: times `scale` they are the values
    scale: float = 1.0
    age: dict[int, int] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    recorded: list[tuple[int, Floats]] = field(default_factory=list)
    step_count: int = 0
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows = sum(self.tables)
        self.size = self.dim // self.num_chunks
        self.bases = [sum(self.tables[:t]) for t in range(len(self.tables))]
        self.budgets = self._budgets()
        if min(self.budgets) == 0:
            raise ValueError("nothing left")

    def _budgets(self) -> list[int]:
        kept, k = 1 - self.pruning_ratio, self.num_chunks
        if self.scope == "table":
            shares = [kept * rows * k for rows in self.tables]
        elif self.scope == "column":
            shares = [kept * self.rows] * k
        else:
            shares = [kept * self.rows * k]
        return [math.floor(share + 0.5) for share in shares]

    @property
    def budget(self) -> int:
        """Chunks there may be in all."""
        return sum(self.budgets)

    def group(self, q: int) -> int:
        if self.scope == "table":
            row = q // self.num_chunks
            return max(t for t, base in enumerate(self.bases) if base <= row)
        return q % self.num_chunks if self.scope == "column" else 0

    def first_rows(self) -> list[int]:
        """The rows that are live at the start, all their chunks."""
        if self.scope == "table":
            parts = zip(self.bases, self.tables, [b // self.num_chunks for b in self.budgets], strict=True)
        else:
            parts = zip([0], [self.rows], [self.budget // self.num_chunks], strict=True)
        return [base + i * rows // n for base, rows, n in parts for i in range(n)]

    def start(self, weights: Floats) -> None:
        """The module as it begins, with (n, D) weights for the first rows."""
        for row, vector in zip(self.first_rows(), weights, strict=True):
            for j in range(self.num_chunks):
                part = np.array(vector[j * self.size : (j + 1) * self.size], np.float32)
                self.live[row * self.num_chunks + j] = Chunk(part, self.optimizer.fresh(self.size))

    # Reading

    def vector(self, row: int) -> Floats:
        missing = np.zeros(self.size, np.float32)
        chunks = [self.live.get(row * self.num_chunks + j) for j in range(self.num_chunks)]
        return np.concatenate([missing if chunk is None else chunk.weights for chunk in chunks])

    def materialize(self) -> Floats:
        return np.stack([self.vector(row) for row in range(self.rows)])

    def live_mask(self) -> NDArray[np.bool_]:
        flat = [q in self.live for q in range(self.rows * self.num_chunks)]
        return np.array(flat).reshape(self.rows, self.num_chunks)

    def utilities(self) -> Floats:
        flat = [self.utility.get(q, np.float32(0)) * np.float32(self.scale) for q in range(self.rows * self.num_chunks)]
        return np.array(flat, np.float32).reshape(self.rows, self.num_chunks)

    def forward(self, bags: Sequence[Bag], table: int = 0) -> Floats:
        """(B, D), each bag summed in the order of its ids."""
        output = np.zeros((len(bags), self.dim), np.float32)
        for b, bag in enumerate(bags):
            for i in bag:
                output[b] = output[b] + self.vector(self.bases[table] + i)
            if self.mode == "mean" and bag:
                output[b] = output[b] / np.float32(len(bag))
        return output

    # Training

    def backward(self, bags: Sequence[Bag], gradient: Floats, table: int = 0) -> None:
        """Records the lookups of a forward call and the (B, D) gradient of its output."""
        for bag, g in zip(bags, gradient, strict=True):
            share = g * np.float32(1 / len(bag)) if self.mode == "mean" and bag else g
            self.recorded += [(self.bases[table] + i, share) for i in bag]

    def zero_grad(self) -> None:
        self.recorded = []

    def step(self) -> None:
        if not all(np.isfinite(g).all() for _, g in self.recorded):
            raise FloatingPointError("a gradient is not finite")
        step = self.step_count + 1
        count: dict[int, int] = {}
        gradient: dict[int, Floats] = {}
        for row, g in self.recorded:
            count[row] = count.get(row, 0) + 1
            with np.errstate(over="ignore"):
                gradient[row] = gradient.get(row, np.zeros(self.dim, np.float32)) + g
        for row, total in gradient.items():
            self.seen.add(row)
            for j in range(self.num_chunks):
                q, g = row * self.num_chunks + j, total[j * self.size : (j + 1) * self.size]
                self._score(q, count[row], g, step)
                if q in self.live:
                    self.optimizer.update(self.live[q], g, step)
        self.step_count = step
        if self.pruning_ratio > 0 and (step in WARM_START or step % self.interval == 0):
            self.prune()

    def _score(self, q: int, count: int, g: Floats, step: int) -> None:
        with np.errstate(over="ignore"):
            norm = np.float32(math.sqrt(sum(float(x) * float(x) for x in g)))
            score = {
                "frequency*gradient": np.float32(count) * norm,
                "gradient": norm,
                "frequency": np.float32(count),
            }[self.score]
            value = self.utility.get(q, np.float32(0)) + score / np.float32(self.scale)
            self.utility[q] = drawn_bfloat16(value, q, step)

    # Pruning

    def decay_utilities(self) -> None:
        if not self.decay:
            self.utility = dict.fromkeys(self.utility, np.float32(0))
            return
        self.scale *= self.decay
        if self.scale < 2**-32:
            self.utility = {q: bfloat16(u * np.float32(2**-32)) for q, u in self.utility.items()}
            self.scale *= 2**32

    def prune(self) -> Event:
        self.decay_utilities()
        expired = self._expire()
        candidates = [q for q in range(self.rows * self.num_chunks) if q in self.live or self.utility.get(q, 0) > 0]
        keep: set[int] = set()
        for group, budget in enumerate(self.budgets):
            members = [q for q in candidates if self.group(q) == group]
            keep.update(sorted(members, key=lambda q: (-self.utility.get(q, np.float32(0)), q))[:budget])
        evicted, restored = set(self.live) - keep, keep - set(self.live)
        moved = len(expired)
        for group in range(len(self.budgets)):
            moved += max(sum(self.group(q) == group for q in side) for side in (evicted, restored))
        skipped = moved < self.min_turnover * self.budget
        if skipped:
            evicted, restored = set(), set()
        for q in evicted:
            del self.live[q]
        for q in restored:
            self.live[q] = Chunk(np.zeros(self.size, np.float32), self.optimizer.fresh(self.size))
        self._forget()
        event = Event(moved, skipped, sorted(evicted | set(expired)), sorted(restored))
        self.events.append(event)
        return event

    def _expire(self) -> list[int]:
        """Drops the rows that were not looked up for `ttl` events; the live chunks among theirs."""
        if self.ttl == 0:
            return []
        for row in range(self.rows):
            self.age[row] = 0 if row in self.seen else self.age.get(row, 0) + 1
        self.seen = set()
        old = [row for row in range(self.rows) if self.age[row] >= self.ttl]
        gone = [row * self.num_chunks + j for row in old for j in range(self.num_chunks)]
        for q in gone:
            self.utility.pop(q, None)
        return [q for q in gone if self.live.pop(q, None) is not None]

    def _forget(self) -> None:
        """Utilities are kept for rows with a live chunk and for the best of the others."""
        best: dict[int, np.float32] = {}
        for q, utility in self.utility.items():
            row = q // self.num_chunks
            if utility > 0 and not any(row * self.num_chunks + j in self.live for j in range(self.num_chunks)):
                best[row] = max(best.get(row, np.float32(0)), utility)
        kept = math.floor(self.candidate_share * self.budget / self.num_chunks)
        for row in sorted(best, key=lambda row: (-best[row], row))[kept:]:
            for j in range(self.num_chunks):
                self.utility.pop(row * self.num_chunks + j, None)

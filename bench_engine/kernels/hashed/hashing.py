"""The hashes of the hashed embedding in plain PyTorch: oracle of the compiled kernels, as in csrc/hashed/hash.h."""

from dataclasses import dataclass

import torch
from torch import Tensor

HASHES = ("reference", "mix64")
ROW_FACTOR = 9824516537
DIM_FACTOR = 57857966300227
OFFSET = 104729
PRIME = 117130198221199
GOLDEN_RATIO = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_LOW = 0xFFFFFFFF


def reference_hash(rows: Tensor, blocks: Tensor) -> Tensor:
    """h(row, b) = (row * 9824516537 + b * 57857966300227 + 104729) mod 2^64 mod 117130198221199, int64.

    Exact for rows and blocks in [0, 2^63), which broadcast. int64 arithmetic wraps to the bits of the uint64 result;
    where these read as negative, 2^64 is missing and its remainder is added back.
    """
    bits = rows.long() * ROW_FACTOR + blocks.long() * DIM_FACTOR + OFFSET
    remainder = torch.remainder(bits, PRIME)
    return torch.where(bits < 0, (remainder + 2**64 % PRIME) % PRIME, remainder)


def mix64(x: Tensor) -> Tensor:
    """The finalizer of splitmix64 (Steele et al. 2014), on the bits of int64."""
    x = (x ^ _shifted(x, 30)) * signed(_MIX[0])
    x = (x ^ _shifted(x, 27)) * signed(_MIX[1])
    return x ^ _shifted(x, 31)


def mixed_hash(rows: Tensor, blocks: Tensor, seed: int) -> Tensor:
    """h(row, b) = mix64(mix64(row + seed) + b * 0x9E3779B97F4A7C15) modulo 2^64, as the bits of int64."""
    return mix64(mix64(rows.long() + seed) + blocks.long() * signed(GOLDEN_RATIO))


def table_seed(seed: int, table: int) -> int:
    """The seed of one of several tables, a signed 64-bit number: tables hash alike only where seed and number agree."""
    return signed(_mix(_mix(table + GOLDEN_RATIO) + seed))


def signed(bits: int) -> int:
    """A 64-bit number as int64 reads it."""
    bits &= 2**64 - 1
    return bits - 2**64 if bits >= 2**63 else bits


@dataclass(frozen=True)
class HashedLayout:
    """Which slot of a buffer holds which element of a virtual table.

    With `block` Z, element (row, d) lies d mod Z slots behind the start of block d // Z of its row, and slot 0 follows
    the last one: ROBE (Desai et al. 2022) with Z > 1, an own hash for each element with 1.

    Attributes:
        hash: reference: a block starts at h mod m; mix64: at floor(h * m / 2^64).
        seed: of mix64, see `table_seed`.
        signs: whether elements with an odd h are negated (mix64 only), as the second hash of Chen et al. 2015.
        block: Z.
        dim: D.
        num_slots: m.
    """

    hash: str
    seed: int
    signs: bool
    block: int
    dim: int
    num_slots: int

    def slots(self, rows: Tensor) -> Tensor:
        """Slots (N, D) int64 of the elements of rows (N,)."""
        dims = torch.arange(self.dim, device=rows.device)
        hashes = self._hashes(rows, torch.div(dims, self.block, rounding_mode="floor"))
        starts = hashes % self.num_slots if self.hash == "reference" else below(hashes, self.num_slots)
        return (starts + dims % self.block) % self.num_slots

    def factors(self, rows: Tensor, dtype: torch.dtype) -> Tensor | None:
        """Signs (N, D) of the elements of rows (N,), +1 or -1; None where there are none."""
        if not self.signs:
            return None
        dims = torch.arange(self.dim, device=rows.device)
        hashes = self._hashes(rows, torch.div(dims, self.block, rounding_mode="floor"))
        return (1 - 2 * (hashes & 1)).to(dtype)

    def _hashes(self, rows: Tensor, blocks: Tensor) -> Tensor:
        if self.hash == "reference":
            return reference_hash(rows.unsqueeze(1), blocks)
        return mixed_hash(rows.unsqueeze(1), blocks, self.seed)


def _shifted(x: Tensor, by: int) -> Tensor:
    """A logical shift to the right: int64's own keeps the sign."""
    return (x >> by) & (2 ** (64 - by) - 1)


def below(x: Tensor, factor: int) -> Tensor:
    """The upper 64 bits of the product of unsigned x and 0 <= factor < 2^61, from products of halves."""
    high, low = _shifted(x, 32), x & _LOW
    factor_high, factor_low = factor >> 32, factor & _LOW
    inner, outer = low * factor_high, high * factor_low
    middle = _shifted(low * factor_low, 32) + (inner & _LOW) + (outer & _LOW)
    return high * factor_high + _shifted(inner, 32) + _shifted(outer, 32) + _shifted(middle, 32)


def _mix(x: int) -> int:
    x &= 2**64 - 1
    x = (x ^ (x >> 30)) * _MIX[0] & (2**64 - 1)
    x = (x ^ (x >> 27)) * _MIX[1] & (2**64 - 1)
    return x ^ (x >> 31)

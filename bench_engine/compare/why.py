"""Why a method takes longer than another: bytes, bandwidths and counts that both trials have stored, in a sentence.

Nothing is guessed: what a trial does not tell is not said. Of several pairs of trials each number is a geometric mean.
Time is bytes over bandwidth, so that the ratio of the bytes over that of the bandwidths is the ratio of the times;
where two methods read rows of other sizes, whose bandwidths differ, these are told in GB/s.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
COLUMNS = ("latency_us", "environment", "bytes_moved", "bandwidth_share")  # what a row must have
# What the processor counts -> how it is called; less often than LEAST in a call it says nothing.
_COUNTED = {
    "instructions": "the instructions",
    "cache_misses": "the cache misses",
    "tlb_misses": "the TLB misses",
    "branch_misses": "the mispredicted branches",
    "page_faults": "the page faults",
}
_GATHER = "gather_gb_s"
ROOFS = ("copy_gb_s", _GATHER, "peak_gflops")  # of the machine
LEAST = 1.0
NEAR = 1.1  # ratios nearer to 1 are the same


@dataclass(frozen=True)
class Cost:
    """What a trial tells of its calls.

    Attributes:
        bytes: that a call touches, or moves where its method declares no more.
        share: of the roof's bandwidth.
        roof: what that is the bandwidth of: gather, or copy.
        flops: of a call; 0 where they are not declared.
        counts: event of the processor -> number per call.
        energy_j: per call; None where it is not known.
        roofs: those of ROOFS that are known.
    """

    latency_us: float
    bytes: float
    share: float
    roof: str
    flops: float
    counts: Mapping[str, float]
    energy_j: float | None
    roofs: Mapping[str, float]

    @property
    def touches(self) -> bool:
        """Whether its bytes are its method's own."""
        return self.roof == "gather"


def cost(row: Row) -> Cost:
    """Of a trial; 0 and empty stand for what it does not tell. `row` has COLUMNS."""
    told = environment(row)
    roofs = {name: value for name in ROOFS if (value := _positive(told.get(name)))}
    latency_us, touched = _positive(row["latency_us"]), _positive(told.get("touched_bytes"))
    moved, share, roof = touched, 0.0, "gather"
    if touched and latency_us and _GATHER in roofs:
        share = touched / latency_us / 1e3 / roofs[_GATHER]
    elif not touched:
        moved, share, roof = _positive(row["bytes_moved"]), _positive(row["bandwidth_share"]), "copy"
    given = told.get("counts")
    counts = {name: _positive(given.get(name)) for name in (*_COUNTED, "cycles")} if isinstance(given, dict) else {}
    energy_j = _positive(told.get("energy_j")) or None
    return Cost(latency_us, moved, share, roof, _positive(told.get("flops")), counts, energy_j, roofs)


def environment(row: Row) -> dict[str, Any]:
    """What is stored beside a trial's metrics; empty where that cannot be read."""
    try:
        found = json.loads(row["environment"] or "{}")
    except (ValueError, TypeError, RecursionError):  # what is in a journal may be anything
        return {}
    return found if isinstance(found, dict) else {}


def why(pairs: Sequence[tuple[Row, Row]], a: str, b: str) -> str:
    """A sentence or two on what B does otherwise than A, for pairs of their trials (of A, of B) on one machine; empty
    where their trials tell too little."""
    costs = [(cost(of_a), cost(of_b)) for of_a, of_b in pairs]
    told = [part for part in (_moving(costs, a, b), _counting(costs, a, b)) if part]
    return " ".join(told)


def _moving(costs: Sequence[tuple[Cost, Cost]], a: str, b: str) -> str:
    known = [(x, y) for x, y in costs if x.roof == y.roof and min(x.bytes, y.bytes, x.share, y.share) > 0]
    if any(x.touches for x, _ in known):
        known = [pair for pair in known if pair[0].touches]
    if not known:
        ratios = [y.bytes / x.bytes for x, y in costs if x.touches and y.touches and x.bytes and y.bytes]
        return f"{b} touches {_times(ratios, 'the bytes')} of {a}." if ratios and _differ(_mean(ratios)) else ""
    ratios = [y.bytes / x.bytes for x, y in known]
    bytes_text = _times(ratios, "the bytes") if any(_differ(r) for r in ratios) else "the same bytes"
    share_a, share_b = (_mean([pair[side].share for pair in known]) for side in (0, 1))
    all_touch = all(x.touches for x, _ in known)
    roof = "the bandwidth of random rows" if all_touch else "a copy's bandwidth"
    above = " (above 1: from caches)" if all_touch and max(share_a, share_b) > 1 else ""
    verb = "touches" if all_touch else "moves"
    said_a, said_b = f"{_plain(share_a)}x", f"{_plain(share_b)}x {roof}"
    if all_touch and _differ(_mean([y.roofs[_GATHER] / x.roofs[_GATHER] for x, y in known])):
        # Rows of another size come at another bandwidth: shares of the two would not compare.
        rate_a, rate_b = (_mean([pair[side].share * pair[side].roofs[_GATHER] for pair in known]) for side in (0, 1))
        said_a, said_b = f"{_plain(rate_a)} GB/s, {said_a}", f"{_plain(rate_b)} GB/s, {said_b} of its size"
    return f"{b} {verb} {bytes_text} at {said_b}; {a}: {said_a}{above}."


def _counting(costs: Sequence[tuple[Cost, Cost]], a: str, b: str) -> str:
    told = []
    for event, name in _COUNTED.items():
        both = [(x.counts.get(event, 0.0), y.counts.get(event, 0.0)) for x, y in costs]
        ratios = [y / x for x, y in both if min(x, y) > 0 and max(x, y) >= LEAST]
        if ratios and _differ(_mean(ratios)):
            told.append(_times(ratios, name))
    energies = [y.energy_j / x.energy_j for x, y in costs if x.energy_j and y.energy_j]
    if energies and _differ(_mean(energies)):
        told.append(_times(energies, "the energy"))
    told = [f"{b} takes {_listed(told)}."] if told else []
    if rates := list(_rates(costs)):
        of_a, of_b = (_mean([pair[side] for pair in rates]) for side in (0, 1))
        told.append(f"Instructions a cycle: {_plain(of_b)}; {a}: {_plain(of_a)}.")
    return " ".join(told)


def _rates(costs: Sequence[tuple[Cost, Cost]]) -> Iterator[tuple[float, float]]:
    """Instructions per cycle."""
    for pair in costs:
        x, y = ((c.counts.get("instructions", 0.0), c.counts.get("cycles", 0.0)) for c in pair)
        if min(*x, *y) > 0:
            yield x[0] / x[1], y[0] / y[1]


def _times(ratios: Sequence[float], what: str) -> str:
    """`1.9x the bytes`, over several pairs `1.9x the bytes (1.2x to 3.0x)`."""
    spread = f" ({_plain(min(ratios))}x to {_plain(max(ratios))}x)" if _differ(max(ratios) / min(ratios)) else ""
    return f"{_plain(_mean(ratios))}x {what}{spread}"


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _differ(ratio: float) -> bool:
    return not 1 / NEAR < ratio < NEAR


def _plain(value: float) -> str:
    return f"{value:.0f}" if value >= 99.5 else f"{value:.2g}"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _positive(value: object) -> float:
    """A number above 0; 0.0 for whatever else a journal holds."""
    try:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
    except OverflowError:  # a whole number of hundreds of digits
        return 0.0
    return number if 0 < number < math.inf else 0.0

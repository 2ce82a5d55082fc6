"""Colours and symbols of values: safe for colour-blind people, and a method keeps its own in every chart."""

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mirror.table.values import Value

# Okabe and Ito (2008); their yellow is darkened, since it fades on white.
_COLORS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B5A300")
# Eight steps of plasma (Smith and van der Walt, 2015) without its lightest: dark is low, also without colours.
_RAMP = ("#0D0887", "#4C02A1", "#7E03A8", "#AA2395", "#CC4778", "#E66C5C", "#F89540", "#FDC527")
_FEWEST_OF_A_RAMP = 4
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "triangle-down", "hexagon")
# Places of the methods that most charts hold, so that a method looks the same everywhere. Any other name, of a method
# too, needs no entry here: its place follows from its hash.
_OWN = {"dense": 0, "hashed": 1, "quotient_remainder": 2, "small_dim": 3, "hashed_reference": 6}
_ORDER = (1, 2, 3, 4, 5, 6, 7, 0)
_FREE_OF_METHODS = (4, 5, 7)


@dataclass(frozen=True)
class Look:
    """Colour (hex) and Plotly symbol of a value."""

    color: str
    symbol: str


OTHER = Look("#8A8A8A", "x")
PLAIN = Look(_COLORS[1], _SYMBOLS[0])


def looks(values: Sequence[Value | None], rivals: bool = False) -> dict[Value | None, Look]:
    """The look of each distinct value of a column; beyond eight, the rarest are OTHER.

    Numbers take the places in ascending order, and the colours of a ramp where they are four or more. Names take
    their own place, else one by hash: the same name has the same look in other charts, unless two names of one chart
    claim it.

    Args:
        values: the values, as often as they are there.
        rivals: whether they compete with one another, as methods do: their colours are told from all others'.
    """
    often = Counter(values)
    kept = sorted((v for v in often if v is not None), key=lambda v: (v not in _OWN, -often[v], str(v)))[: len(_COLORS)]
    numbers = sorted(v for v in kept if not isinstance(v, str))
    places: dict[Value, int] = dict(zip(numbers, _ORDER, strict=False))
    for name in sorted((v for v in kept if isinstance(v, str)), key=lambda v: (v not in _OWN, v)):
        wanted = _FREE_OF_METHODS if rivals else _ORDER[:-2]
        place = _OWN.get(name, wanted[zlib.crc32(name.encode("utf-8", "replace")) % len(wanted)])
        taken = set(places.values())
        places[name] = next(p for p in (place, *wanted, *_ORDER) if p not in taken)
    colors = {v: _COLORS[place] for v, place in places.items()}
    if len(numbers) >= _FEWEST_OF_A_RAMP:
        colors |= {v: _RAMP[round(i * (len(_RAMP) - 1) / (len(numbers) - 1))] for i, v in enumerate(numbers)}
    return {v: Look(colors[v], _SYMBOLS[places[v]]) if v in places else OTHER for v in often}


def faint(color: str) -> str:
    """A colour (hex) for an area behind lines."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"

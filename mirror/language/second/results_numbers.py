"""Numbers of a question over the results and what they may stand for: `0.5 MB`, `95 %`, `10x`, `a tenth`, `1M`."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from mirror.language.reading.lexemes import Token
from mirror.language.second.items import Literal
from mirror.words import phrasebook

# Signs and short words that are written right behind a number or in front of it.
_UNIT_AT_ONCE = re.compile(
    r"(?<![a-z\d_.-])(\d+(?:\.\d+)?)(x|×|d|[mkg]i?b|us|μs|ns|ms|s|dims?|bags?|threads?|tables?)\b"
)
_NAME_AT_ONCE = re.compile(r"(?<![\w-])(d|dim|bs|b|batch|t|l|k)[=:]?(\d+)\b")
_NO_ZERO = re.compile(r"(?<![\w.])\.(\d)")
_DECIMAL_COMMA = re.compile(r"(?<![\w.,])0,(\d+)\b")
_POWER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?e[+-]?\d{1,2}\b")
_ONE_OF = re.compile(r"(?<![\w./-])1/(\d{1,4})(?![\w/-])")
_LIST = re.compile(r"(?<![\w.])\d{1,4}(?:,\d{1,5})+(?![\w.])")
_LITTLE = ("a", "an", "of", "the")
# How a number is meant, as a feature of its item.
RAW, SHARE, REST, INVERSE, TIME, SECONDS, BYTES, RATE = HOW = (
    "as it is", "share", "rest", "inverse", "in us", "in s", "in mb", "in gb/s",
)  # fmt: skip
# The unit of a column -> how numbers of it are said.
UNIT_OF = {TIME: "µs", SECONDS: "s", BYTES: "MB", RATE: "GB/s"}


@dataclass(frozen=True)
class NumberSaid(Literal):
    """A number in one of the ways it may be meant."""

    how: str = RAW


def plain(question: str) -> str:
    """The question in lower case, with its numbers as the tokens know them."""
    text = unicodedata.normalize("NFKC", question[:20_000]).lower()
    text = _ONE_OF.sub(lambda m: f"{1 / max(1, int(m[1])):.6g}", text)
    text = _POWER.sub(lambda m: f"{float(m[0]):.12f}".rstrip("0").rstrip("."), text)
    text = _NO_ZERO.sub(r"0.\1", text)
    text = _DECIMAL_COMMA.sub(r"0.\1", text)
    text = _LIST.sub(_listed, text)
    text = _NAME_AT_ONCE.sub(r"\1 \2", text)
    return _UNIT_AT_ONCE.sub(r"\1 \2", text)


def _listed(match: re.Match[str]) -> str:
    """`64,512` may be a list or a thousand: thousands have groups of three and are round."""
    parts = match[0].split(",")
    thousand = all(len(part) == 3 for part in parts[1:]) and parts[-1] == "000"
    return match[0] if thousand else ", ".join(parts)


def numbers_of(tokens: Sequence[Token]) -> Iterator[NumberSaid]:
    """Every number with each way it may be meant."""
    for i, token in enumerate(tokens):
        value = token.number if isinstance(token.number, int | float) else _parts().get(token.text)
        if value is None:
            continue
        end = i + 1
        if end < len(tokens) and (scale := _scales().get(tokens[end].text)) and token.kind != "date":
            yield from _meant(i, i + 1, value, "")  # 4 k may be four of k
            value, end = _round(value * scale), end + 1
        unit_at = end
        while unit_at < len(tokens) and tokens[unit_at].text in _LITTLE and token.kind == "word":
            unit_at += 1
        unit = tokens[unit_at].text if unit_at < len(tokens) else ""
        per_second = unit in ("mb", "gb") and unit_at + 1 < len(tokens) and tokens[unit_at + 1].text == "s"
        if per_second:
            yield from _meant(i, unit_at + 2, value, f"{unit}/s")
        known = unit in _units() or unit in _shares() or unit in _ratios()
        yield from _meant(i, unit_at + 1 if known else end, value, unit if known else "")


def _meant(start: int, end: int, value: float, unit: str) -> Iterator[NumberSaid]:
    def said(number: float, how: str) -> NumberSaid:
        return NumberSaid("number", start, end, _round(number), None, how)

    if unit in _shares():
        yield said(value / 100, SHARE)
        yield said(1 - value / 100, REST)
        yield said(value, RAW)
    elif unit in _units():
        how, size = _units()[unit]
        yield said(value * size, how)
        if how == TIME and value * size >= 1e4:
            yield said(value * size / 1e6, SECONDS)
    else:
        yield said(value, RAW)
        if unit in _ratios() and value:
            yield said(1 / value, INVERSE)


def _round(value: float) -> int | float:
    short = float(f"{value:.10g}") if abs(value) >= 1 else float(f"{value:.6g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short


@cache
def _parts() -> dict[str, float]:
    """Word -> the part of a whole that it names."""
    return {word: 1 / n for word, n in phrasebook.numbers("numbers", "parts").items()}


@cache
def _scales() -> dict[str, float]:
    return {word.lower(): n for word, n in phrasebook.numbers("units", "scale").items()} | {"hundred": 100.0}


@cache
def _shares() -> frozenset[str]:
    return frozenset(word.lower() for word in phrasebook.numbers("units", "share"))


@cache
def _ratios() -> frozenset[str]:
    return frozenset(word.lower().strip("-") for word in phrasebook.numbers("units", "ratio"))


@cache
def _units() -> dict[str, tuple[str, float]]:
    """Unit -> how numbers with it are meant, and what one of it is."""
    kinds = (("time", TIME, 1.0), ("bytes", BYTES, 1e6), ("rate", RATE, 1e9))
    return {
        unicodedata.normalize("NFKC", unit).lower(): (how, size / one)
        for kind, how, one in kinds
        for unit, size in phrasebook.numbers("units", kind).items()
    }
